"""Scores beside pycocoevalcap: the same captions, the same figures, the ratio of the times.

    python -m benchmarks.metrics              # 5,000 and 40,000 captions with five references each
    python -m benchmarks.metrics 1000

The peer (requirements-oracles.txt; Java for its tokenizer) is left out where it is not installed. Captions
are made up: 8.5 words on average, words drawn by Zipf's law. Each figure is the median of `REPEATS` calls;
absolute times differ from machine to machine, ratios less so.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from evaluation.metrics import bleu_pre_matrix, score

SIZES = (5_000, 40_000)
REFERENCES = 5
REPEATS = 3
WORDS = 12_000
SEED = 7


def captions(count: int, rng: np.random.Generator) -> list[str]:
    """Made-up captions in lower-case words."""
    vocabulary = np.array(
        [f"w{number:x}".translate(str.maketrans("0123456789", "ghijklmnop")) for number in range(WORDS)]
    )
    lengths = rng.binomial(16, 0.53, size=count) + 1
    drawn = vocabulary[np.minimum(rng.zipf(1.3, size=int(lengths.sum())), WORDS) - 1].tolist()
    ends = np.cumsum(lengths).tolist()
    return [" ".join(drawn[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]


def median(call: Callable[[], Any]) -> tuple[float, Any]:
    """The median time of a call in seconds, and what it returned."""
    times, result = [], None
    for _ in range(REPEATS):
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):  # the peer prints
            result = call()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


Captions = dict[int, list[str]]
Scorer = Callable[[Captions, Captions], Any]


def peer(module: str, name: str) -> Any:
    """A class of the peer; it has no types, and is not always there."""
    return getattr(importlib.import_module(f"pycocoevalcap.{module}"), name)


def peers() -> dict[str, Scorer]:
    """The peer's scorers by the metric that we compare with; empty where it is not installed."""
    if importlib.util.find_spec("pycocoevalcap") is None:
        return {}
    return {
        "bleu-4": lambda references, found: peer("bleu.bleu", "Bleu")(4).compute_score(references, found)[0][
            3
        ],
        "rouge-l": lambda references, found: peer("rouge.rouge", "Rouge")().compute_score(references, found)[
            0
        ],
        "cider-d": lambda references, found: peer("cider.cider", "Cider")().compute_score(references, found)[
            0
        ],
    }


def compare(size: int) -> None:
    """Print our time, the peer's and their ratio for `size` captions."""
    rng = np.random.default_rng(SEED)
    candidates, flat = captions(size, rng), captions(size * REFERENCES, rng)
    references = [flat[i * REFERENCES : (i + 1) * REFERENCES] for i in range(size)]
    as_peer = dict(enumerate(references)), {i: [text] for i, text in enumerate(candidates)}
    scorers = peers()
    for metric in ("bleu-4", "rouge-l", "cider-d"):
        ours, found = median(partial(score, candidates, references, [metric], "space"))
        line = f"{size:7,} x {REFERENCES}  {metric:8} {ours:7.2f} s"
        if metric in scorers:
            theirs, expected = median(partial(scorers[metric], *as_peer))
            difference = abs(found.scores[metric].corpus - float(expected))
            line += f"  peer {theirs:7.2f} s  {theirs / ours:5.1f} times  differs by {difference:.0e}"
        print(line)
    every = ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d"]
    ours, _ = median(lambda: score(candidates, references, every))
    line = f"{size:7,} x {REFERENCES}  all, from raw text {ours:7.2f} s"
    if scorers:
        theirs, _ = median(lambda: tokenised_and_scored(*as_peer))
        line += f"  peer {theirs:7.2f} s  {theirs / ours:5.1f} times"
    print(line)


def tokenised_and_scored(references: Captions, found: Captions) -> None:
    """What the peer does with raw text, its tokenizer's Java included."""
    tokenizer = peer("tokenizer.ptbtokenizer", "PTBTokenizer")()
    cut = [
        tokenizer.tokenize({key: [{"caption": text} for text in texts] for key, texts in each.items()})
        for each in (references, found)
    ]
    for scorer in peers().values():
        scorer(*cut)


def matrix() -> None:
    """Print the time of H13's filter of 1,000 images and 1,000 captions."""
    rng = np.random.default_rng(SEED)
    texts, flat = captions(1_000, rng), captions(5_000, rng)
    seconds, _ = median(lambda: bleu_pre_matrix(texts, [flat[i * 5 : i * 5 + 5] for i in range(1_000)]))
    print(f"bleu-pre of 1,000 x 1,000 pairs {seconds:.2f} s")


if __name__ == "__main__":
    for chosen in [int(argument) for argument in sys.argv[1:]] or SIZES:
        compare(chosen)
    matrix()
