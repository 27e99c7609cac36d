"""What a bench ran on, for its page: the CPU, the kernel, memory, the governor, and who else was there."""

import os
import platform
import re
from pathlib import Path


def read(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def field(text, name):
    """A line of /proc/cpuinfo or /proc/meminfo."""
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.*)$", text, re.M)
    return found.group(1).strip() if found else ""


def describe():
    cpuinfo = read("/proc/cpuinfo")
    memory = field(read("/proc/meminfo"), "MemTotal").split()
    return {"cpu": field(cpuinfo, "model name") or platform.machine(),
            "family": field(cpuinfo, "cpu family"), "model": field(cpuinfo, "model"),
            "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "memory_gib": int(memory[0]) / 2**20 if memory else None,
            "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or None,
            "virtual": " hypervisor" in cpuinfo}


def load():
    """Programs that ran or wanted to, on average of the last minute."""
    return os.getloadavg()[0]


def line_of(host, loads=()):
    governor = f"governor {host['governor']}" if host["governor"] else "no governor to be seen"
    parts = [f"{host['cpu']} (family {host['family']}, model {host['model']})", f"{host['cores']} cores",
             *(["virtual"] if host["virtual"] else []), f"Linux {host['kernel']}",
             f"{host['memory_gib']:.0f} GiB", governor]
    if loads:
        parts.append(f"load before the turns {min(loads):.1f} to {max(loads):.1f}")
    return "; ".join(parts)
