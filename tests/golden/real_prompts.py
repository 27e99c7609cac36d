"""The prompts of make_real_fixtures.py: words of public-domain books, and the project's own.

Carroll 1865, Austen 1813, Lincoln 1863, Melville 1851, Li Bai, Laozi and the Analects
are in the public domain; the code, the digits, the tables and the chat turns were
written for this file.
"""

ALICE = """Alice was beginning to get very tired of sitting by her sister on the bank, and of having \
nothing to do: once or twice she had peeped into the book her sister was reading, but it had no \
pictures or conversations in it, "and what is the use of a book," thought Alice "without pictures or \
conversations?"

So she was considering in her own mind (as well as she could, for the hot day made her feel very \
sleepy and stupid), whether the pleasure of making a daisy-chain would be worth the trouble of \
getting up and picking the daisies, when suddenly a White Rabbit with pink eyes ran close by her.

There was nothing so very remarkable in that; nor did Alice think it so very much out of the way to \
hear the Rabbit say to itself, "Oh dear! Oh dear! I shall be late!" (when she thought it over \
afterwards, it occurred to her that she ought to have wondered at this, but at the time it all \
seemed quite natural); but when the Rabbit actually took a watch out of its waistcoat-pocket, and \
looked at it, and then hurried on, Alice started to her feet, for it flashed across her mind that she \
had never before seen a rabbit with either a waistcoat-pocket, or a watch to take out of it, and \
burning with curiosity, she ran across the field after it, and fortunately was just in time to see it \
pop down a large rabbit-hole under the hedge."""

AUSTEN = """It is a truth universally acknowledged, that a single man in possession of a good fortune, \
must be in want of a wife.

However little known the feelings or views of such a man may be on his first entering a neighbourhood, \
this truth is so well fixed in the minds of the surrounding families, that he is considered the \
rightful property of some one or other of their daughters.

"My dear Mr. Bennet," said his lady to him one day, "have you heard that Netherfield Park is let at \
last?"

Mr. Bennet replied that he had not.

"But it is," returned she; "for Mrs. Long has just been here, and she told me all about it."

Mr. Bennet made no answer.

"Do you not want to know who has taken it?" cried his wife impatiently.

"You want to tell me, and I have no objection to hearing it.\""""

LINCOLN = """Four score and seven years ago our fathers brought forth on this continent, a new nation, \
conceived in Liberty, and dedicated to the proposition that all men are created equal.

Now we are engaged in a great civil war, testing whether that nation, or any nation so conceived and so \
dedicated, can long endure. We are met on a great battle-field of that war. We have come to dedicate a \
portion of that field, as a final resting place for those who here gave their lives that that nation \
might live. It is altogether fitting and proper that we should do this.

But, in a larger sense, we can not dedicate -- we can not consecrate -- we can not hallow -- this \
ground. The brave men, living and dead, who struggled here, have consecrated it, far above our poor \
power to add or detract."""

MELVILLE = """Call me Ishmael. Some years ago--never mind how long precisely--having little or no money \
in my purse, and nothing particular to interest me on shore, I thought I would sail about a little and \
see the watery part of the world. It is a way I have of driving off the spleen and regulating the \
circulation. Whenever I find myself growing grim about the mouth; whenever it is a damp, drizzly \
November in my soul; whenever I find myself involuntarily pausing before coffin warehouses, and \
bringing up the rear of every funeral I meet; and especially whenever my hypos get such an upper hand \
of me, that it requires a strong moral principle to prevent me from deliberately stepping into the \
street, and methodically knocking people's hats off--then, I account it high time to get to sea as soon \
as I can."""

CHINESE = """床前明月光，疑是地上霜。举头望明月，低头思故乡。

道可道，非常道。名可名，非常名。无名天地之始；有名万物之母。故常无欲，以观其妙；常有欲，以观其徼。

子曰：「学而时习之，不亦说乎？有朋自远方来，不亦乐乎？人不知而不愠，不亦君子乎？」"""

PYTHON = '''import heapq


def shortest_paths(graph, source):
    """Distances from `source`, by Dijkstra. graph: {node: [(neighbour, weight), ...]}"""
    distances = {source: 0}
    queue = [(0, source)]
    while queue:
        distance, node = heapq.heappop(queue)
        if distance > distances[node]:
            continue
        for neighbour, weight in graph[node]:
            candidate = distance + weight
            if candidate < distances.get(neighbour, float("inf")):
                distances[neighbour] = candidate
                heapq.heappush(queue, (candidate, neighbour))
    return distances


if __name__ == "__main__":
    graph = {"a": [("b", 7), ("c", 3)], "b": [("d", 2)], "c": [("b", 1), ("d", 8)], "d": []}
    for node, distance in sorted(shortest_paths(graph, "a").items()):
        print(f"{node}: {distance}")
'''

C = """#include <stdio.h>
#include <stdlib.h>

/* Reads numbers, one a line, and prints their mean and their largest. */
int main(void) {
  double sum = 0.0, largest = 0.0, x;
  size_t n = 0;
  while (scanf("%lf", &x) == 1) {
    if (n == 0 || x > largest) largest = x;
    sum += x;
    ++n;
  }
  if (n == 0) {
    fprintf(stderr, "no numbers\\n");
    return EXIT_FAILURE;
  }
  printf("mean %.6f, largest %.6f of %zu\\n", sum / (double)n, largest, n);
  return EXIT_"""

DIGITS = """3.14159265358979323846264338327950288419716939937510
1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597,
7 * 6 = 42; 12 * 12 = 144; 25 * 25 = 625; 99 * 101 ="""

JSON = """{"orders": [
  {"id": 1041, "customer": "Aksel Berg", "items": [{"sku": "NB-13", "count": 2, "price": 19.5}], "paid": true},
  {"id": 1042, "customer": "Inês Duarte", "items": [{"sku": "PX-02", "count": 1, "price": 240.0}], "paid": false},
  {"id": 1043, "customer": "Øystein Å. Lie", "items": [{"sku":"""

LANGUAGES = """Der Zug nach München fährt um sieben Uhr ab. Où est la bibliothèque, s'il vous plaît? \
¿Cuánto cuesta el billete de ida y vuelta? Сколько времени идёт поезд до Москвы? \
Η θάλασσα είναι ήρεμη σήμερα. 今日は天気がいいですね。 오늘은 날씨가 좋네요. 🌊🚲🍋 ∑ᵢ xᵢ² ≤ ‖x‖²"""


def ledger(lines):
    """A table without an end: names, dates and sums from a small linear congruence."""
    towns = ["Oslo", "Lisbon", "Vienna", "Kyoto", "Prague", "Dublin", "Zurich", "Tartu"]
    goods = ["timber", "salt", "paper", "glass", "wool", "copper"]
    text, x = ["date       | from   | to     | goods  | tons | price"], 12345
    for line in range(lines):
        x = (1103515245 * x + 12345) % 2**31
        a, b, c = x % 8, (x >> 8) % 8, (x >> 16) % 6
        text.append(f"18{60 + line // 12}-{line % 12 + 1:02}-{x % 28 + 1:02} | {towns[a]} | {towns[b]} | "
                    f"{goods[c]} | {x % 97 + 1} | {x % 9973 / 100:.2f}")
    return "\n".join(text)


def chat(begin, end, roles):
    """Two turns and the opening of the third, in the model's own control tokens."""
    say = [("user", "My neighbour plays the drums every evening at nine. What could I say to him?"),
           ("assistant", "Say that you like that he plays, and that nine is your children's bedtime. "
                         "Ask whether he could start at seven."),
           ("user", "And if he says no?")]
    turns = "".join(f"{begin}{roles[role]}\n{text}{end}\n" for role, text in say)
    return turns + f"{begin}{roles['assistant']}\n"


SMOLLM_CHAT = ("<|im_start|>", "<|im_end|>", {"user": "user", "assistant": "assistant"})
GEMMA_CHAT = ("<start_of_turn>", "<end_of_turn>", {"user": "user", "assistant": "model"})

BOOKS = "\n\n".join((MELVILLE, ALICE, LINCOLN, AUSTEN))


def prompts(chat_format):
    """{name: (text, does it spell control tokens?, most tokens)}"""
    return {
        "capital": ("The capital of France is", False, 2000),
        "digits": (DIGITS, False, 2000),
        "chinese": (CHINESE, False, 2000),
        "languages": (LANGUAGES, False, 2000),
        "json": (JSON, False, 2000),
        "c": (C, False, 2000),
        "python": (PYTHON, False, 2000),
        "one_word": ("na " * 60, False, 2000),
        "melville": (MELVILLE, False, 2000),
        "lincoln": (LINCOLN, False, 2000),
        "austen": (AUSTEN, False, 2000),
        "alice": (ALICE, False, 2000),
        "chat": (chat(*chat_format), True, 2000),
        "books": (BOOKS, False, 900),
        "ledger": (ledger(60), False, 1300),
        "everything": ("\n\n".join((BOOKS, PYTHON, CHINESE, ledger(20), JSON, LANGUAGES, C, BOOKS)), False, 2000),
    }
