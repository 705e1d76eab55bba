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
    Stream,
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
class Comparison:
    """What is scored.

    `candidates` (n,) are text numbers, `group_of` (n,) the group of each one's references. `weights` (groups,)
    says how many documents of the document corpus each group is, `documents` how many there are.
    """

    texts: list[str]
    candidates: Ints
    group_of: Ints
    groups: Groups
    weights: Ints
    documents: int
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        candidates: Sequence[str],
        references: Sequence[Sequence[str]],
        document_corpus: Sequence[Sequence[str]] | None = None,
    ) -> "Comparison":
        """Check and number the texts; InvalidInput says what is wrong with them.

        Without a document corpus the references of every candidate are one document, as the MS COCO
        evaluation counts them.
        """
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
        group_of = documents = table.add_lists(references, "references")
        if document_corpus is not None:
            if len(document_corpus) == 0:
                raise InvalidInput("document_corpus is empty, expected a list of references for each image")
            documents = table.add_lists(document_corpus, "document_corpus")
        groups = table.groups
        weights = np.bincount(documents, minlength=groups.count).astype(np.int64)
        return cls(table.texts, numbered, group_of, groups, weights, documents.size)

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.candidates.size

    @property
    def distinct_documents(self) -> int:
        """How many different documents the document corpus holds."""
        return int(np.count_nonzero(self.weights))

    @cached_property
    def reference_counts(self) -> Ints:
        """(n,) int64: references of each candidate."""
        return self.groups.sizes[self.group_of]

    @cached_property
    def pair_starts(self) -> Ints:
        """(n,) int64: where the pairs of each candidate with its references begin."""
        return np.cumsum(self.reference_counts) - self.reference_counts

    @cached_property
    def pair_references(self) -> Ints:
        """(pairs,) int64: the reference text of each pair."""
        return self.groups.texts[ranges(self.groups.starts[self.group_of], self.reference_counts)]

    @cached_property
    def candidates_of_group(self) -> Ints:
        """(groups,) int64: how many candidates are held against each group."""
        return np.bincount(self.group_of, minlength=self.groups.count).astype(np.int64)

    @cached_property
    def member_starts(self) -> Ints:
        """(groups + 1,): a group's references come first, then the candidates that are held against them."""
        return np.concatenate(([0], np.cumsum(self.groups.sizes + self.candidates_of_group)))

    @cached_property
    def candidate_members(self) -> Ints:
        """(n,): the place of each candidate among the members."""
        counts = self.candidates_of_group
        order = np.argsort(self.group_of, kind="stable")
        rank = np.empty(self.size, dtype=np.int64)
        rank[order] = np.arange(self.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.member_starts[self.group_of] + self.reference_counts + rank

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
        texts[self.candidate_of < 0] = self.groups.texts
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
        stream = self.once(
            ("stream", view), lambda: Stream(self.words(view), self.member_texts, self.member_starts)
        )
        return stream.entries(order)

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
        offset = self.pair_starts - self.member_starts[self.group_of]
        for mine, first, many in blocks:
            own, theirs = np.repeat(mine, many), ranges(first, many)
            yield own, theirs, offset[candidate[own]] + entries.member[theirs]

    def document_frequencies(self, view: View, order: int) -> Ints:
        """(distinct n-grams,) int64: in how many documents each n-gram of one order occurs."""
        return self.once(("df", view, order), lambda: self._count_documents(view, order))

    def _count_documents(self, view: View, order: int) -> Ints:
        entries = self.entries(view, order)
        first = entries.member[entries.segments]
        # A group's references come first: where the first entry is a candidate's, no reference has it.
        held = self.candidate_of[first] < 0
        group_of_member = np.repeat(np.arange(self.groups.count), np.diff(self.member_starts))
        weights = self.weights[group_of_member[first[held]]]
        counts = np.bincount(entries.gram[entries.segments[held]], weights, minlength=entries.distinct)
        # Exact: sums of integers far below 2 ** 53.
        return counts.astype(np.int64)
