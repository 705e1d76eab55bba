"""Explain a score: every n-gram of a candidate with its contribution.

Each metric explains itself from what its kernels compute. Sums are decomposed as such (CIDEr, ROUGE-n, the
Bleu-pre filter). BLEU, a geometric mean, has no such parts: each order gets an equal share, split over its
matches. ROUGE-L is split over the words of the longest common subsequence, METEOR over its stages by the
weight of their matches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from evaluation.arrays import Ints
from evaluation.metrics.comparison import Comparison, NumberedTexts, View, check_lists, check_texts
from evaluation.metrics.errors import InvalidInput, UnknownName
from evaluation.metrics.explanation import Case, Explanation
from evaluation.metrics.registry import METRICS, OptionValue, metric_named
from evaluation.metrics.text.tokenizers import tokenizer_named
from evaluation.metrics.text.words import starts_of

EXPLAINED = tuple(name for name, metric in METRICS.items() if metric.explain is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """A tokenised document corpus for many explanations; each list of texts is one document."""

    view: View
    _texts: list[str]
    _starts: Ints  # (documents + 1,) where each document begins
    _numbered: NumberedTexts

    @classmethod
    def of(cls, corpus: Sequence[Sequence[str]], view: View) -> "Documents":
        check_lists(corpus, "document_corpus")
        for position, texts in enumerate(corpus):
            check_texts(texts, f"document_corpus[{position}]")
        texts = list(chain.from_iterable(corpus))
        return cls(view, texts, starts_of(list(map(len, corpus))), NumberedTexts.of(texts, view))

    @property
    def size(self) -> int:
        return self._starts.size - 1

    def comparison(self, candidate: str, references: Sequence[str]) -> Comparison:
        """Compare a candidate with references, which are no document themselves."""
        own = [candidate, *references]
        made = Comparison(
            [*own, *self._texts],
            group_of=np.zeros(1, dtype=np.int64),
            group_starts=np.concatenate([[1], len(own) + self._starts]),
            weights=np.append(0, np.ones(self.size, dtype=np.int64)),
            documents=self.size,
        )
        made.once(("words", self.view), lambda: self._numbered.behind(own))
        return made


def view_of(metric: str, *, tokenizer: str = "ptb", **options: OptionValue) -> View:
    """Return the view for a metric's `Documents`."""
    declared = metric_named(metric)
    change = declared.change_under(declared.settings(options))
    return View(tokenizer_named(declared.tokenizer or tokenizer), change)


def explain(
    candidate: str,
    references: Sequence[str],
    metric: str,
    *,
    tokenizer: str = "ptb",
    documents: Documents | Sequence[Sequence[str]] | None = None,
    **options: OptionValue,
) -> Explanation:
    """Explain the score of one candidate; the contributions sum to what `score` returns.

    `documents` is the document corpus, for metrics that use one; by default the references are the only
    document, and every n-gram weighs 0. Raises InvalidInput for metrics or options without an explanation.
    """
    declared = metric_named(metric)
    if declared.explain is None:
        raise InvalidInput(f"metric {metric!r} cannot be explained, expected one of {', '.join(EXPLAINED)}")
    unknown = options.keys() - declared.options.keys()
    if unknown:
        raise UnknownName(f"option of {metric}", min(unknown), sorted(declared.options))
    view = view_of(metric, tokenizer=tokenizer, **options)
    comparison = Comparison.of([candidate], [references])
    if declared.uses_documents:
        if not isinstance(documents, Documents):
            documents = Documents.of([references] if documents is None else documents, view)
        elif documents.view != view:
            raise InvalidInput(f"documents were cut for other words than {metric} counts")
        comparison = documents.comparison(candidate, references)
    return declared.explain(Case(metric, declared.settings(options), comparison, view))
