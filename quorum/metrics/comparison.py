"""Candidates and references as numbered words, the common input of all metrics."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from quorum.metrics.inputs import InvalidInput
from quorum.metrics.text.changes import change_words
from quorum.metrics.text.tokenizers import Tokenizer
from quorum.metrics.text.tokens import TokenizedTexts, encode_texts, ranges
from quorum.numeric.arrays import Flags, Ints, Numbers, starts_of
from quorum.numeric.packing import declare

T = TypeVar("T")
TOKENS_PER_PART = 1 << 21  # words of references in one part of the work
MAX_TOKENS = 2**31 - 1  # n-grams are numbered in 32 bits


@dataclass(frozen=True)
class View:
    """Settings that say which words are counted: a tokenizer, and a key of `text.changes.CHANGES`."""

    tokenizer: Tokenizer
    change: str = "none"


@declare
class Task(NamedTuple):
    """Input of a kernel that works by group. `tokens` and `starts` are as in `TokenizedTexts`.

    Group g has the reference texts `references[g]` to `references[g + 1] - 1` and the candidate texts
    `candidates[candidate_starts[g]:candidate_starts[g + 1]]`.
    """

    tokens: Numbers
    starts: Ints
    references: Ints
    candidates: Ints
    candidate_starts: Ints


def parts_of_task(task: Task) -> list[tuple[int, int]]:
    """Return ranges of groups with about TOKENS_PER_PART words each, as pairs (first, end)."""
    first_words = task.starts[task.references]  # of each group, and the end of the last one
    limits = np.arange(first_words[0] + TOKENS_PER_PART, first_words[-1], TOKENS_PER_PART)
    bounds = np.unique([0, *np.searchsorted(first_words, limits), first_words.size - 1])
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def task_of_groups(task: Task, first: int, end: int) -> Task:
    """Return the task restricted to the groups first to end - 1."""
    starts = task.candidate_starts[first : end + 1]
    return task._replace(
        references=task.references[first : end + 1],
        candidates=task.candidates[starts[0] : starts[-1]],
        candidate_starts=starts - starts[0],
    )


class TextPairs(NamedTuple):
    """Input of a kernel that works by candidate. `tokens` and `starts` are as in `TokenizedTexts`.

    Candidate c is text c. Its pairs are `pair_starts[c]` to `pair_starts[c + 1] - 1`; pair p compares it with the
    text `references[p]`.
    """

    tokens: Numbers
    starts: Ints
    references: Ints
    pair_starts: Ints


@dataclass(frozen=True)
class Comparison:
    """Texts to score.

    The n candidates come first, then the texts of every group, which is a distinct list of references.

    group_of: (n,) group of each candidate. group_starts: (groups + 1,) first text of each group. weights: (groups,)
    number of documents that each group stands for, of `documents` in all.
    """

    texts: list[str]
    group_of: Ints
    group_starts: Ints
    weights: Ints
    documents: int
    _cache: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_texts(
        cls,
        candidates: Sequence[str],
        references: Sequence[Sequence[str]],
        document_corpus: Sequence[Sequence[str]] | None = None,
    ) -> "Comparison":
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
        return self.group_of.size

    @cached_property
    def reference_counts(self) -> Ints:
        return np.diff(self.group_starts)[self.group_of]

    @cached_property
    def pair_starts(self) -> Ints:
        return np.cumsum(self.reference_counts) - self.reference_counts

    @cached_property
    def pair_references(self) -> Ints:
        return ranges(self.group_starts[self.group_of], self.reference_counts)

    @cached_property
    def by_group(self) -> tuple[Ints, Ints]:
        """The (n,) positions of the candidates sorted by group, and the (groups + 1,) bounds of the groups."""
        order = np.argsort(self.group_of, kind="stable")
        counts = np.bincount(self.group_of, minlength=self.weights.size)
        return order, starts_of(counts)

    @cached_property
    def is_empty(self) -> Flags:
        """(n,) flags that say whether each candidate is empty."""
        return np.fromiter((not text.strip() for text in self.texts[: self.size]), bool, self.size)

    def without_empty(self) -> "Comparison":
        """Return the comparison of the candidates that are not empty, with the same documents."""
        filled = np.flatnonzero(~self.is_empty)
        return Comparison(
            [*(self.texts[index] for index in filled.tolist()), *self.texts[self.size :]],
            self.group_of[filled],
            self.group_starts - (self.size - filled.size),
            self.weights,
            self.documents,
        )

    def distinct_documents(self, enough: int) -> int:
        """Return the number of different documents; stop counting at `enough`."""
        distinct_texts: set[tuple[str, ...]] = set()
        bounds = self.group_starts.tolist()
        for group in np.flatnonzero(self.weights).tolist():
            distinct_texts.add(tuple(self.texts[bounds[group] : bounds[group + 1]]))
            if len(distinct_texts) == enough:
                break
        return len(distinct_texts)

    def cached_result(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result cached under the key, which metrics share. Call `make` for it if there is none yet."""
        if key not in self._cache:
            self._cache[key] = make()
        result: T = self._cache[key]
        return result

    def use_tokens(self, view: View, tokens: TokenizedTexts) -> None:
        """Let `tokens` return these words for a view, instead of tokenizing the texts."""
        self._cache["tokens", view] = tokens

    def tokens(self, view: View) -> TokenizedTexts:
        return self.cached_result(("tokens", view), lambda: self._tokenize(view))

    def _tokenize(self, view: View) -> TokenizedTexts:
        if view.change != "none":
            return change_words(self.tokens(View(view.tokenizer)), view.change)
        # The pieces into which `encode_texts` cuts texts are not cached. They are as large as the words, and cheap to
        # compute again for another tokenizer.
        tokens = encode_texts(self.texts, view.tokenizer)
        if tokens.tokens.size > MAX_TOKENS:
            raise InvalidInput(
                f"the captions hold {tokens.tokens.size:,} words, expected at most {MAX_TOKENS:,} at once"
            )
        return tokens

    def task(self, view: View) -> Task:
        tokens = self.tokens(view)
        candidates, candidate_starts = self.by_group
        return Task(tokens.tokens, tokens.starts, self.group_starts, candidates, candidate_starts)

    def pairs(self, view: View) -> TextPairs:
        tokens = self.tokens(view)
        bounds = np.append(self.pair_starts, self.pair_references.size)
        return TextPairs(tokens.tokens, tokens.starts, self.pair_references, bounds)


@dataclass(frozen=True)
class NumberedTexts:
    """Tokenized texts that are compared with many candidates, and the number of each word in the vocabulary."""

    view: View
    tokens: TokenizedTexts
    numbers: Mapping[str, int]

    @classmethod
    def from_texts(cls, texts: Sequence[str], view: View) -> "NumberedTexts":
        tokens = change_words(encode_texts(texts, view.tokenizer), view.change)
        return cls(view, tokens, {word: number for number, word in enumerate(tokens.vocabulary)})

    def with_texts_before(self, texts: Sequence[str]) -> TokenizedTexts:
        """Return numbered words in which `texts` precede the texts of this object."""
        before = change_words(encode_texts(texts, self.view.tokenizer), self.view.change)
        # Words keep the number that they have in this object; new words get the next numbers.
        new_words = [word for word in before.vocabulary if word not in self.numbers]
        new_numbers = {word: number for number, word in enumerate(new_words, len(self.numbers))}
        renumbered = [self.numbers.get(word, new_numbers.get(word)) for word in before.vocabulary]
        joined = np.concatenate([np.array(renumbered, dtype=np.int32)[before.tokens], self.tokens.tokens])
        starts = np.concatenate([before.starts, self.tokens.starts[1:] + before.starts[-1]])
        return TokenizedTexts(joined, starts, [*self.tokens.vocabulary, *new_words])


class Lists:
    """Numbers of lists of texts. The same list object always has the same number."""

    def __init__(self) -> None:
        self._lists: list[Sequence[str]] = []
        self._numbers_by_id: dict[int, int] = {}

    @property
    def texts(self) -> Iterable[str]:
        return chain.from_iterable(self._lists)

    @property
    def starts(self) -> Ints:
        return starts_of(np.fromiter(map(len, self._lists), dtype=np.int64, count=len(self._lists)))

    def add(self, lists: Sequence[Sequence[str]], what: str) -> Ints:
        """Return the (lists,) int64 numbers of the lists. Error messages call the lists `what`."""
        numbers_by_id = self._numbers_by_id
        numbers = np.empty(len(lists), dtype=np.int64)
        first_new = len(self._lists)
        all_lists = list(lists)
        for position, texts in enumerate(all_lists):
            number = numbers_by_id.get(id(texts))
            if number is None:
                if type(texts) is not list or not texts:
                    check_texts(texts, f"{what}[{position}]")
                # Keep a reference to the list, so that no other list can get its id().
                number = numbers_by_id[id(texts)] = len(self._lists)
                self._lists.append(texts)
            numbers[position] = number
        # Checking the types of all texts at once is faster than list by list.
        new_lists = self._lists[first_new:]
        if not set(map(type, chain.from_iterable(new_lists))) <= {str}:
            for position, texts in enumerate(all_lists):
                check_texts(texts, f"{what}[{position}]")
        return numbers


def check_lists(lists: object, what: str) -> None:
    if isinstance(lists, str | bytes) or not isinstance(lists, Sequence | np.ndarray):
        raise InvalidInput(f"{what} is a {type(lists).__name__}, expected a sequence of lists of str")
    if len(lists) == 0:
        raise InvalidInput(f"{what} is empty, expected a list of references for each image")


def check_texts(texts: object, where: str) -> None:
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence | np.ndarray):
        raise InvalidInput(f"{where} is a {type(texts).__name__}, expected a sequence of str")
    if len(texts) == 0:
        raise InvalidInput(f"{where} is empty, expected at least one text")
    if set(map(type, texts)) != {str}:
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise InvalidInput(f"{where}[{position}] is a {type(text).__name__}, expected str")
