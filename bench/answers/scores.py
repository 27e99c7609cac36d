"""How good an answer is: the metrics of SQuAD (Rajpurkar et al. 2016, arXiv 1606.05250) and of
LongBench (Bai et al. 2024, arXiv 2308.14508), each 0 to 1, and the best over the gold answers."""

import collections
import difflib
import re
import string

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text):
    """Lower case, without punctuation and articles, white space as one space."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def first_line(answer):
    return answer.lstrip("\n").split("\n")[0]


def exact_match(answer, gold):
    return float(normalised(answer) == normalised(gold))


def contains(answer, gold):
    """The gold answer stands in it, as whole words."""
    return float(f" {normalised(gold)} " in f" {normalised(answer)} ")


def harmonic(common, n_answer, n_gold):
    """F1 of a precision and a recall."""
    return 2 * common / (n_answer + n_gold) if common else 0.0


def f1(answer, gold):
    a, b = normalised(answer).split(), normalised(gold).split()
    if not a and not b:
        return 1.0
    return harmonic(sum((collections.Counter(a) & collections.Counter(b)).values()), len(a), len(b))


def sentences(text):
    """Words of what stands between full stops; of white space alone, one empty word."""
    return [" ".join(s.split()).split(" ") for s in text.split(".") if s]


def common_subsequence(a, b):
    """The words of a longest common subsequence; of several, the one that keeps the end of a."""
    rows = [[0] * (len(b) + 1)]
    for word in a:
        above, row = rows[-1], [0]
        for j, other in enumerate(b):
            row.append(above[j] + 1 if word == other else max(above[j + 1], row[j]))
        rows.append(row)
    words, i, j = set(), len(a), len(b)
    while i and j:
        if a[i - 1] == b[j - 1]:
            words.add(a[i - 1])
            i, j = i - 1, j - 1
        elif rows[i - 1][j] > rows[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return words


def rouge_l(answer, gold):
    """Of a summary (Lin 2004): longest common subsequences of each of its sentences with each of
    the gold one's, their words together. Words count once, as in the package that LongBench uses.
    """
    a, b = sentences(answer), sentences(gold)
    if not a or not b:
        return 0.0
    common = set().union(*(common_subsequence(y, x) for y in b for x in a))
    return harmonic(len(common), len(set().union(*a)), len(set().union(*b)))


def numbers(answer, gold):
    """The share of the numbers in an answer that are the gold one: counting and retrieval."""
    wanted, found = re.findall(r"\d+", gold), re.findall(r"\d+", answer)
    return found.count(wanted[0]) / len(found) if wanted and found else 0.0


def code(answer, gold):
    """Similarity of the first line without a mark of comments, in whole per cent (Ratcliff and
    Obershelp's, of Python's difflib, which LongBench's fuzz.ratio is)."""
    line = next((line for line in answer.lstrip("\n").split("\n")
                 if not any(mark in line for mark in ("`", "#", "//"))), "")
    return round(100 * difflib.SequenceMatcher(None, line, gold).ratio()) / 100


def label(answer, gold, classes):
    """The names of classes that an answer holds share one point; a part of the gold class's name
    is none of them."""
    found = [name for name in classes if name in answer and (name == gold or name not in gold)]
    return found.count(gold) / len(found) if found else 0.0


METRICS = {"contains": contains, "em": exact_match, "f1": f1, "rouge_l": rouge_l,
           "numbers": numbers, "code": code, "label": label}


def best(metric, answer, golds, classes=()):
    """Over the gold answers. classes: those that a label is one of."""
    more = (classes,) if metric == "label" else ()
    return max((METRICS[metric](answer, gold, *more) for gold in golds), default=0.0)
