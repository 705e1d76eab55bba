"""What an explanation of a score is made of: plain frozen values, and the case that a metric explains.

Each metric explains itself beside its kernels, from the parts that they compute (`registry.Metric.explain`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from evaluation.metrics.comparison import Comparison, View


@dataclass(frozen=True, slots=True)
class Part:
    """An n-gram of the candidate and what it adds to the score; or, with `order` 0, what no n-gram can be blamed for.

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


@dataclass(frozen=True, slots=True)
class Gram:
    """An n-gram of the candidate: its first place, and how often the candidate and each reference hold it."""

    words: tuple[str, ...]
    place: int
    count: int
    beside: tuple[int, ...]

    def part(self, contribution: float, matched: float, idf: float | None = None, note: str = "") -> Part:
        """Make the n-gram's part of the score."""
        holders = tuple(number for number, count in enumerate(self.beside) if count)
        words, order = " ".join(self.words), len(self.words)
        return Part(words, order, self.count, matched, holders, contribution, idf, note)


@dataclass(frozen=True)
class Case:
    """A score to explain: the first candidate of a comparison beside its references, by a metric and its settings."""

    metric: str
    settings: Mapping[str, int | float | str]
    comparison: Comparison
    view: View

    @cached_property
    def texts(self) -> list[list[str]]:
        """The words of the candidate, then those of each reference."""
        words = self.comparison.words(self.view)
        bounds = words.starts[: 2 + int(self.comparison.reference_counts[0])].tolist()
        return [
            [words.vocabulary[number] for number in words.words[begin:end].tolist()]
            for begin, end in pairwise(bounds)
        ]

    @property
    def words(self) -> list[str]:
        """The words of the candidate."""
        return self.texts[0]

    @property
    def references(self) -> list[list[str]]:
        """The words of each reference."""
        return self.texts[1:]

    def grams(self, order: int) -> list[Gram]:
        """Count the n-grams of the candidate, in the order in which they first stand there."""
        places = [
            [tuple(text[at : at + order]) for at in range(len(text) - order + 1)] for text in self.texts
        ]
        ours, *theirs = map(Counter, places)
        return [
            Gram(words, places[0].index(words), count, tuple(other[words] for other in theirs))
            for words, count in ours.items()
        ]

    def beside(
        self, number: int, contribution: float | None = None, chosen: str = "", *, as_counted: bool = False
    ) -> Beside:
        """Describe a reference, by its text or, `as_counted`, by its words."""
        words = self.references[number]
        text = " ".join(words) if as_counted else self.comparison.texts[1 + number]
        return Beside(text, len(words), contribution, chosen)

    def explanation(
        self,
        score: float,
        parts: Sequence[Part],
        factors: Sequence[Factor],
        references: Sequence[Beside],
        words: str,
        *,
        tokens: Sequence[Token] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> Explanation:
        """Put the explanation together; the words share what the n-grams add unless `tokens` says otherwise."""
        return Explanation(
            metric=self.metric,
            tokenizer=self.view.tokenizer.name,
            settings=dict(self.settings),
            score=score,
            parts=tuple(parts),
            factors=tuple(factors),
            references=tuple(references),
            tokens=self._tokens(parts) if tokens is None else tuple(tokens),
            words=words,
            warnings=warnings,
        )

    def _tokens(self, parts: Sequence[Part]) -> tuple[Token, ...]:
        """Split what each n-gram adds evenly over its occurrences and their words."""
        adds = {tuple(part.words.split(" ")): part for part in parts if part.order}
        shares = [0.0] * len(self.words)
        for order in {part.order for part in parts if part.order}:
            for at in range(len(self.words) - order + 1):
                part = adds[tuple(self.words[at : at + order])]
                for place in range(at, at + order):
                    shares[place] += part.contribution / (part.count * order)
        return tuple(Token(word, share) for word, share in zip(self.words, shares, strict=True))
