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


def exact_match(answer, gold):
    return float(normalised(answer) == normalised(gold))


def contains(answer, gold):
    """The gold answer stands in it, as whole words."""
    return float(f" {normalised(gold)} " in f" {normalised(answer)} ")


def f1_of_words(answer, gold):
    if not answer or not gold:
        return float(answer == gold)
    common = sum((collections.Counter(answer) & collections.Counter(gold)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(answer), common / len(gold)
    return 2 * precision * recall / (precision + recall)


def f1(answer, gold):
    return f1_of_words(normalised(answer).split(), normalised(gold).split())


def rouge_l(answer, gold):
    """F of the longest common subsequence of words (Lin 2004)."""
    a, b = answer.split(), gold.split()
    if not a or not b:
        return 0.0
    row = [0] * (len(b) + 1)
    for word in a:
        before = 0
        for j, other in enumerate(b, 1):
            before, row[j] = row[j], before + 1 if word == other else max(row[j], row[j - 1])
    if row[-1] == 0:
        return 0.0
    precision, recall = row[-1] / len(a), row[-1] / len(b)
    return 2 * precision * recall / (precision + recall)


def numbers(answer, gold):
    """The share of the numbers in an answer that are the gold one: counting and retrieval."""
    wanted, found = re.findall(r"\d+", gold), re.findall(r"\d+", answer)
    return found.count(wanted[0]) / len(found) if wanted and found else 0.0


def code(answer, gold):
    """Similarity of the first line that is no comment, as LongBench's code tasks have it."""
    lines = [line for line in answer.lstrip("\n").split("\n")
             if not any(mark in line for mark in ("`", "#", "//"))]
    return difflib.SequenceMatcher(None, lines[0] if lines else "", gold).ratio()


def label(answer, gold):
    """A class's name, as the first line says it."""
    return float(gold.lower() in answer.lstrip("\n").split("\n")[0].lower())


METRICS = {"contains": contains, "em": exact_match, "f1": f1, "rouge_l": rouge_l,
           "numbers": numbers, "code": code, "label": label}


def best(metric, answer, golds):
    return max((METRICS[metric](answer, gold) for gold in golds), default=0.0)
