"""The report of scripts/bench-cuda: from the JSON of each step to a page of Markdown.

Needs no package. `facts` says what was measured with, `steps` has each step's JSON by name; what is
missing there was not measured, and the page says so. The targets stand in docs/CUDA.md.
"""

import statistics

DEVICE_TARGET, HOST_TARGET, SLOPE_TARGET = 8.0, 3.0, 1.5  # G1, G1, G2
# States cannot come faster than their floor; a slope below half of it is noise, and proves nothing.
SLOPE_LEAST = 0.5
PLACES = {"device": "modules on the device", "host": "modules in host memory", "cpu": "the CPU"}
NOT_MEASURED = "not measured"
MIB = 1 << 20


def spread(values, digits=2, unit=""):
    return (f"{statistics.median(values):.{digits}f}{unit} "
            f"({min(values):.{digits}f}..{max(values):.{digits}f})")


def table(*heads):
    return "| " + " | ".join(heads) + " |\n|" + "--|" * len(heads)


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


# ---- what follows from the steps

def gains(ttft):
    """Full prefill over a cached first token with its attach, of runs that took turns."""
    return [full / cached for full, cached in zip(ttft["full_ms"], ttft["attached_ms"])]


class Line:
    """The straight line through the medians of a cached first token, by least squares."""

    def __init__(self, growth):
        points = growth["lines"][0]["points"]
        self.tokens = [p["cached_tokens"] for p in points]
        self.medians = [statistics.median(p["ttft_ms"]) for p in points]
        slope, begin = statistics.linear_regression(self.tokens, self.medians)
        self.us_per_token = 1e3 * slope
        # The most that a median lies off it, as a share of that median.
        self.departure = max(abs(begin + slope * n - ms) / ms
                             for n, ms in zip(self.tokens, self.medians))


def floor_us(growth, gb_per_s):
    """Reading a cached token's states once, at this bandwidth."""
    return growth["kv_bytes"] / gb_per_s / 1e3


def bandwidth_of(steps, place):
    """GB/s of what a cached token's states must cross."""
    measured = steps.get("bandwidth")
    key = {"device": "device_gb_per_s", "host": "link_gb_per_s"}.get(place)
    return statistics.median(measured[key]) if measured and key else None


def over_floor(steps, place):
    """The slope over its floor; None where either is not known."""
    growth, gb_per_s = steps.get(f"growth-{place}"), bandwidth_of(steps, place)
    if not growth or not (gb_per_s or place == "cpu"):
        return None
    floor = growth["lines"][0]["floor_slope_us"] if place == "cpu" else floor_us(growth, gb_per_s)
    return Line(growth).us_per_token / floor


def memory_of_more(steps):
    """(MiB that many requests took beyond one, MiB of the module's states), or None."""
    many, one = steps.get("memory-many"), steps.get("memory-one")
    if not many or not one or "growth-device" not in steps:
        return None
    taken = [step["memory_mib"]["peak"] - step["memory_mib"]["before"] for step in (many, one)]
    return taken[0] - taken[1], many["cached_tokens"] * steps["growth-device"]["kv_bytes"] / MIB


# ---- the page

def verdict(f, reached, noise=False):
    if f["trial"]:
        return "not judged"
    if noise:
        return "not judged: noise"
    return "reached" if reached else "**missed**"


def target_rows(f, steps):
    for place, least in (("device", DEVICE_TARGET), ("host", HOST_TARGET)):
        ttft = steps.get(f"ttft-{place}")
        what = f"full prefill over cached first token, {PLACES[place]}, attach included"
        measured = gains(ttft) if ttft else None
        yield row("G1", what, f"at least {least:g}x",
                  *(spread(measured, unit="x"), verdict(f, statistics.median(measured) >= least))
                  if measured else (NOT_MEASURED, ""))
    for place, of in (("device", "the device's memory"), ("host", "the link")):
        ratio = over_floor(steps, place)
        what = f"a cached token's time over its states' bytes at the bandwidth of {of}"
        yield row("G2", what, f"at most {SLOPE_TARGET:g}x",
                  *(f"{ratio:.2f}x", verdict(f, ratio <= SLOPE_TARGET, ratio < SLOPE_LEAST))
                  if ratio is not None else (NOT_MEASURED, ""))
    batch, memory = steps.get("batch-device"), memory_of_more(steps)
    yield row("G3", "requests together over one alone, tokens/s", "none set",
              spread(batch["ratio"], unit="x") if batch else NOT_MEASURED, "")
    yield row("G3", "copies of the module on the device", "one",
              *(f"{memory[0]:.0f} MiB more than one request takes; a copy is {memory[1]:.0f} MiB",
                verdict(f, memory[0] < memory[1])) if memory else (NOT_MEASURED, ""))


def first_token_section(f, steps):
    yield f"\n## G1: {f['cached']} cached + {f['new']} new tokens\n"
    yield table("", "full prefill, ms", "cached, attach included, ms", "full / cached",
                "cached, held already, ms", "attach, ms")
    for place, name in PLACES.items():
        ttft = steps.get(f"ttft-{place}")
        if ttft:
            yield row(name, spread(ttft["full_ms"]), spread(ttft["attached_ms"]),
                      spread(gains(ttft), unit="x"), spread(ttft["cached_ms"]),
                      spread(ttft["attach_ms"], 3))
    llama = steps.get("llama")
    if llama:
        yield row("llama.cpp on the device", spread(llama["full_ms"]), "", "", "", "")
    else:
        yield "\nllama.cpp was not measured: " + f["no_llama"]


def growth_section(f, steps):
    yield "\n## G2: growth with the cached tokens\n"
    bandwidth = steps.get("bandwidth")
    if bandwidth:
        yield (f"Measured in the same run: {spread(bandwidth['device_gb_per_s'], 1)} GB/s of copies in "
               f"the device, read and written bytes together; {spread(bandwidth['link_gb_per_s'], 1)} "
               "GB/s from page-locked memory to it. The CPU's floor is its own machine's.\n")
    lines = {place: steps[f"growth-{place}"] for place in PLACES if f"growth-{place}" in steps}
    yield table("", "us a cached token", "over its floor", "most that a size lies off the line")
    for place, growth in lines.items():
        line, ratio = Line(growth), over_floor(steps, place)
        yield row(PLACES[place], f"{line.us_per_token:.3f}",
                  f"{ratio:.2f}x" if ratio is not None else NOT_MEASURED,
                  f"{100 * line.departure:.1f} %")
    if lines:
        yield "\nFirst token, ms:\n\n" + table("cached tokens", *(PLACES[place] for place in lines))
        for points in zip(*(growth["lines"][0]["points"] for growth in lines.values())):
            yield row(points[0]["cached_tokens"], *(spread(p["ttft_ms"]) for p in points))
    if f["left_out"]:
        yield ("\nNot measured, since their states beside the others' do not fit the device's memory: "
               + ", ".join(map(str, f["left_out"])) + " tokens")


def batch_section(f, steps):
    yield f"\n## G3: {f['requests']} requests behind one module of {f['shared']} tokens, tokens/s\n"
    yield table("", "one alone", "together", "together / alone", "together, one thread")
    for name, title in (("batch-device", PLACES["device"]), ("batch-cpu", PLACES["cpu"])):
        batch = steps.get(name)
        if batch:
            yield row(title, spread(batch["one_by_one"], 1), spread(batch["together"], 1),
                      spread(batch["ratio"], unit="x"), spread(batch["one_thread"], 1))
    for name in ("memory-many", "memory-one"):
        if name in steps:
            n, memory = steps[name]["requests"], steps[name]["memory_mib"]
            yield (f"\nThe device's memory in use, {n} request{'' if n == 1 else 's'}: "
                   f"{memory['before']} MiB before, at most {memory['peak']} MiB meanwhile")


def head(f):
    if f["standin"]:
        yield "# A trial through a stand-in: no figure here means anything\n"
        yield f"* stand-in: {f['standin']}"
    elif f["trial"]:
        yield f"# A trial on {f['device']}, {f['shape']} shape: no figure here means anything\n"
    else:
        yield f"# {f['device']}, CUDA, {f['shape']} shape\n"
    if not f["standin"]:
        yield (f"* {f['device']}, {f['memory_mib']} MiB; driver {f['driver']}; built with CUDA "
               f"{f['cuda']}")
    yield f"* the host: {f['cpu']}, {f['threads']} threads"
    yield f"* promptcache at {f['commit']}"
    yield (f"* random weights, Q4_0, in a file of the shape (bench/make_random_gguf.py); states in "
           "bf16; medians, with the lowest and the highest value; the method: bench/README.md")
    if f["failed"]:
        yield "* steps that failed: " + ", ".join(f["failed"])


def page(f, steps):
    parts = [*head(f), "\n" + table("", "", "target", "measured", ""), *target_rows(f, steps),
             *first_token_section(f, steps), *growth_section(f, steps), *batch_section(f, steps)]
    return "\n".join(parts) + "\n"
