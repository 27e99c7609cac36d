"""The section on programs in docs/PYTHON.md: its code runs, and prints what the page shows."""

import re


def section(page):
    text = page.read_text(encoding="utf-8")
    start = text.index("## Prompt programs")
    end = re.search(r"^## (?!Prompt programs)", text[start:], re.M)
    return text[: start + end.start()] if end else text, start


def test_the_sections_code_runs(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    page = root / "docs/PYTHON.md"
    text, start = section(page)
    names, said, shown = {"__name__": "tutorial"}, [], []
    for block in re.finditer(r"^```(python|xml)\n(.*?)^```", text, re.M | re.S):
        if block.start() < start:
            continue
        if block.group(1) == "xml":
            shown.append((said[-1], block.group(2)))
            continue
        lines = "\n" * text.count("\n", 0, block.start(2))
        exec(compile(lines + block.group(2), str(page), "exec"), names)  # noqa: S102
        said.append(capsys.readouterr().out)
    assert len(shown) == 2
    for printed, block in shown:
        assert printed == block + "\n"
    assert said[2].endswith("0 modules are missing\n")
    assert said[3] == (
        "system 'You plan trips.'\n"
        "user 'I am away for three days. I stay in my own country. What should I see?'\n"
    )
    line, sentence = said[4].splitlines()
    assert line.endswith(" say(question.upper())") and "pass the text itself as an argument" in sentence
    assert text.splitlines()[int(line.split()[0]) - 1] == "    say(question.upper())"
