"""The page of costs.py, from its JSON."""

OURS = "promptcache"
STEPS = ("prefill", "decode", "first")
WAYS = {"perf": "counted by perf on this CPU, which does not count bytes from memory",
        "callgrind": "counted by Callgrind, with AVX2 in both; bytes: misses of a simulated last cache of 4 MiB"}


def title_of(step, result):
    return {"prefill": "a token of a prompt", "decode": f"a decoded token behind {result['depth']}",
            "first": f"the first token, {result['new']} new behind {result['depth']} that are there"}[step]


def amount(value, units):
    if value is None:
        return "not counted"
    size = next((size for size, _ in units if abs(value) >= size), units[-1][0])
    return f"{value / size:.3g} {dict(units)[size]}"


def instructions(value):
    return amount(value, ((1e9, "G"), (1e6, "M"), (1e3, "k")))


def in_bytes(value):
    return amount(value, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")))


def shown(cost):
    return f"{instructions(cost['instructions'])} instructions, {in_bytes(cost['bytes'])}"


def fewest(engines, step):
    """The peer's way with the fewest instructions: (name, cost), or None."""
    found = [(name, steps[step]) for name, steps in engines.items() if name != OURS and step in steps]
    return min(found, key=lambda item: item[1]["instructions"], default=None)


def ratio(ours, peer, key):
    if not ours or not peer or not ours[key] or peer[key] is None:
        return ""
    return f"**{peer[key] / ours[key]:.2f}×**"


def row(engines, step, result):
    ours, peer = engines.get(OURS, {}).get(step), fewest(engines, step)
    cells = [instructions(ours["instructions"]) if ours else "", in_bytes(ours["bytes"]) if ours else ""]
    cells += [f"{instructions(peer[1]['instructions'])} ({peer[0]})", in_bytes(peer[1]["bytes"])] if peer else ["", ""]
    cells += [ratio(ours, peer and peer[1], key) for key in ("instructions", "bytes")]
    return f"| {title_of(step, result)} | {' | '.join(cells)} |"


def page(result):
    yield f"One thread; {WAYS[result['way']]}.\n"
    for model, engines in result["models"].items():
        yield (f"{model}\n\n| | instructions | bytes | llama.cpp's instructions | its bytes | instructions, "
               "its / ours | bytes, its / ours |\n|--|--|--|--|--|--|--|")
        for step in STEPS:
            if any(step in costs for costs in engines.values()):
                yield row(engines, step, result)
        yield ""
