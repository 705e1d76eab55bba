"""Measure processor time on raw captions that contain a year, a price, a URL and so on, as a multiple of plain words.

    python -m benchmarks.families [--size 2000] [--peer]

Each caption has five references, which contain the same year. `--peer` adds how many times longer pycocoevalcap 1.2
with its Java tokenizer takes for BLEU-1..4, ROUGE-L and CIDEr-D, without the start of Java; it needs some minutes.
"""

import argparse
import contextlib
import io
import os
import time
from collections.abc import Callable

import numpy as np

from benchmarks.captions import Captions, made_up, peer_raw_text, raw_text, start_java_twice
from quorum.metrics import score

METRICS = ("bleu-4", "rouge-l", "cider")
REPETITIONS = 7
ACCENTS = str.maketrans("aeiougnp", "áéíöüğñþ")
CHINESE = str.maketrans({chr(ord("a") + i): chr(0x4E00 + 37 * i) for i in range(26)})
ARABIC = str.maketrans({chr(ord("a") + i): chr(0x0627 + i % 20) for i in range(26)})

# A function that makes an item from random numbers and from a word of the caption.
Item = Callable[[Callable[[int, int], int], str], str]

FAMILIES: dict[str, Item] = {
    "plain words": lambda n, word: word,
    "years": lambda n, word: f"{n(1900, 2030)}",
    "prices": lambda n, word: f"${n(1, 1000)}.{n(10, 100)}",
    "times": lambda n, word: f"{n(1, 13)}:{n(10, 60)}",
    "thousands": lambda n, word: f"{n(1, 1000)},{n(100, 1000)}",
    "telephone numbers": lambda n, word: f"({n(200, 1000)}) {n(200, 1000)}-{n(1000, 10000)}",
    "URLs": lambda n, word: f"http://www.{word}.com/{n(1, 100)}",
    "emoji": lambda n, word: word + chr(n(0x1F600, 0x1F650)),
    "accents": lambda n, word: word.translate(ACCENTS),
    "Chinese": lambda n, word: word.translate(CHINESE),
    "Arabic": lambda n, word: word.translate(ARABIC),
    "quotations": lambda n, word: f'"{word}"',
    "abbreviations": lambda n, word: ("St.", "U.S.", "Mr.", "Dr.", "e.g.", "a.m.", "No. 5", "etc.")[n(0, 8)],
    "fractions": lambda n, word: f"{n(1, 100)} {n(1, 10)}/{n(2, 100)}",
    "capitals": lambda n, word: word.upper(),
    "HTML tags": lambda n, word: f'<a href="{word}.html">{word}</a>',
    "identifiers": lambda n, word: f"img_{n(0, 100_000):05}.jpg",
}


def of_family(plain: Captions, item: Item) -> Captions:
    """Return captions with an item after the first word of each text. The item is the same in all texts of an image."""
    rng = np.random.default_rng(1)

    def draw_integer(low: int, high: int) -> int:
        return int(rng.integers(low, high))

    items = [item(draw_integer, text.partition(" ")[0]) for text in plain.candidates]
    return Captions(
        [_insert_words(extra, text) for extra, text in zip(items, plain.candidates, strict=True)],
        [
            [_insert_words(extra, text) for text in texts]
            for extra, texts in zip(items, plain.references, strict=True)
        ],
    )


def _insert_words(extra: str, text: str) -> str:
    first, _, rest = text.partition(" ")
    return f"{first} {extra} {rest}"


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of a call, in this process and in ended programs that it started."""
    before = sum(os.times()[:4])
    work()
    return sum(os.times()[:4]) - before


def best_seconds(work: Callable[[], object]) -> float:
    work()
    seconds = []
    for _ in range(REPETITIONS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def seconds_of(given: Captions, metric: str) -> float:
    return best_seconds(lambda: score(given.candidates, given.references, [metric]))


def peer_times_ours(given: Captions, start: float) -> float:
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = processor_seconds(lambda: peer_raw_text(given))
    return (theirs - start) / best_seconds(lambda: raw_text(given))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=2000, help="captions (default: 2000)")
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    plain = made_up(options.size)
    seconds = {metric: seconds_of(plain, metric) for metric in METRICS}
    start = processor_seconds(start_java_twice) if options.peer else 0.0
    heads = ["family", *METRICS, *["peer"] * options.peer]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name, item in FAMILIES.items():
        texts = of_family(plain, item)
        cells = [name, *(f"{seconds_of(texts, metric) / seconds[metric]:.1f}" for metric in METRICS)]
        if options.peer:
            cells.append(f"{peer_times_ours(texts, start):.0f}x")
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
