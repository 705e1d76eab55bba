"""Explanations of scores, and the `Case` from which a metric makes one (`registry.Metric.explain`)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from evaluation.metrics.comparison import Comparison, View


@dataclass(frozen=True, slots=True)
class Part:
    """An n-gram of the candidate as counted, and its contribution; or a named rest, with `order` 0.

    Attributes:
        count: occurrences in the candidate.
        matched: matched occurrences, after clipping; for CIDEr the mean over the references.
        references: the references that hold it, from 0.
        idf: its weight, for metrics that weigh by documents.
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
    name: str
    value: float
    words: str


@dataclass(frozen=True, slots=True)
class Token:
    word: str
    contribution: float


@dataclass(frozen=True, slots=True)
class ReferenceNote:
    """A reference, its contribution if known, and what it was chosen for."""

    text: str
    length: int
    contribution: float | None = None
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions of `parts` sum to `score`, and so do those of `tokens`, the candidate's words, if any."""

    metric: str
    tokenizer: str
    settings: Mapping[str, int | float | str]
    score: float
    parts: tuple[Part, ...]
    factors: tuple[Factor, ...]
    references: tuple[ReferenceNote, ...]
    tokens: tuple[Token, ...] = ()
    words: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gram:
    """An n-gram of the candidate: its first place, and its counts in the candidate and each reference."""

    words: tuple[str, ...]
    place: int
    count: int
    beside: tuple[int, ...]

    def part(self, contribution: float, matched: float, idf: float | None = None, note: str = "") -> Part:
        holders = tuple(number for number, count in enumerate(self.beside) if count)
        words, order = " ".join(self.words), len(self.words)
        return Part(words, order, self.count, matched, holders, contribution, idf, note)


@dataclass(frozen=True)
class Case:
    metric: str
    settings: Mapping[str, int | float | str]
    comparison: Comparison
    view: View

    @cached_property
    def texts(self) -> list[list[str]]:
        words = self.comparison.words(self.view)
        bounds = words.starts[: 2 + int(self.comparison.reference_counts[0])].tolist()
        return [
            [words.vocabulary[number] for number in words.words[begin:end].tolist()]
            for begin, end in pairwise(bounds)
        ]

    @property
    def words(self) -> list[str]:
        return self.texts[0]

    @property
    def references(self) -> list[list[str]]:
        return self.texts[1:]

    def grams(self, order: int) -> list[Gram]:
        """Count the n-grams of the candidate, in order of first occurrence."""
        places = [
            [tuple(text[at : at + order]) for at in range(len(text) - order + 1)] for text in self.texts
        ]
        candidate, *references = map(Counter, places)
        return [
            Gram(words, places[0].index(words), count, tuple(other[words] for other in references))
            for words, count in candidate.items()
        ]

    def beside(
        self, number: int, contribution: float | None = None, chosen: str = "", *, as_counted: bool = False
    ) -> ReferenceNote:
        """Describe a reference, by its text or, `as_counted`, by its words."""
        words = self.references[number]
        text = " ".join(words) if as_counted else self.comparison.texts[1 + number]
        return ReferenceNote(text, len(words), contribution, chosen)

    def explanation(
        self,
        score: float,
        parts: Sequence[Part],
        factors: Sequence[Factor],
        references: Sequence[ReferenceNote],
        words: str,
        *,
        tokens: Sequence[Token] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> Explanation:
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
        """Split each n-gram's contribution evenly over its occurrences and their words."""
        adds = {tuple(part.words.split(" ")): part for part in parts if part.order}
        shares = [0.0] * len(self.words)
        for order in {part.order for part in parts if part.order}:
            for at in range(len(self.words) - order + 1):
                part = adds[tuple(self.words[at : at + order])]
                for place in range(at, at + order):
                    shares[place] += part.contribution / (part.count * order)
        return tuple(Token(word, share) for word, share in zip(self.words, shares, strict=True))
