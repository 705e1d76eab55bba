"""Captions as numbers: every text is tokenised and numbered once, for all metrics.

The layout behind the speed: words are numbered once and all texts stand one after the other, group by
group. The n-grams of one order are grouped by sorting one 64-bit key a token: the number of the n-gram that is
one word shorter, the next word, and in the low bits the token's place. Sorting bare values is faster than
sorting places by a key, and as places ascend by group and text, one sort groups by n-gram, group and text.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.errors import InvalidInput
from evaluation.metrics.text import Tokenizer

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
KEY_BITS = 63


def bits_for(count: int) -> int:
    """Bits that hold the numbers 0 .. count - 1."""
    return max(int(count) - 1, 0).bit_length()


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The numbers starts[0] .. starts[0] + lengths[0] - 1, then those of the next pair, and so on."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)


class Words:
    """Tokenised texts as word numbers.

    `words` (tokens,) holds the texts one after the other, `starts` (texts + 1,) where each begins;
    `vocabulary` gives the word of each number.
    """

    def __init__(self, words: Ints, starts: Ints, vocabulary: Sequence[str]) -> None:
        self.words = words
        self.starts = starts
        self.vocabulary = vocabulary

    @cached_property
    def lengths(self) -> Ints:
        """(texts,) int64: tokens of each text."""
        return np.diff(self.starts)

    def mapped(self, change: Callable[[Sequence[str]], Sequence[str]]) -> "Words":
        """The same texts with every word of the vocabulary changed, for example stemmed."""
        numbers: dict[str, int] = {}
        new = [numbers.setdefault(word, len(numbers)) for word in change(self.vocabulary)]
        return Words(np.array(new, dtype=np.int64)[self.words], self.starts, list(numbers))

    def without(self, is_dropped: Flags) -> "Words":
        """The same texts without the words marked in `is_dropped` (vocabulary,)."""
        kept = ~is_dropped[self.words]
        before = np.concatenate(([0], np.cumsum(kept)))
        return Words(self.words[kept], before[self.starts], self.vocabulary)


# What a blank-separated piece of a caption turns into: the number of its word, no word, or several.
_NO_WORD = -1
_SEVERAL = -2


class _Pieces(dict[str, int]):
    """Remembers what each distinct piece of the captions becomes, so that it is tokenised once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}
        self._tokenizer = tokenizer

    def __missing__(self, piece: str) -> int:
        tokens = self._tokenizer.piece(piece)
        if tokens is None or len(tokens) > 1:
            code = _SEVERAL
        elif tokens:
            code = self.number(tokens[0])
        else:
            code = _NO_WORD
        self[piece] = code
        return code

    def number(self, word: str) -> int:
        return self.numbers.setdefault(word, len(self.numbers))


def encode(texts: Sequence[str], tokenizer: Tokenizer) -> Words:
    """Tokenise and number the texts."""
    pieces = _Pieces(tokenizer)
    look_up = pieces.__getitem__
    flat: list[int] = []
    ends = [0]
    for text in texts:
        flat.extend(map(look_up, text.split()))
        ends.append(len(flat))
    codes = np.array(flat, dtype=np.int64)
    piece_starts = np.array(ends, dtype=np.int64)
    before = np.concatenate(([0], np.cumsum(codes >= 0)))
    lengths = np.diff(before[piece_starts])
    several = np.concatenate(([0], np.cumsum(codes == _SEVERAL)))
    is_rare = np.diff(several[piece_starts]) > 0
    rare: list[int] = []
    for index in np.flatnonzero(is_rare).tolist():
        numbers = [pieces.number(token) for token in tokenizer.tokens(texts[index])]
        lengths[index] = len(numbers)
        rare.extend(numbers)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    words = np.empty(starts[-1], dtype=np.int64)
    from_rare = np.repeat(is_rare, lengths)
    words[from_rare] = rare
    words[~from_rare] = codes[(codes >= 0) & ~np.repeat(is_rare, np.diff(piece_starts))]
    return Words(words, starts, list(pieces.numbers))


@dataclass(frozen=True)
class Groups:
    """Lists of texts, each kept once.

    `texts` (members,) are text numbers, group after group, `starts` (groups + 1,) where each group begins.
    """

    texts: Ints
    starts: Ints

    @property
    def count(self) -> int:
        return self.starts.size - 1

    @cached_property
    def sizes(self) -> Ints:
        return np.diff(self.starts)


class TextTable:
    """Numbers texts, and lists of texts, in the order of their first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._by_content: dict[tuple[int, ...], int] = {}

    @property
    def texts(self) -> list[str]:
        return list(self._numbers)

    @property
    def groups(self) -> Groups:
        """The different lists that were added."""
        sizes = [len(content) for content in self._by_content]
        members = np.fromiter(chain.from_iterable(self._by_content), dtype=np.int64, count=sum(sizes))
        return Groups(members, np.cumsum([0, *sizes], dtype=np.int64))

    def add(self, texts: Iterable[str]) -> Ints:
        """(texts,) int64: the number of each text."""
        numbers = self._numbers
        return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)

    def add_lists(self, lists: Sequence[Sequence[str]], what: str) -> Ints:
        """(lists,) int64: the group of each list; lists of equal content are one group.

        `what` names the lists in an error.
        """
        lists = list(lists)  # keeps every list alive, so that no two share an id()
        numbers, by_content = self._numbers, self._by_content
        by_object: dict[int, int] = {}
        groups = np.empty(len(lists), dtype=np.int64)
        try:
            for position, texts in enumerate(lists):
                group = by_object.get(id(texts))
                if group is None:
                    if type(texts) is not list or not texts:
                        check_texts(texts, f"{what}[{position}]")
                    content = tuple([numbers.setdefault(text, len(numbers)) for text in texts])
                    group = by_object[id(texts)] = by_content.setdefault(content, len(by_content))
                groups[position] = group
        except TypeError:  # something that has no hash is no text either
            _check_lists(lists, what)
            raise
        # A look at the kinds of all texts at once is cheaper than one at each list.
        if not all(issubclass(kind, str) for kind in set(map(type, numbers))):
            _check_lists(lists, what)
        return groups


def _check_lists(lists: Sequence[object], what: str) -> None:
    for position, texts in enumerate(lists):
        check_texts(texts, f"{what}[{position}]")


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


@dataclass(frozen=True)
class Entries:
    """Which member of which group holds which n-gram how often, sorted by n-gram, group and member.

    `gram`, `member`, `count` (entries,) int64; `segments` (segments,) int64: the first entry of each
    n-gram and group; `segment` (entries,) int64: the segment of each entry; `distinct`: how many different
    n-grams there are, numbered from 0.
    """

    gram: Ints
    member: Ints
    count: Ints
    segments: Ints
    segment: Ints
    distinct: int


class Stream:
    """The texts of every member of every group one after the other, and their n-grams.

    `texts` (members,) are text numbers, `starts` (groups + 1,) where each group begins.
    """

    def __init__(self, words: Words, texts: Ints, starts: Ints) -> None:
        self._lengths = words.lengths[texts]
        self._begins = np.cumsum(self._lengths) - self._lengths
        self._words = words.words[ranges(words.starts[texts], self._lengths)]
        self._vocabulary = max(len(words.vocabulary), 1)
        self._member = np.repeat(np.arange(texts.size), self._lengths)
        self._group = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        self._entries: list[Entries] = []
        # The number of the longest n-gram counted so far that begins at each token.
        self._grams = np.zeros(self._words.size, dtype=np.int64)

    def entries(self, order: int) -> Entries:
        """The n-grams of one order; those of lower orders are counted on the way."""
        while len(self._entries) < order:
            self._entries.append(self._count(len(self._entries) + 1))
        return self._entries[order - 1]

    def _count(self, order: int) -> Entries:
        at = ranges(self._begins, np.maximum(self._lengths - (order - 1), 0))
        shorter = self._entries[-1].distinct if self._entries else 1
        keys = self._grams[at] * self._vocabulary + self._words[at + (order - 1)]
        at, is_new = _grouped(keys, bits_for(shorter * self._vocabulary), at, self._words.size)
        gram = np.cumsum(is_new) - 1
        self._grams[at] = gram
        member = self._member[at]
        is_entry = is_new.copy()
        is_entry[1:] |= member[1:] != member[:-1]
        first = np.flatnonzero(is_entry)
        member, is_segment = member[first], is_new[first]
        group = self._group[member]
        is_segment[1:] |= group[1:] != group[:-1]
        return Entries(
            gram=gram[first],
            member=member,
            count=np.diff(first, append=at.size),
            segments=np.flatnonzero(is_segment),
            segment=np.cumsum(is_segment) - 1,
            distinct=int(gram[-1]) + 1 if gram.size else 0,
        )


def _grouped(keys: Ints, key_bits: int, places: Ints, end: int) -> tuple[Ints, Flags]:
    """Places sorted by key and then by place, and which of them are the first of their key.

    `keys` are below 2 ** key_bits, `places` ascend and are below `end`.
    """
    place_bits = bits_for(end)
    if key_bits + place_bits <= KEY_BITS:
        packed = (keys << place_bits) | places
        packed.sort()
        places = packed & ((1 << place_bits) - 1)
        keys = packed >> place_bits
    else:
        order = np.argsort(keys, kind="stable")
        places, keys = places[order], keys[order]
    is_new = np.empty(keys.size, dtype=bool)
    is_new[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    return places, is_new
