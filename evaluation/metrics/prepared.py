"""References that many systems are scored against: cut into words once, however many systems there are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evaluation.metrics.comparison import Comparison, View, check_lists, check_texts
from evaluation.metrics.corpus import Pieces, Words
from evaluation.metrics.errors import InvalidInput
from evaluation.metrics.registry import metric_named
from evaluation.metrics.scoring import Scores, score_comparison
from evaluation.metrics.text import Tokenizer, tokenizer_named


@dataclass(frozen=True)
class Cut:
    """All reference texts, one after the other, as a tokenizer's words."""

    tokenizer: Tokenizer
    words: Words
    numbers: dict[str, int]

    def beside(self, candidates: list[str]) -> Words:
        """The candidates' words, then those of the references, under common numbers."""
        own = Pieces(candidates).words(self.tokenizer)
        added: dict[str, int] = {}
        known = len(self.numbers)
        renumbered = np.array(
            [
                self.numbers[word] if word in self.numbers else added.setdefault(word, known + len(added))
                for word in own.vocabulary
            ],
            dtype=np.int32,
        )
        words = np.concatenate([renumbered[own.words], self.words.words])
        starts = np.concatenate([own.starts, self.words.starts[1:] + own.starts[-1]])
        return Words(words, starts, [*self.words.vocabulary, *added])


@dataclass(frozen=True)
class PreparedReferences:
    """Lists of references, one for each image, and their words for some metrics.

    What is scored against them is one caption for each image, in the same order; every image is one document of
    the corpus whose document frequencies CIDEr takes.
    """

    references: Sequence[list[str]]
    metrics: tuple[str, ...]
    tokenizer: str
    cuts: tuple[Cut, ...]

    @classmethod
    def of(
        cls, references: Sequence[Sequence[str]], metrics: Iterable[str], tokenizer: str = "ptb"
    ) -> "PreparedReferences":
        """Prepare for metrics by name. Raises UnknownName, and InvalidInput for texts that cannot be used."""
        check_lists(references, "references")
        for position, texts in enumerate(references):
            check_texts(texts, f"references[{position}]")
        names = tuple(metrics)
        used = dict.fromkeys(metric_named(name).tokenizer or tokenizer for name in names)
        texts = [text for own in references for text in own]
        cuts = []
        for name in used:
            cut = tokenizer_named(name)
            words = Pieces(texts).words(cut)
            cuts.append(Cut(cut, words, {word: number for number, word in enumerate(words.vocabulary)}))
        # a list of its own for each image: two lists that are one object would be one group
        return cls([list(own) for own in references], names, tokenizer, tuple(cuts))

    def score(self, candidates: Sequence[str]) -> Scores:
        """What `score` gives for the candidates, in the order of the references. Raises InvalidInput."""
        check_texts(candidates, "candidates")
        if len(candidates) != len(self.references):
            raise InvalidInput(
                f"{len(candidates)} candidates but {len(self.references)} lists of references, expected as many"
            )
        comparison = Comparison.of(candidates, self.references)
        for cut in self.cuts:
            comparison.once(("words", View(cut.tokenizer)), partial(cut.beside, list(candidates)))
        return score_comparison(comparison, self.metrics, self.tokenizer)
