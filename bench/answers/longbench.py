"""LongBench's tasks (Bai et al. 2024, arXiv 2308.14508), from MiniLongBench's selection of them.

Prompt formats, the tokens of an answer and the choice of metrics are LongBench's (THUDM/LongBench,
config/dataset2prompt.json, config/dataset2maxlen.json, eval.py); code and the tasks with examples
go without a chat's turns, as there (pred.py). The data are whole prompts. Each is told apart by its
format into instruction, context and input, and the context into modules as the task is made, so
that a module is what prompts could share: a passage, an example, a source file. A context in one
piece (an article, a story, a transcript, a file) becomes modules of about 512 tokens, each of which
ends where a paragraph does, else a line, else a sentence. One behind the other, the modules are the
context, character by character, but for control characters, which XML cannot hold: they become
spaces.

qasper is asked in LongBench's own format; the data have its context and question in another one.
The Chinese tasks that are scored on words are left out: telling Chinese words apart takes a
dictionary."""

import dataclasses
import json
import re

from questions import Question, Set

PIECE = 2048  # characters of about 512 tokens
PATH = r"^\S+\.(?:py|java)\r?$"  # a line of its own in front of a file's text
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


# ---- contexts into modules: each gives texts that make up the context

def cut(text, starts):
    """Text cut where these offsets are; the first piece begins where the text does."""
    starts = [0, *(s for s in starts if s > 0)]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)])]


def at(pattern):
    """A module from each match on."""
    found = re.compile(pattern, re.M)
    return lambda text: cut(text, [m.start() for m in found.finditer(text)])


def numbered(pattern):
    """A module from each match on whose number is the next one."""
    found = re.compile(pattern, re.M)

    def split(text):
        starts = []
        for match in found.finditer(text):
            if int(match[1]) == len(starts) + 1:
                starts.append(match.start())
        return cut(text, starts)
    return split


def paragraphs(text):
    """Pieces of at most PIECE characters, and at least half of it but for the last."""
    pieces = []
    while len(text) > PIECE:
        ends = [text.rfind(border, PIECE // 2, PIECE) + kept
                for border, kept in (("\n\n", 2), ("\n", 1), (". ", 1), (" ", 0))]
        end = next((e for e in ends if e >= PIECE // 2), PIECE)
        pieces.append(text[:end])
        text = text[end:]
    return [*pieces, text]


# ---- where an input begins: (end of the context, begin of the input), or -1 for the first

def last(begins=""):
    """Behind the last place where the format's text and such a beginning stand."""
    def find(text, between):
        end = text.rfind(between + begins)
        return end, end + len(between)
    return find


def imports(text, _):
    """The first import behind the last quoted file's path: of quoted files there are definitions
    alone."""
    paths = list(re.finditer(PATH, text, re.M))
    found = re.compile(r"^(?:import|from|package)\s", re.M).search(text, paths[-1].end()) \
        if paths else None
    return (found.start(), found.start()) if found else (-1, -1)


# ---- the tasks

@dataclasses.dataclass(frozen=True)
class Task:
    form: str       # LongBench's prompt format
    n_tokens: int   # of an answer at most
    metrics: tuple  # LongBench's metric first
    split: object   # text of a context -> texts of modules
    find: object = last()  # where an input begins
    stored: str = ""       # the format of the data, where it is another one
    turns: bool = True        # in a user's turn; else bare text
    first_line: bool = False  # only that of an answer counts


QA = ("f1", "contains", "em")
PASSAGES = ("Answer the question based on the given passages. Only give me the answer and do not "
            "output any other words.\n\nThe following are given passages.\n{context}\n\nAnswer the "
            "question based on the given passages. Only give me the answer and do not output any "
            "other words.\n\nQuestion: {input}\nAnswer:")
BRIEFLY = ("as concisely as you can, using a single phrase or sentence if possible. If the "
           "question cannot be answered based on the information in the article, write "
           "\"unanswerable\". If the question is a yes/no question, answer \"yes\", \"no\", or "
           "\"unanswerable\". Do not provide any explanation.")
PHRASE = ("as concisely as you can, using a single phrase if possible. Do not provide any "
          "explanation.")

TASKS = {
    "narrativeqa": Task(
        "You are given a story, which can be either a novel or a movie script, and a question. "
        f"Answer the question {PHRASE}\n\nStory: {{context}}\n\nNow, answer the question based on "
        f"the story {PHRASE}\n\nQuestion: {{input}}\n\nAnswer:", 128, QA, paragraphs),
    "qasper": Task(
        f"You are given a scientific article and a question. Answer the question {BRIEFLY}\n\n"
        "Article: {context}\n\n Answer the question based on the above article "
        f"{BRIEFLY}\n\nQuestion: {{input}}\n\nAnswer:", 128, QA, paragraphs, stored=PASSAGES),
    "multifieldqa_en": Task(
        "Read the following text and answer briefly.\n\n{context}\n\nNow, answer the following "
        "question based on the above text, only give me the answer and do not output any other "
        "words.\n\nQuestion: {input}\nAnswer:", 64, QA, paragraphs),
    "hotpotqa": Task(PASSAGES, 32, QA, numbered(r"^Passage (\d+):\n")),
    "2wikimqa": Task(PASSAGES, 32, QA, numbered(r"^Passage (\d+):\n")),
    "musique": Task(PASSAGES, 32, QA, numbered(r"^Passage (\d+):\n")),
    "gov_report": Task(
        "You are given a report by a government agency. Write a one-page summary of the report.\n\n"
        "Report:\n{context}\n\nNow, write a one-page summary of the report.\n\nSummary:",
        512, ("rouge_l",), paragraphs),
    "qmsum": Task(
        "You are given a meeting transcript and a query containing a question or instruction. "
        "Answer the query in one or more sentences.\n\nTranscript:\n{context}\n\nNow, answer the "
        "query based on the above meeting transcript in one or more sentences.\n\nQuery: {input}\n"
        "Answer:", 512, ("rouge_l",), paragraphs),
    "multi_news": Task(
        "You are given several news passages. Write a one-page summary of all news. \n\nNews:\n"
        "{context}\n\nNow, write a one-page summary of all the news.\n\nSummary:\n",
        512, ("rouge_l",), numbered(r"^Passage (\d+):\n")),
    "trec": Task(
        "Please determine the type of the question below. Here are some examples of questions.\n\n"
        "{context}\n{input}", 64, ("label",), at(r"^Question: "), last("Question: "), turns=False,
        first_line=True),
    "triviaqa": Task(
        "Answer the question based on the given passage. Only give me the answer and do not output "
        "any other words. The following are some examples.\n\n{context}\n\n{input}",
        32, QA, at(r"^Passage:\n"), last("Passage:\n"), turns=False, first_line=True),
    "samsum": Task(
        "Summarize the dialogue into a few short sentences. The following are some examples.\n\n"
        "{context}\n\n{input}", 128, ("rouge_l",), at(r"^Dialogue: "), last("Dialogue: "),
        turns=False, first_line=True),
    "lsht": Task(
        "请判断给定新闻的类别，下面是一些例子。\n\n{context}\n{input}", 64, ("label",),
        at(r"^新闻内容：\n"), last("新闻内容：\n"), turns=False, first_line=True),
    "passage_count": Task(
        "There are some paragraphs below sourced from Wikipedia. Some of them may be duplicates. "
        "Please carefully read these paragraphs and determine how many unique paragraphs there are "
        "after removing duplicates. In other words, how many non-repeating paragraphs are there in "
        "total?\n\n{context}\n\nPlease enter the final count of unique paragraphs after removing "
        "duplicates. The output format should only contain the number, such as 1, 2, 3, and so on."
        "\n\nThe final answer is: ", 32, ("numbers",), numbered(r"^Paragraph (\d+): ")),
    "passage_retrieval_en": Task(
        "Here are 30 paragraphs from Wikipedia, along with an abstract. Please determine which "
        "paragraph the abstract is from.\n\n{context}\n\nThe following is an abstract.\n\n{input}"
        "\n\nPlease enter the number of the paragraph that the abstract is from. The answer format "
        "must be like \"Paragraph 1\", \"Paragraph 2\", etc.\n\nThe answer is: ",
        32, ("numbers",), numbered(r"^Paragraph (\d+): ")),
    "passage_retrieval_zh": Task(
        "以下是若干段落文字，以及其中一个段落的摘要。请确定给定的摘要出自哪一段。\n\n{context}\n\n"
        "下面是一个摘要\n\n{input}\n\n请输入摘要所属段落的编号。答案格式必须是\"段落1\"，\"段落2\"等格式"
        "\n\n答案是：", 32, ("numbers",), numbered(r"^段落(\d+)：")),
    "lcc": Task("Please complete the code given below. \n{context}Next line of code:\n",
                64, ("code",), paragraphs, turns=False),
    # A file's path stands in front of it; the input is the file that goes on, from its imports on.
    "repobench-p": Task(
        "Please complete the code given below. \n{context}{input}Next line of code:\n",
        64, ("code",), at(PATH), imports, turns=False),
}
WORDS_OF_CHINESE = ("dureader", "multifieldqa_zh", "vcsum")


# ---- prompts told apart

def told_apart(task, prompt):
    """Context and input of a prompt, or None where it is not of the task's format."""
    head, rest = (task.stored or task.form).split("{context}")
    between, is_asked, tail = rest.partition("{input}")
    tail = tail if is_asked else rest
    text = prompt[len(head):len(prompt) - len(tail)]
    if not (prompt.startswith(head) and prompt.endswith(tail)):
        return None
    if not is_asked:
        return text, ""
    end, begin = task.find(text, between)
    return (text[:end], text[begin:]) if end > 0 else None


def gold_of(item, task, where):
    """Gold answers, and the classes that an answer is one of."""
    gold = item.get("gold")
    classes = gold.get("all_classes", ()) if isinstance(gold, dict) else ()
    answers = gold.get("answers") if isinstance(gold, dict) else gold
    if not answers:
        raise ValueError(f"{where} has no gold answer")
    if "label" in task.metrics and not classes:
        raise ValueError(f"{where} does not say which classes there are")
    return answers, tuple(classes)


def read(folder, name):
    """A task as a set. OSError, ValueError: what is missing."""
    if name in WORDS_OF_CHINESE:
        raise ValueError(f"longbench:{name} is scored on words of Chinese, which are not told "
                         f"apart here; there are {', '.join(TASKS)}")
    if name not in TASKS:
        raise ValueError(f"no task longbench:{name}; there are {', '.join(TASKS)}")
    task, file = TASKS[name], folder / "minilongbench" / f"{name}.json"
    documents, questions = [], []
    head, tail = task.form.split("{context}")
    for i, item in enumerate(json.loads(file.read_text())):
        where = f"{file}: prompt {i + 1}"
        parts = told_apart(task, CONTROLS.sub(" ", item.get("prompt", "")))
        if not parts or not parts[0]:
            raise ValueError(f"{where} is not of LongBench's format of {name}")
        answers, classes = gold_of(item, task, where)
        texts = task.split(parts[0])
        chosen = list(range(len(documents), len(documents) + len(texts)))
        documents += texts
        questions.append(Question(f"{name}-{i}", chosen, tail.replace("{input}", parts[1]), answers,
                                  task.n_tokens, classes))
    return Set(f"longbench:{name}", documents, questions, task.metrics, head,
               "user" if task.turns else "text", task.first_line)
