"""Candidates beside their references, in the numbered form that every metric counts on."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evaluation.arrays import Ints
from evaluation.metrics.errors import InvalidInput
from evaluation.metrics.text.changes import changed
from evaluation.metrics.text.tokenizers import Tokenizer
from evaluation.metrics.text.words import Numbers, Words, encode, ranges, starts_of

T = TypeVar("T")

MOST_WORDS = 2**31 - 1  # as many n-grams can be numbered in 32 bits


@dataclass(frozen=True)
class View:
    """Which words are counted: a tokenizer and the name of what is done to its words (see `changes`)."""

    tokenizer: Tokenizer
    change: str = "none"


class Task(NamedTuple):
    """What a kernel walks over, group by group: a group's references, then the candidates held against them.

    `words` and `starts` are those of `Words`. The references of group g are the texts `references[g]` to
    `references[g + 1] - 1`, its candidates `candidates[candidate_starts[g]]` to
    `candidates[candidate_starts[g + 1] - 1]`; a candidate's number is its text's.
    """

    words: Numbers
    starts: Ints
    references: Ints
    candidates: Ints
    candidate_starts: Ints


class Pairs(NamedTuple):
    """What a kernel walks over, candidate by candidate: each candidate beside each of its references.

    `words` and `starts` are those of `Words`; the first n texts are the candidates. Candidate c has the pairs
    `pair_starts[c]` to `pair_starts[c + 1] - 1`, whose references are the texts `references` (pairs,).
    """

    words: Numbers
    starts: Ints
    references: Ints
    pair_starts: Ints


@dataclass(frozen=True)
class Comparison:
    """What is scored.

    `texts` holds the n candidates, then the texts of every group (a list of references, kept once however
    often it is handed in). `group_of` (n,) is the group of each candidate's references, `group_starts`
    (groups + 1,) the text that each group begins with. `weights` (groups,) says how many documents of the
    document corpus each group is, `documents` how many there are.
    """

    texts: list[str]
    group_of: Ints
    group_starts: Ints
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
        check_lists(references, "references")
        if len(candidates) != len(references):
            raise InvalidInput(
                f"{len(candidates)} candidates but {len(references)} lists of references, expected as many"
            )
        table = Lists()
        group_of = documents = table.add(references, "references")
        if document_corpus is not None:
            check_lists(document_corpus, "document_corpus")
            documents = table.add(document_corpus, "document_corpus")
        group_starts = table.starts + len(candidates)
        weights = np.bincount(documents, minlength=group_starts.size - 1).astype(np.int64)
        return cls([*candidates, *table.texts], group_of, group_starts, weights, documents.size)

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.group_of.size

    @cached_property
    def reference_counts(self) -> Ints:
        """(n,) int64: references of each candidate."""
        return np.diff(self.group_starts)[self.group_of]

    @cached_property
    def pair_starts(self) -> Ints:
        """(n,) int64: where the pairs of each candidate with its references begin."""
        return np.cumsum(self.reference_counts) - self.reference_counts

    @cached_property
    def pair_references(self) -> Ints:
        """(pairs,) int64: the reference text of each pair."""
        return ranges(self.group_starts[self.group_of], self.reference_counts)

    @cached_property
    def by_group(self) -> tuple[Ints, Ints]:
        """The candidates (n,) group by group, and (groups + 1,) where those of each group begin."""
        order = np.argsort(self.group_of, kind="stable")
        counts = np.bincount(self.group_of, minlength=self.weights.size)
        return order, starts_of(counts)

    def distinct_documents(self, enough: int) -> int:
        """How many different documents the document corpus holds; the count stops at `enough`."""
        seen: set[tuple[str, ...]] = set()
        bounds = self.group_starts.tolist()
        for group in np.flatnonzero(self.weights).tolist():
            seen.add(tuple(self.texts[bounds[group] : bounds[group + 1]]))
            if len(seen) == enough:
                break
        return len(seen)

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
        if view.change != "none":
            return changed(self.words(View(view.tokenizer)), view.change)
        # Not kept: cutting again for another tokenizer is cheap, and the pieces are as large as the words.
        words = encode(self.texts, view.tokenizer)
        if words.words.size > MOST_WORDS:
            raise InvalidInput(
                f"the captions hold {words.words.size:,} words, expected at most {MOST_WORDS:,} at once"
            )
        return words

    def task(self, view: View) -> Task:
        """The words and who is held against whom, group by group."""
        words = self.words(view)
        candidates, candidate_starts = self.by_group
        return Task(words.words, words.starts, self.group_starts, candidates, candidate_starts)

    def pairs(self, view: View) -> Pairs:
        """The words and who is held against whom, candidate by candidate."""
        words = self.words(view)
        bounds = np.append(self.pair_starts, self.pair_references.size)
        return Pairs(words.words, words.starts, self.pair_references, bounds)


@dataclass(frozen=True)
class NumberedTexts:
    """Texts as the words of a view, cut once to have the texts of many comparisons put before them."""

    view: View
    words: Words
    numbers: Mapping[str, int]

    @classmethod
    def of(cls, texts: Sequence[str], view: View) -> "NumberedTexts":
        """Cut and number the texts."""
        words = changed(encode(texts, view.tokenizer), view.change)
        return cls(view, words, {word: number for number, word in enumerate(words.vocabulary)})

    def behind(self, texts: Sequence[str]) -> Words:
        """Number other texts' words, then those of these texts, in common."""
        own = changed(encode(texts, self.view.tokenizer), self.view.change)
        added: dict[str, int] = {}
        known = len(self.numbers)
        renumbered = [
            self.numbers[word] if word in self.numbers else added.setdefault(word, known + len(added))
            for word in own.vocabulary
        ]
        words = np.concatenate([np.array(renumbered, dtype=np.int32)[own.words], self.words.words])
        starts = np.concatenate([own.starts, self.words.starts[1:] + own.starts[-1]])
        return Words(words, starts, [*self.words.vocabulary, *added])


class Lists:
    """Numbers lists of texts; a list that is handed in many times is kept once."""

    def __init__(self) -> None:
        self._lists: list[Sequence[str]] = []
        self._known: dict[int, int] = {}

    @property
    def texts(self) -> Iterable[str]:
        """The texts of every list, one list after the other."""
        return chain.from_iterable(self._lists)

    @property
    def starts(self) -> Ints:
        """(lists + 1,) int64: the text that each list begins with."""
        return starts_of(np.fromiter(map(len, self._lists), dtype=np.int64, count=len(self._lists)))

    def add(self, lists: Sequence[Sequence[str]], what: str) -> Ints:
        """(lists,) int64: the number of each list. `what` names them in an error."""
        known = self._known
        numbers = np.empty(len(lists), dtype=np.int64)
        first_new = len(self._lists)
        kept = list(lists)
        for position, texts in enumerate(kept):
            number = known.get(id(texts))
            if number is None:
                if type(texts) is not list or not texts:
                    check_texts(texts, f"{what}[{position}]")
                # The list is kept, so that no other one can get its id().
                number = known[id(texts)] = len(self._lists)
                self._lists.append(texts)
            numbers[position] = number
        # A look at the kinds of all texts at once is cheaper than one at each list.
        new = self._lists[first_new:]
        if not set(map(type, chain.from_iterable(new))) <= {str}:
            for position, texts in enumerate(kept):
                check_texts(texts, f"{what}[{position}]")
        return numbers


def check_lists(lists: object, what: str) -> None:
    """Raise InvalidInput unless `lists` is a sequence with at least one element, whatever that is."""
    if isinstance(lists, str | bytes) or not isinstance(lists, Sequence | np.ndarray):
        raise InvalidInput(f"{what} is a {type(lists).__name__}, expected a sequence of lists of str")
    if len(lists) == 0:
        raise InvalidInput(f"{what} is empty, expected a list of references for each image")


def check_texts(texts: object, where: str) -> None:
    """Raise InvalidInput unless `texts` is a sequence of at least one str."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence | np.ndarray):
        raise InvalidInput(f"{where} is a {type(texts).__name__}, expected a sequence of str")
    if len(texts) == 0:
        raise InvalidInput(f"{where} is empty, expected at least one text")
    if set(map(type, texts)) != {str}:
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise InvalidInput(f"{where}[{position}] is a {type(text).__name__}, expected str")
