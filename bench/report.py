"""The tables of bench/results: from the JSON of each step of scripts/bench to <cpu>.md and .json."""

import ctypes as c
import importlib.util
import json
import os
import re
import statistics
import time
import subprocess
from pathlib import Path

import loads
import longbench_ttft
import side_by_side
import start_bench
import svg_bars
import today_table

ROOT = Path(__file__).resolve().parent.parent


# ---- what was measured with

def cpu():
    """Its name; family and model tell apart what hypervisors name alike."""
    text = Path("/proc/cpuinfo").read_text()

    def field(name):
        found = re.search(rf"^{name}\s*:\s*(.*)$", text, re.M)
        return found.group(1).strip() if found else ""
    return f"{field('model name') or 'unknown'} (family {field('cpu family')}, model {field('model')})"


def peer_version():
    if not importlib.util.find_spec("llama_cpp"):
        return None
    import llama_cpp
    flags = [flag.split(" = ")[0].strip() for flag in
             llama_cpp.llama_print_system_info().decode().replace("CPU :", "").split("|")
             if flag.strip().endswith("= 1")]
    return f"llama-cpp-python {llama_cpp.__version__} ({', '.join(flags)})"


def our_version(build):
    lib, text = c.CDLL(str(Path(build) / "runtime/libpromptcache.so")), c.c_void_p()
    lib.pc_build_describe(c.byref(text), None)
    return json.loads(c.string_at(text))


def facts(build, shape, quick):
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, text=True,
                            capture_output=True).stdout.strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cpu": cpu(), "threads": len(os.sched_getaffinity(0)), "memory_gib": memory / 2**30,
            "promptcache": our_version(build), "commit": commit, "peer": peer_version(),
            "shape": shape, "quick": quick}


def stamp(step, kept):
    """Notes in a step's JSON which commit it measured, and when: later runs may measure other steps alone."""
    data = json.loads(step.read_text())
    data["commit"] = json.loads((kept / "facts.json").read_text())["commit"]
    data["measured"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    step.write_text(json.dumps(data, indent=1) + "\n")


# ---- tables

def count(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def spread(values, scale=1.0, digits=1):
    low, high = min(values) * scale, max(values) * scale
    return f"{statistics.median(values) * scale:.{digits}f} ({low:.{digits}f}..{high:.{digits}f})"


def files_of(steps, prefix):
    """type -> that file's result, of every step whose name begins so."""
    return {name.removeprefix(prefix): data["files"][0] for name, data in steps.items()
            if name.startswith(prefix)}


def ratio_cell(ratio):
    return f"{ratio[0]:.2f}x" if ratio else "no peer"


def marks(steps):
    """The goals of the project, by type of file: llama.cpp's time over ours."""
    table = {}

    def put(title, kind, text):
        table.setdefault(title, {})[kind] = text
    for rows in ("peers-short-", "peers-long-"):
        for kind, result in files_of(steps, rows).items():
            for row in result["rows"]:
                put(row["row"], kind, ratio_cell(side_by_side.ratio_of(row)))
    for kind, result in files_of(steps, "start-").items():
        if start_bench.best_peer(result, 0):
            put(f"fresh process, {result['cached']} stored + {result['new']}", kind,
                ratio_cell(start_bench.ratio_of(result, 1)))
            put("start to the model ready", kind, ratio_cell(start_bench.ratio_of(result, 0)))
    return table


GOALS = (("cached", "P1"), ("prefill", "P3"), ("decode", "P4"), ("attach", "P5"),
         ("fresh process", "P8"), ("start", "P10"))


def goal_of(title):
    """The project's number of that goal."""
    return next(goal for beginning, goal in GOALS if title.startswith(beginning))


def marks_section(steps):
    table = marks(steps)
    kinds = list(dict.fromkeys(kind for row in table.values() for kind in row))
    if not table:
        return
    yield "## Beside llama.cpp: its time over ours\n"
    yield "Medians; more than 1 means that promptcache is faster.\n"
    yield "| | | " + " | ".join(kinds) + " |\n|--|--|" + "--|" * len(kinds)
    for title, row in sorted(table.items(), key=lambda item: int(goal_of(item[0])[1:])):
        yield f"| {goal_of(title)} | {title} | " + " | ".join(row.get(kind, "") for kind in kinds) + " |"


def machine_line(m):
    return (f"{m['threads']} threads; read {m['read_gb_per_s']:.1f} GB/s, f32 "
            f"{m['f32_gflops']:.0f}, bf16 {m['bf16_gflops']:.0f} GFLOP/s, int8 "
            f"{m['int8_gops']:.0f} GOP/s, measured in the same run")


def alone_section(steps):
    ttft, growth = steps.get("ttft"), steps.get("growth")
    if not ttft and not growth:
        return
    yield "\n## promptcache alone"
    if ttft:
        floors = {"cached": ttft["cached_floor_ms"], "full": ttft["full_floor_ms"]}
        yield (f"\nFull prefill over cached TTFT, {ttft['cached_tokens']} + {ttft['new_tokens']} "
               f"tokens ({Path(ttft['model']).name}; {machine_line(ttft)}):\n")
        yield "| | median (range) | floor |\n|--|--|--|"
        yield f"| **full / cached** | **{spread(ttft['ratio'])}x** | |"
        for name, title in (("full", "full prefill, ms"), ("cached", "cached, ms")):
            values = ttft[name + "_ms"]
            yield (f"| {title} | {spread(values)} | {floors[name]:.1f} "
                   f"({statistics.median(values) / floors[name]:.2f}x) |")
        yield f"| attach of the stored module, ms | {spread(ttft['attach_ms'], digits=2)} | |"
    if growth:
        yield from growth_tables(growth)


def growth_tables(growth):
    yield (f"\nGrowth of cached TTFT ({Path(growth['model']).name}; {machine_line(growth)}):")
    for line in growth["lines"]:
        yield (f"\n**{line['slope_us'] / line['floor_slope_us']:.2f}x the floor's slope** with "
               f"{count(line['new_tokens'], 'new token')}: {line['slope_us']:.3f} us a cached token, floor "
               f"{line['floor_slope_us']:.3f} us\n")
        yield "| cached tokens | TTFT, ms | memory floor, ms | compute floor, ms | TTFT / floor |"
        yield "|--|--|--|--|--|"
        for p in line["points"]:
            memory, compute = p["memory_floor_ms"], p["compute_floor_ms"]
            ratio = statistics.median(p["ttft_ms"]) / max(memory, compute)
            yield (f"| {p['cached_tokens']} | {spread(p['ttft_ms'])} | {memory:.1f} | {compute:.1f} "
                   f"| {ratio:.2f}x |")


def loads_section(steps):
    batch, measured = steps.get("batch"), [d for n, d in steps.items() if n.startswith("loads-")]
    if not batch and not measured:
        return
    yield "\n## Many requests at once"
    if batch:
        yield (f"\n{batch['requests']} requests behind one module of {batch['cached_tokens']} tokens "
               f"({batch['model']}), decoded together over one by one: **{spread(batch['ratio'], digits=2)}x**, "
               f"{spread(batch['together'])} tokens/s over {spread(batch['one_by_one'])}")
    for result in measured:
        yield f"\n{result['file']}; {machine_line(result['machine'])}\n"
        yield from loads.lines_of(result)


def longbench_section(steps, plot):
    rows = steps.get("longbench", {}).get("rows")
    if not rows:
        return
    yield "\n## Prompts of the sizes that the paper measured\n"
    yield f"{steps['longbench']['file']}; where the sizes come from: bench/longbench_ttft.py\n"
    yield longbench_ttft.HEAD
    yield from map(longbench_ttft.line_of, rows)
    yield f"| geometric mean | | **{longbench_ttft.mean_ratio(rows):.1f}x** | | | |"
    yield f"\n![TTFT with and without reuse]({plot})"


def peer_sections(steps):
    yield "\n## Beside llama.cpp, in full"
    for name, data in steps.items():
        if name.startswith("peers-"):
            states = ", states in 8 bits in both" if data.get("kv") == "q8" else ""
            yield (f"\n{data['files'][0]['file']}{states}; {machine_line(data['machine'])}\n\n"
                   f"{side_by_side.HEAD}")
            yield from map(side_by_side.line_of, data["files"][0]["rows"])
    for kind, result in files_of(steps, "start-").items():
        yield f"\n{result['file']}, fresh processes\n\n{start_bench.HEAD}"
        yield from start_bench.lines_of(result)


def today_section(steps):
    for name in ("today", "shape-today"):
        if name in steps:
            yield "\n## Beside the peers of today\n"
            yield from today_table.page(steps[name])


def earlier(f, steps):
    """commit -> the steps that were measured at it, for other commits than the last run's."""
    found = {}
    for name, data in steps.items():
        if data.get("commit", f["commit"]) != f["commit"]:
            found.setdefault(data["commit"], []).append(name)
    return found


def head(f, steps):
    ours = f["promptcache"]
    yield f"# {f['cpu']}, {f['shape']} shape{', quick run' if f['quick'] else ''}\n"
    yield f"{f['threads']} threads, {f['memory_gib']:.0f} GiB of memory.\n"
    yield f"* promptcache {ours['version']} at {f['commit']}; {ours['compiler']}; "\
          f"{isa_of(ours)}; {ours['matrix']}"
    for commit, names in earlier(f, steps).items():
        yield f"* measured at {commit}: {', '.join(names)}"
    if all("today" in name for name in steps):  # these name their peers and files themselves
        return
    yield f"* {f['peer'] or 'llama.cpp: ' + side_by_side.NO_PEER}"
    yield ("* random weights in files of the true shape; medians, with the lowest and the highest "
           "value; the method: bench/README.md\n")


def isa_of(build):
    isa = build.get("isa", {})
    return "instruction set " + (str(isa.get("selected", isa)) if isinstance(isa, dict) else str(isa))


def page_name(f):
    name = re.sub(r"[^a-z0-9]+", "-", f["cpu"].lower().replace("(r)", "")).strip("-")
    return name + ("" if f["shape"] == "1.1B" else "-" + f["shape"].lower()) + ("-quick" if f["quick"] else "")


def take_up(f, results, kept):
    """Steps that this CPU's page has and this build tree has not measured since stay as they are."""
    page = results / f"{page_name(f)}.json"
    if not page.exists():
        return
    before = json.loads(page.read_text())
    for step, data in before["steps"].items():
        path = kept / f"{step}.json"
        own = json.loads(path.read_text()) if path.exists() else None
        if own is None or own.get("measured", "") <= data.get("measured", ""):
            stamped = {**data, "commit": data.get("commit", before["facts"]["commit"])}
            path.write_text(json.dumps(stamped, indent=1) + "\n")


def write(kept, results):
    """kept: the folder of facts.json and each step's JSON."""
    steps = {p.stem: json.loads(p.read_text()) for p in sorted(kept.glob("*.json"))}
    f = steps.pop("facts")
    name = page_name(f)
    results.mkdir(exist_ok=True)
    parts = [*head(f, steps), *today_section(steps), *marks_section(steps), *alone_section(steps),
             *loads_section(steps), *longbench_section(steps, f"{name}.svg"), *peer_sections(steps)]
    (results / f"{name}.md").write_text("\n".join(parts) + "\n")
    (results / f"{name}.json").write_text(json.dumps({"facts": f, "steps": steps}, indent=1) + "\n")
    if steps.get("longbench"):
        (results / f"{name}.svg").write_text(svg_bars.plot(
            "Time to first token, ms (logarithmic)", ("full prefill", "cached"),
            [(r["dataset"], [1e3 * statistics.median(r[k]) for k in ("full_s", "cached_s")])
             for r in steps["longbench"]["rows"]]))
