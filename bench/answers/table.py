"""What the rows of a study say: figures of each way, and a table of them."""

import statistics

import intervals


def complete(made, names, rows):
    """Questions that all of these ways answered; way -> its rows of them, in the set's order."""
    table = {}
    for r in rows:
        table.setdefault(r["way"], {})[r["question"]] = r
    questions = [q for q in made.questions if all(q.key in table.get(w, {}) for w in names)]
    return questions, {w: [table[w][q.key] for q in questions] for w in names}


def of_metric(mine, full):
    return {"mean": intervals.mean(mine), "difference": intervals.difference(mine, full),
            "p": intervals.mcnemar(mine, full)}


def of_way(made, mine, full):
    modules = sum(r["module_tokens"] for r in mine)
    return {
        "n": len(mine),
        "anew": sum(r["repaired_tokens"] for r in mine) / modules if modules else 1.0,
        "metrics": {m: of_metric([r[m] for r in mine], [r[m] for r in full])
                    for m in made.metrics},
        "first": intervals.mean([a["first"] == b["first"] for a, b in zip(mine, full)]),
        "kl": statistics.median(r["kl"] for r in mine),
        "faster": statistics.median(b["ttft_us"] / a["ttft_us"] for a, b in zip(mine, full)),
    }


def summary(made, names, rows):
    """way -> figures, over the questions that all ways answered; the first way is the full prefill.
    ValueError: there is no such question."""
    questions, of = complete(made, names, rows)
    if not questions:
        raise ValueError(f"no question of {made.name} was answered in all ways")
    return {way: of_way(made, of[way], of[names[0]]) for way in names}


def documents(made, names, rows):
    """How many documents a question has, from least to most, and how many questions lost some."""
    questions, of = complete(made, names, rows)
    full = of[names[0]]
    used = [r.get("documents", len(q.documents)) for q, r in zip(questions, full)]
    return min(used), max(used), sum(n < len(q.documents) for q, n in zip(questions, used))


def against(d):
    """A difference in points, its interval and, of right and wrong answers, McNemar's p."""
    mean, low, high = (100 * x for x in d["difference"])
    p = "" if d["p"] is None else f"; p {d['p']:.3f}"
    return f"{mean:+.1f} ({low:+.1f}..{high:+.1f}{p})"


def lines_of(made, result):
    titles = " | ".join(f"{m}, % | against full" for m in made.metrics)
    yield f"| way | computed anew | {titles} | same first token | KL of it | faster |"
    yield "|--" * (5 + 2 * len(made.metrics)) + "|"
    for way, r in result.items():
        cells = [way, "all" if way == "full" else f"{100 * r['anew']:.1f} %"]
        for m in made.metrics:
            d = r["metrics"][m]
            cells += [f"{100 * d['mean']:.1f}", "" if way == "full" else against(d)]
        cells += [f"{100 * r['first']:.0f} %", f"{r['kl']:.3f}", f"{r['faster']:.1f}x"]
        yield "| " + " | ".join(cells) + " |"
