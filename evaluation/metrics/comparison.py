"""Candidates beside their references, in the numbered form that every metric counts on."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.changes import changed
from evaluation.metrics.corpus import (
    Entries,
    Groups,
    Ints,
    TextTable,
    Words,
    check_texts,
    encode,
    ranges,
)
from evaluation.metrics.errors import InvalidInput
from evaluation.metrics.text import Tokenizer

Floats = NDArray[np.float64]

T = TypeVar("T")

BLOCK = 2_000_000  # shared n-grams handled at once; bounds the memory


@dataclass(frozen=True)
class View:
    """Which words are counted: a tokenizer and the name of what is done to its words (see `changes`)."""

    tokenizer: Tokenizer
    change: str = "none"


@dataclass(frozen=True)
class Frequencies:
    """In how many documents each n-gram occurs: `counts` (distinct n-grams,) of `documents` documents."""

    counts: Ints
    documents: int


@dataclass(frozen=True)
class Comparison:
    """What is scored: `candidates` (n,) text numbers, `references` whose `of` (n,) names the group of each.

    `documents` is the corpus of document frequencies; None means the references of every candidate, one
    document a candidate, as the MS COCO evaluation counts them.
    """

    texts: list[str]
    candidates: Ints
    references: Groups
    documents: Groups | None = None
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        candidates: Sequence[str],
        references: Sequence[Sequence[str]],
        document_corpus: Sequence[Sequence[str]] | None = None,
    ) -> "Comparison":
        """Check and number the texts; InvalidInput says what is wrong with them."""
        check_texts(candidates, "candidates")
        if isinstance(references, str) or not hasattr(references, "__len__"):
            raise InvalidInput(
                f"references is a {type(references).__name__}, expected a sequence of lists of str"
            )
        if len(candidates) != len(references):
            raise InvalidInput(
                f"{len(candidates)} candidates but {len(references)} lists of references, expected as many"
            )
        table = TextTable()
        numbered = table.add(candidates)
        groups = table.add_lists(references, "references")
        documents = None
        if document_corpus is not None:
            if len(document_corpus) == 0:
                raise InvalidInput("document_corpus is empty, expected a list of references for each image")
            documents = table.add_lists(document_corpus, "document_corpus")
        return cls(table.texts, numbered, groups, documents)

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.candidates.size

    @cached_property
    def reference_counts(self) -> Ints:
        """(n,) int64: references of each candidate."""
        return self.references.sizes[self.references.of]

    @cached_property
    def pair_starts(self) -> Ints:
        """(n,) int64: where the pairs of each candidate with its references begin."""
        return np.cumsum(self.reference_counts) - self.reference_counts

    @cached_property
    def pair_references(self) -> Ints:
        """(pairs,) int64: the reference text of each pair."""
        references = self.references
        return references.texts[ranges(references.starts[references.of], self.reference_counts)]

    @cached_property
    def member_starts(self) -> Ints:
        """(groups + 1,): a group's references come first, then the candidates that are held against them."""
        return np.concatenate(([0], np.cumsum(self.references.sizes + self.references.weight)))

    @cached_property
    def candidate_members(self) -> Ints:
        """(n,): the place of each candidate among the members."""
        of = self.references.of
        order = np.argsort(of, kind="stable")
        rank = np.empty(self.size, dtype=np.int64)
        rank[order] = np.arange(self.size) - np.repeat(
            np.cumsum(self.references.weight) - self.references.weight, self.references.weight
        )
        return self.member_starts[of] + self.references.sizes[of] + rank

    @cached_property
    def candidate_of(self) -> Ints:
        """(members,): which candidate a member is, -1 for a reference."""
        candidate = np.full(int(self.member_starts[-1]), -1, dtype=np.int64)
        candidate[self.candidate_members] = np.arange(self.size)
        return candidate

    @cached_property
    def member_texts(self) -> Ints:
        """(members,): the text of each member."""
        texts = np.empty(int(self.member_starts[-1]), dtype=np.int64)
        texts[self.candidate_members] = self.candidates
        texts[self.candidate_of < 0] = self.references.texts
        return texts

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made the first time it is asked for: metrics share what they count on."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def words(self, view: View) -> Words:
        """All texts as word numbers."""
        return self.once(("words", view), lambda: self._make_words(view))

    def _make_words(self, view: View) -> Words:
        if view.change == "none":
            return encode(self.texts, view.tokenizer)
        return changed(self.words(View(view.tokenizer)), view.change)

    def entries(self, view: View, order: int) -> Entries:
        """The n-grams of one order, of every group's references and candidates."""
        return self.once(
            ("entries", view, order),
            lambda: Entries.of(self.words(view), order, self.member_texts, self.member_starts),
        )

    def clipped_matches(self, entries: Entries) -> Ints:
        """(n,) int64: n-grams of each candidate, each counted up to the most that one reference holds."""
        if entries.count.size == 0:
            return np.zeros(self.size, dtype=np.int64)
        candidate = self.candidate_of[entries.member]
        ours = candidate >= 0
        allowed = np.maximum.reduceat(np.where(ours, 0, entries.count), entries.segments)
        matched = np.minimum(entries.count[ours], allowed[entries.segment[ours]])
        # Exact: sums of integers far below 2 ** 53.
        return np.bincount(candidate[ours], weights=matched, minlength=self.size).astype(np.int64)

    def shared(self, entries: Entries) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Walk over the n-grams that a candidate has in common with a reference of its own.

        Yields blocks of three aligned arrays: the candidate's entry, the reference's entry, and the pair.
        """
        candidate = self.candidate_of[entries.member]
        references = np.bincount(entries.segment[candidate < 0], minlength=entries.segments.size)
        ours = np.flatnonzero(candidate >= 0)
        counts = references[entries.segment[ours]]
        ours, counts = ours[counts > 0], counts[counts > 0]
        firsts = entries.segments[entries.segment[ours]]
        cuts = np.searchsorted(np.cumsum(counts), np.arange(BLOCK, int(counts.sum()), BLOCK))
        blocks = zip(np.split(ours, cuts), np.split(firsts, cuts), np.split(counts, cuts), strict=True)
        # A group's references are its first members, so the slot of a reference is its number in the pair.
        offset = self.pair_starts - self.member_starts[self.references.of]
        for mine, first, many in blocks:
            own, theirs = np.repeat(mine, many), ranges(first, many)
            yield own, theirs, offset[candidate[own]] + entries.member[theirs]

    def frequencies(self, view: View, order: int) -> Frequencies:
        """Document frequencies of the n-grams of one order."""
        return self.once(("frequencies", view, order), lambda: self._make_frequencies(view, order))

    def _make_frequencies(self, view: View, order: int) -> Frequencies:
        corpus = self.documents
        if corpus is None:
            entries = self.entries(view, order)
            group_of = np.repeat(np.arange(self.references.count), np.diff(self.member_starts))
            first = entries.member[entries.segments]
            # A group's references come first: where the first entry is a candidate's, no reference has it.
            held = self.candidate_of[first] < 0
            weight = self.references.weight[group_of[first[held]]]
            grams, documents = entries.gram[entries.segments[held]], self.size
        else:
            entries = Entries.of(self.words(view), order, corpus.texts, corpus.starts)
            group_of = np.repeat(np.arange(corpus.count), corpus.sizes)
            weight = corpus.weight[group_of[entries.member[entries.segments]]]
            grams, documents = entries.gram[entries.segments], corpus.of.size
        distinct = self.words(view).grams(order)[1]
        # Exact: sums of integers far below 2 ** 53.
        counts = np.bincount(grams, weights=weight, minlength=distinct).astype(np.int64)
        return Frequencies(counts, documents)
