"""Compare scores with pycocoevalcap 1.2 on random captions, which have 8.5 words on average, by Zipf's law.

    python -m benchmarks.captions                       # every job at every size, about ten minutes
    python -m benchmarks.captions cider-d --sizes 5000

requirements-oracles.txt names the other program, whose tokenizer needs Java. Both programs get tokens, except in `raw
text`, where both tokenise and compute BLEU-1..4, ROUGE-L and CIDEr-D. The start of Java is not counted.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.measuring import Job, main
from quorum.metrics import bleu_pre_matrix, score
from quorum.metrics.text.porter import rouge_stems
from quorum.metrics.text.word_lists import smart_stop_words

SIZES = (5_000, 40_000, 160_000)
REFERENCES = 5
WORDS = 12_000
SEED = 7


@dataclass(frozen=True)
class Captions:
    """The captions that both programs score."""

    candidates: list[str]
    references: list[list[str]]

    @property
    def for_peer(self) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
        """The references, and the candidate in a list, by image."""
        return dict(enumerate(self.references)), {i: [text] for i, text in enumerate(self.candidates)}


def captions(count: int, rng: np.random.Generator) -> list[str]:
    vocabulary = np.array(
        [f"w{number:x}".translate(str.maketrans("0123456789", "ghijklmnop")) for number in range(WORDS)]
    )
    lengths = rng.binomial(16, 0.53, size=count) + 1
    drawn = vocabulary[np.minimum(rng.zipf(1.3, size=int(lengths.sum())), WORDS) - 1].tolist()
    ends = np.cumsum(lengths).tolist()
    return [" ".join(drawn[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]


def made_up(size: int) -> Captions:
    """Return random candidates with five references each."""
    rng = np.random.default_rng(SEED)
    candidates, flat = captions(size, rng), captions(size * REFERENCES, rng)
    return Captions(candidates, [flat[i * REFERENCES : (i + 1) * REFERENCES] for i in range(size)])


def _peer(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"pycocoevalcap.{module}"), name)


def bleu(given: Captions) -> ArrayLike:
    found = score(given.candidates, given.references, [f"bleu-{n}" for n in (1, 2, 3, 4)], "space")
    return [one.corpus for one in found.scores.values()]


def peer_bleu(given: Captions) -> ArrayLike:
    figures: ArrayLike = _peer("bleu.bleu", "Bleu")(4).compute_score(*given.for_peer)[0]
    return figures


def rouge_l(given: Captions) -> ArrayLike:
    return score(given.candidates, given.references, ["rouge-l"], "space").scores["rouge-l"].corpus


def peer_rouge_l(given: Captions) -> ArrayLike:
    return float(_peer("rouge.rouge", "Rouge")().compute_score(*given.for_peer)[0])


def cider_d(given: Captions) -> ArrayLike:
    return score(given.candidates, given.references, ["cider-d"], "space").scores["cider-d"].corpus


def peer_cider_d(given: Captions) -> ArrayLike:
    return float(_peer("cider.cider", "Cider")().compute_score(*given.for_peer)[0])


def rouge_script(given: Captions) -> ArrayLike:
    names = ["rouge-1", "rouge-2", "rouge-l-155", "rouge-w", "rouge-s4", "rouge-su4"]
    return [one.corpus for one in score(given.candidates, given.references, names).scores.values()]


ALL_METRICS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d")


def raw_text(given: Captions) -> ArrayLike:
    found = score(given.candidates, given.references, ALL_METRICS)
    return [one.corpus for one in found.scores.values()]


def peer_tokens(texts: dict[int, list[str]]) -> Any:
    """Return the tokens by the other program, which starts a new Java."""
    rows = {key: [{"caption": text} for text in own] for key, own in texts.items()}
    return _peer("tokenizer.ptbtokenizer", "PTBTokenizer")().tokenize(rows)


def start_java_twice() -> None:
    for _ in range(2):
        peer_tokens({0: ["a"]})


def peer_raw_text(given: Captions) -> ArrayLike:
    cut = [peer_tokens(each) for each in given.for_peer]
    bleus = _peer("bleu.bleu", "Bleu")(4).compute_score(*cut)[0]
    others = (_peer("rouge.rouge", "Rouge")(), _peer("cider.cider", "Cider")())
    return [*bleus, *(float(one.compute_score(*cut)[0]) for one in others)]


def bleu_pre(given: Captions) -> ArrayLike:
    hits, totals = bleu_pre_matrix(given.candidates, given.references)
    return [float(hits.sum()), float(totals.sum())]


def plain_bleu_pre(given: Captions) -> ArrayLike:
    """Return the counts of Bleu-pre by a plain loop. Stop words and stems come from one call on all words."""
    content = _content_words(given)
    found = [content(text) for text in given.candidates]
    hits = 0
    for texts in given.references:
        most = Counter[str]()
        for text in texts:
            most |= Counter(content(text))
        for words in found:
            hits += sum((Counter(words) & most).values())
    return [float(hits), float(sum(map(len, found)))]


def _content_words(given: Captions) -> Callable[[str], list[str]]:
    words = sorted(
        {word for texts in [given.candidates, *given.references] for text in texts for word in text.split()}
    )
    stems = dict(zip(words, rouge_stems(words), strict=True))
    stop = smart_stop_words()
    return lambda text: [stems[word] for word in text.split() if word not in stop]


PEER, PACKAGE = "pycocoevalcap 1.2", "pycocoevalcap"
UNIT = f" x {REFERENCES}"
JOBS = (
    Job("bleu-1..4", SIZES, made_up, bleu, peer_bleu, PEER, PACKAGE, unit=UNIT),
    Job("rouge-l", SIZES, made_up, rouge_l, peer_rouge_l, PEER, PACKAGE, unit=UNIT),
    Job("cider-d", SIZES, made_up, cider_d, peer_cider_d, PEER, PACKAGE, unit=UNIT),
    Job("rouge-1.5.5, all six", SIZES, made_up, rouge_script, unit=UNIT),
    Job(
        "raw text",
        SIZES[:2],
        made_up,
        raw_text,
        peer_raw_text,
        PEER,
        PACKAGE,
        unit=UNIT,
        starting=start_java_twice,
    ),
    Job("bleu-pre", (250, 500, 1_000), made_up, bleu_pre, plain_bleu_pre, "a Counter loop", unit=" squared"),
    Job("a million", (1_000_000,), made_up, raw_text, repeats=1, unit=UNIT),
)

if __name__ == "__main__":
    main(JOBS)
