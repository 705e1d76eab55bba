"""Candidates and their references, tokenized once for all metrics."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from quorum.metrics.comparison.distinct_lists import DistinctLists
from quorum.metrics.comparison.kernel_inputs import TextGroups, TextPairs
from quorum.metrics.inputs import InvalidInput, check_lists, check_texts
from quorum.metrics.text.changes import change_words
from quorum.metrics.text.tokenizers import Tokenizer
from quorum.metrics.text.tokens import TokenizedTexts, encode_texts
from quorum.numeric.arrays import Flags, Ints, joined_ranges, starts_of

T = TypeVar("T")
MAX_TOKENS = 2**31 - 1  # n-grams are numbered in 32 bits


@dataclass(frozen=True)
class Tokenization:
    """How a metric cuts texts into words: a tokenizer, then a change of words, a key of `text.changes.CHANGES`."""

    tokenizer: Tokenizer
    change: str = "none"


@dataclass(frozen=True)
class ReferenceComparison:
    """Candidates to score against references.

    Candidates that are given the same list object of references form a group, so that its words are counted once. A
    document, whose words give CIDEr's document frequencies, is a list of references too.

    Attributes:
        texts: the n candidates, then the references of every group.
        group_of: (n,) group of each candidate.
        group_starts: (groups + 1,) position in `texts` of each group's first reference, and the end of the last group.
        document_counts: (groups,) number of documents that each group stands for; 0 if it is no document.
        document_count: their sum.
    """

    texts: list[str]
    group_of: Ints
    group_starts: Ints
    document_counts: Ints
    document_count: int
    _cache: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_texts(
        cls,
        candidates: Sequence[str],
        references: Sequence[Sequence[str]],
        document_corpus: Sequence[Sequence[str]] | None = None,
    ) -> "ReferenceComparison":
        """Return the comparison of candidates with their references.

        The documents are the lists of `document_corpus`; by default, each candidate's references are one document.
        Raise InvalidInput if the numbers of candidates and of lists of references differ, or if a list does not
        hold texts.
        """
        check_texts(candidates, "candidates")
        check_lists(references, "references")
        if len(candidates) != len(references):
            raise InvalidInput(
                f"{len(candidates)} candidates but {len(references)} lists of references, expected as many"
            )
        lists = DistinctLists()
        group_of = lists.add(references, "references")
        group_of_document = group_of
        if document_corpus is not None:
            check_lists(document_corpus, "document_corpus")
            group_of_document = lists.add(document_corpus, "document_corpus")
        group_starts = lists.starts + len(candidates)
        document_counts = np.bincount(group_of_document, minlength=group_starts.size - 1).astype(np.int64)
        return cls(
            texts=[*candidates, *lists.texts],
            group_of=group_of,
            group_starts=group_starts,
            document_counts=document_counts,
            document_count=group_of_document.size,
        )

    @property
    def candidate_count(self) -> int:
        return self.group_of.size

    @cached_property
    def reference_counts(self) -> Ints:
        """(n,) number of references of each candidate."""
        return np.diff(self.group_starts)[self.group_of]

    @cached_property
    def pair_starts(self) -> Ints:
        """(n,) first pair of each candidate, which forms a pair with each of its references."""
        return np.cumsum(self.reference_counts) - self.reference_counts

    @cached_property
    def pair_references(self) -> Ints:
        """(pairs,) position in `texts` of each pair's reference."""
        return joined_ranges(self.group_starts[self.group_of], self.reference_counts)

    @cached_property
    def candidates_by_group(self) -> tuple[Ints, Ints]:
        """The (n,) positions of the candidates sorted by group, and the (groups + 1,) bounds of the groups."""
        order = np.argsort(self.group_of, kind="stable")
        counts = np.bincount(self.group_of, minlength=self.document_counts.size)
        return order, starts_of(counts)

    @cached_property
    def is_empty(self) -> Flags:
        """(n,) flags that say whether each candidate is empty."""
        candidates = self.texts[: self.candidate_count]
        return np.fromiter((not text.strip() for text in candidates), bool, self.candidate_count)

    def without_empty(self) -> "ReferenceComparison":
        """Return the comparison of the candidates that are not empty, with the same documents."""
        filled_rows = np.flatnonzero(~self.is_empty)
        return ReferenceComparison(
            texts=[
                *(self.texts[index] for index in filled_rows.tolist()),
                *self.texts[self.candidate_count :],
            ],
            group_of=self.group_of[filled_rows],
            group_starts=self.group_starts - (self.candidate_count - filled_rows.size),
            document_counts=self.document_counts,
            document_count=self.document_count,
        )

    def count_distinct_documents(self, limit: int) -> int:
        """Return the number of different documents; stop counting at `limit`.

        Documents of different groups may be equal, because groups are told apart by list object.
        """
        distinct_documents: set[tuple[str, ...]] = set()
        bounds = self.group_starts.tolist()
        for group in np.flatnonzero(self.document_counts).tolist():
            distinct_documents.add(tuple(self.texts[bounds[group] : bounds[group + 1]]))
            if len(distinct_documents) == limit:
                break
        return len(distinct_documents)

    def cached_result(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result cached under the key, which metrics share. Call `compute` if there is none yet."""
        if key not in self._cache:
            self._cache[key] = compute()
        result: T = self._cache[key]
        return result

    def use_tokens(self, tokenization: Tokenization, tokens: TokenizedTexts) -> None:
        """Let the method `tokens` return these words, whose references `PreparedReferences` tokenized once."""
        self._cache["tokens", tokenization] = tokens

    def tokens(self, tokenization: Tokenization) -> TokenizedTexts:
        return self.cached_result(("tokens", tokenization), lambda: self._tokenize(tokenization))

    def _tokenize(self, tokenization: Tokenization) -> TokenizedTexts:
        if tokenization.change != "none":
            unchanged_tokens = self.tokens(Tokenization(tokenization.tokenizer))
            return change_words(unchanged_tokens, tokenization.change)
        # The pieces between blanks into which `encode_texts` first cuts texts are not cached. They are as large as the
        # words, and cheap to compute again for another tokenizer.
        tokens = encode_texts(self.texts, tokenization.tokenizer)
        if tokens.tokens.size > MAX_TOKENS:
            raise InvalidInput(
                f"the captions hold {tokens.tokens.size:,} words, expected at most {MAX_TOKENS:,} at once"
            )
        return tokens

    def text_groups(self, tokenization: Tokenization) -> TextGroups:
        tokens = self.tokens(tokenization)
        candidates, candidate_starts = self.candidates_by_group
        return TextGroups(tokens.tokens, tokens.starts, self.group_starts, candidates, candidate_starts)

    def text_pairs(self, tokenization: Tokenization) -> TextPairs:
        tokens = self.tokens(tokenization)
        pair_bounds = np.append(self.pair_starts, self.pair_references.size)
        return TextPairs(tokens.tokens, tokens.starts, self.pair_references, pair_bounds)
