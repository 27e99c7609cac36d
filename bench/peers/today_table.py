"""The page of today.py: from its JSON to a table, with what each engine was and what checks found."""

import statistics

import host
from today_engines import OURS, SERVE

# Peers that answer over HTTP where the row is a first token: our server is what stands beside them.
OVER_HTTP = ("llama.cpp",)


def seconds(samples):
    return [sample["s"] for sample in samples]


def fastest(by_setting):
    """The setting with the smallest median."""
    return min(by_setting, key=lambda setting: statistics.median(seconds(by_setting[setting])))


def best(row, engine):
    """(setting, its samples' seconds), or None where the engine has not measured the row. Of the
    settings that all turns had: the others were slower in the first."""
    found = row["samples"].get(engine)
    if not found:
        return None
    most = max(map(len, found.values()))
    setting = fastest({name: samples for name, samples in found.items() if len(samples) == most})
    return setting, seconds(found[setting])


def shown(row, values):
    """Median and range: tokens a second, or seconds."""
    rate = row["rate_of"]
    figures = sorted(rate / v for v in values) if rate else sorted(values)
    digits = 3 if not rate else 1 if figures[-1] < 100 else 0
    middle = rate / statistics.median(values) if rate else statistics.median(values)  # as ratios have it
    width = f" ({figures[0]:.{digits}f} to {figures[-1]:.{digits}f})" if len(figures) > 1 else ""
    return f"{middle:.{digits}f}{' s' if not rate else ''}{width}"


def sample_line(engine, setting, row, sample):
    of = f"{engine}, {setting}" if setting else engine
    value = f"{row.rate_of / sample['s']:.1f} tokens/s" if row.rate_of else f"{sample['s']:.3f} s"
    counted = f"; {sample['computed']} computed, {sample['cached']} there" if sample.get("computed") is not None else ""
    return f"{of}: {value}{counted}"


def beside(row, engine):
    """What of ours the engine's ratio is to: the same way of asking."""
    if row["kind"] == "first" and engine in OVER_HTTP and best(row, SERVE):
        return best(row, SERVE)
    return best(row, OURS)


def cell(row, engine):
    found, ours = best(row, engine), beside(row, engine)
    if not found:
        return ""
    text = shown(row, found[1])
    if engine in (OURS, SERVE) or not ours:
        return text
    return f"{text}; **{statistics.median(found[1]) / statistics.median(ours[1]):.2f}×**"


def floor_cell(row):
    """The floor of the run, and the share of it that the faster of ours reaches."""
    floor = statistics.median(row["floors_s"])
    ours = [statistics.median(found[1]) for found in (best(row, OURS), best(row, SERVE)) if found]
    text = f"{row['rate_of'] / floor:.0f}" if row["rate_of"] else f"{floor:.3f} s"
    return text + (f" ({100 * floor / min(ours):.0f} %)" if ours else "")


def columns(result):
    """Engines that measured a row: ours, and the others in the order in which they took turns."""
    found = {engine for row in result["rows"] for engine in row["samples"]}
    return [engine for engine in result["engines"] if engine in found]


def table(result):
    engines = columns(result)
    yield "| | " + " | ".join(engines) + " | floor (reached) |"
    yield "|--|" + "--|" * (len(engines) + 1)
    for row in result["rows"]:
        cells = [cell(row, engine) for engine in engines]
        yield f"| {row['row']} | {' | '.join(cells)} | {floor_cell(row)} |"


def extra(row, engine, setting, samples):
    """Where an engine says that it computed more of a first token's prompt than what is new."""
    more = [s["computed"] - row["n"] for s in samples if s.get("computed") is not None and s["computed"] > row["n"]]
    if more:
        return f"{row['row']}: {named(engine, setting)} computed up to {max(more)} tokens more than the new ones"


def named(engine, setting):
    return f"{engine} ({setting})" if setting else engine


def common(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def text_of(row, engine):
    """setting -> what it answered, where it was asked for that."""
    return {setting: s["text"] for setting, samples in row["samples"].get(engine, {}).items()
            for s in samples if s.get("text")}


def agreement(row):
    """Greedy texts beside those of our server."""
    ours = next(iter(text_of(row, SERVE).values()), None)
    if ours is None:
        return
    for engine in row["samples"]:
        for setting, text in text_of(row, engine).items() if engine != SERVE else ():
            at = common(ours, text)
            if at == min(len(ours), len(text)):
                yield f"{row['row']}: {named(engine, setting)} answers as promptcache serve does"
            else:
                yield f"{row['row']}: {named(engine, setting)} answers {text!r}, promptcache serve {ours!r}"


def checks(result):
    for row in result["rows"]:
        if row["kind"] == "first":
            for engine, by_setting in row["samples"].items():
                yield from filter(None, (extra(row, engine, s, samples) for s, samples in by_setting.items()))
            yield from agreement(row)


def chosen(result, engine):
    """The settings that counted, with the rows where they did."""
    rows = {}
    for row in result["rows"]:
        found = best(row, engine)
        if found and found[0]:
            rows.setdefault(found[0], []).append(row["row"])
    return "; ".join(f"{setting}: {', '.join(titles)}" for setting, titles in rows.items())


def range_of(values, digits=1):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def head(result):
    machines = result["machines"]
    yield f"{result['file']}, {result['threads']} threads each; {count(result['turns'], 'turn')}.\n"
    yield f"* {host.line_of(result['host'], result['loads'])}"
    yield (f"* memory is read at {range_of([m['read_gb_per_s'] for m in machines])} GB/s; f32 "
           f"{machines[-1]['f32_gflops']:.0f}, bf16 {machines[-1]['bf16_gflops']:.0f} GFLOP/s, int8 "
           f"{machines[-1]['int8_gops']:.0f} GOP/s, measured before each turn")
    for engine in columns(result):
        counted, said = chosen(result, engine), result["engines"][engine]
        yield f"* {said}" + (f". What counted: {counted}" if counted else "")
    for engine, why in result["missing"].items():
        yield f"* {engine} is missing: {why}"


def count(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def page(result):
    yield from head(result)
    yield ("\nMedians and ranges: tokens a second, and seconds to the first token; in bold a peer's time over ours "
           "(llama-server's first token over that of promptcache serve).\n")
    yield from table(result)
    found = list(checks(result))
    if found:
        yield ""
        yield from (f"* {line}" for line in found)
