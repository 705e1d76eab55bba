"""What an explanation of a score is made of: plain frozen values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Gram = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """An n-gram of the candidate and what it adds to the score; or, with `words` '', what no n-gram can be blamed for.

    Attributes:
        words: the n-gram as it was counted (stems, where the metric stems), or a name in words.
        order: how many words it has; 0 where it is no n-gram.
        count: how often it stands in the candidate.
        matched: how often it counts as matched, after clipping; for CIDEr the mean over the references.
        references: the references that hold it, from 0.
        idf: what it weighs, for metrics that weigh by documents.
        contribution: its part of the score.
        note: a sentence, where the number needs one.
    """

    words: str
    order: int
    count: int
    matched: float
    references: tuple[int, ...]
    contribution: float
    idf: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Factor:
    """A number on the way to the score, and what it means."""

    name: str
    value: float
    words: str


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the candidate as the metric counts it, and its share of the score."""

    word: str
    contribution: float


@dataclass(frozen=True, slots=True)
class Beside:
    """A reference: its words, what it adds where that can be said, and what it was chosen for ('' for nothing)."""

    text: str
    length: int
    contribution: float | None = None
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where a score comes from. The contributions of `parts` sum to `score`.

    `tokens` share the contributions of the n-grams out over their words; empty where a metric does not say which
    words it matched.
    """

    metric: str
    tokenizer: str
    settings: Mapping[str, int | float | str]
    score: float
    parts: tuple[Part, ...]
    factors: tuple[Factor, ...]
    references: tuple[Beside, ...]
    tokens: tuple[Token, ...] = ()
    words: str = ""
    warnings: tuple[str, ...] = ()


def grams_of(words: Sequence[str], order: int) -> Counter[Gram]:
    """The n-grams of an order with their counts."""
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def holders(gram: Gram, counted: Sequence[Counter[Gram]]) -> tuple[int, ...]:
    """The references, from 0, that hold an n-gram."""
    return tuple(number for number, one in enumerate(counted) if gram in one)


def tokens_of(words: Sequence[str], parts: Sequence[Part]) -> tuple[Token, ...]:
    """The words, each with its share: an n-gram's contribution is split over its occurrences and their words."""
    adds = {tuple(part.words.split(" ")): part for part in parts if part.order}
    shares = [0.0] * len(words)
    for order in {part.order for part in parts if part.order}:
        for at in range(len(words) - order + 1):
            part = adds[tuple(words[at : at + order])]
            for place in range(at, at + order):
                shares[place] += part.contribution / (part.count * order)
    return tuple(Token(word, share) for word, share in zip(words, shares, strict=True))
