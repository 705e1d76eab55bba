"""Captions as numbers: every text is tokenised and numbered once, for all metrics.

The layout behind the speed: words are numbered once, n-grams of one order get consecutive numbers, and
whatever has to be grouped is packed into one 64-bit key and sorted by value. Sorting bare 64-bit values
is several times faster than sorting positions, so positions, where they are needed, are packed into the
low bits of the key.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

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


def dense_ranks(keys: Ints, key_bits: int) -> tuple[Ints, int]:
    """Number equal keys alike, in ascending order; also how many different ones there are.

    `keys` holds non-negative numbers below 2 ** key_bits.
    """
    position_bits = bits_for(keys.size)
    if key_bits + position_bits > KEY_BITS:
        distinct, ranks = np.unique(keys, return_inverse=True)
        return ranks.astype(np.int64), distinct.size
    packed = (keys << position_bits) | np.arange(keys.size)
    packed.sort()
    is_new = np.empty(keys.size, dtype=bool)
    is_new[:1] = True
    np.not_equal(packed[1:] >> position_bits, packed[:-1] >> position_bits, out=is_new[1:])
    ordered = np.cumsum(is_new)
    ranks = np.empty(keys.size, dtype=np.int64)
    ranks[packed & ((1 << position_bits) - 1)] = ordered - 1
    return ranks, int(ordered[-1]) if keys.size else 0


class Words:
    """Tokenised texts as word numbers, and their n-grams as n-gram numbers.

    `words` (tokens,) holds the texts one after the other, `starts` (texts + 1,) where each begins;
    `vocabulary` gives the word of each number.
    """

    def __init__(self, words: Ints, starts: Ints, vocabulary: Sequence[str]) -> None:
        self.words = words
        self.starts = starts
        self.vocabulary = vocabulary
        self._grams: dict[int, tuple[Ints, int]] = {}

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

    def grams(self, order: int) -> tuple[Ints, int]:
        """The n-gram number that starts at each token, and how many different n-grams there are.

        Where a text ends before the n-gram does, the number means nothing.
        """
        if order not in self._grams:
            self._grams[order] = self._number_grams(order)
        return self._grams[order]

    def _number_grams(self, order: int) -> tuple[Ints, int]:
        if order == 1:
            return self.words, len(self.vocabulary)
        shorter, distinct = self.grams(order - 1)
        fits = ranges(self.starts[:-1], np.maximum(self.lengths - (order - 1), 0))
        vocabulary = max(len(self.vocabulary), 1)
        keys = shorter[fits] * vocabulary + self.words[fits + (order - 1)]
        ranks, count = dense_ranks(keys, bits_for(distinct * vocabulary))
        numbers = np.zeros(self.words.size, dtype=np.int64)
        numbers[fits] = ranks
        return numbers, count


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
    """Lists of texts, each kept once: what the candidates that share a reference list have in common.

    `texts` (members,) are text numbers, group after group, `starts` (groups + 1,) where each group begins.
    `of` (lists,) is the group of each list handed in and `weight` (groups,) how many lists it stands for.
    """

    texts: Ints
    starts: Ints
    of: Ints

    @cached_property
    def weight(self) -> Ints:
        return np.bincount(self.of, minlength=self.count).astype(np.int64)

    @property
    def count(self) -> int:
        return self.starts.size - 1

    @cached_property
    def sizes(self) -> Ints:
        return np.diff(self.starts)


class TextTable:
    """Numbers texts and lists of texts in the order of their first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        return list(self._numbers)

    def add(self, texts: Iterable[str]) -> Ints:
        """(texts,) int64: the number of each text."""
        numbers = self._numbers
        return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)

    def add_lists(self, lists: Sequence[Sequence[str]], what: str) -> Groups:
        """Number lists of texts; lists of equal content become one group."""
        lists = list(lists)  # keeps every list alive, so that no two share an id()
        number = self._numbers
        by_object: dict[int, int] = {}
        by_content: dict[tuple[int, ...], int] = {}
        members: list[int] = []
        starts = [0]
        of = np.empty(len(lists), dtype=np.int64)
        for position, texts in enumerate(lists):
            group = by_object.get(id(texts))
            if group is None:
                check_texts(texts, f"{what}[{position}]")
                content = tuple([number.setdefault(text, len(number)) for text in texts])
                group = by_content.setdefault(content, len(by_content))
                by_object[id(texts)] = group
                if group == len(starts) - 1:
                    members.extend(content)
                    starts.append(len(members))
            of[position] = group
        return Groups(np.array(members, dtype=np.int64), np.array(starts, dtype=np.int64), of)


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
    """Which member of which group holds which n-gram how often, sorted by group, n-gram and member.

    `gram`, `member`, `count` (entries,) int64; `segments` (segments,) int64: the first entry of each
    group and n-gram; `segment` (entries,): the segment of each entry.
    """

    gram: Ints
    member: Ints
    count: Ints
    segments: Ints
    segment: Ints

    @classmethod
    def of(cls, words: Words, order: int, texts: Ints, starts: Ints) -> "Entries":
        """Count the n-grams of `texts` (members,), grouped by `starts` (groups + 1,)."""
        sizes = np.diff(starts)
        group = np.repeat(np.arange(sizes.size), sizes)
        slot = np.arange(texts.size) - starts[group]
        grams, distinct = words.grams(order)
        lengths = np.maximum(words.lengths[texts] - (order - 1), 0)
        posted = grams[ranges(words.starts[texts], lengths)]
        slot_bits = bits_for(int(sizes.max(initial=1)))
        gram_bits = bits_for(distinct)
        if bits_for(sizes.size) + gram_bits + slot_bits > KEY_BITS:
            raise InvalidInput("too many captions at once: score them in several calls")
        key = np.repeat(group << (gram_bits + slot_bits) | slot, lengths) | (posted << slot_bits)
        key.sort()
        first = _run_starts(key)
        count = np.diff(first, append=key.size)
        key = key[first]
        segment_key = key >> slot_bits
        segments = _run_starts(segment_key)
        segment = np.repeat(np.arange(segments.size), np.diff(segments, append=key.size))
        member = starts[segment_key >> gram_bits] + (key & ((1 << slot_bits) - 1))
        return cls(segment_key & ((1 << gram_bits) - 1), member, count, segments, segment)


def _run_starts(ordered: Ints) -> Ints:
    """Where each run of equal numbers begins."""
    is_first = np.empty(ordered.size, dtype=bool)
    is_first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)
