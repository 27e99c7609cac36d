"""The table of small.py: a line for each step."""

import host

HEAD = ("| | step | works | first token | tokens/s | memory: anonymous | of files | in all |\n"
        "|--|--|--|--|--|--|--|--|")


def mib(n):
    return "" if n is None else f"{n / 2**20:.0f} MiB"


def verdict(step):
    if step["works"]:
        return "yes"
    if step["killed"]:
        return f"**ended by the kernel**: {step['said']}"
    return f"no: {step['said']}"


def row(step):
    first = f"{step['first_s']:.2f} s" if step.get("first_s") is not None else ""
    rate = f"{step['tokens_per_s']:.1f}" if step.get("tokens_per_s") else ""
    cells = [step["engine"], step["step"], verdict(step), first, rate, mib(step["anonymous"]), mib(step["files"]),
             mib(step["peak"])]
    return f"| {' | '.join(cells)} |"


def foot(result):
    machine = host.line_of(result["host"], [result["load"]])
    return f"\n{result['file']}; one CPU and {result['memory_gib']:g} GiB of {machine}"


def page(result):
    yield HEAD
    yield from map(row, result["steps"])
    yield foot(result)
