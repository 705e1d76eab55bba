"""Captions as numbers: every text is tokenised and numbered once, for all metrics.

Arrow cuts the texts at blanks; the tokenizer sees each distinct piece once. Only a caption with a piece that
depends on its neighbours is tokenised as a whole.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evaluation.arrays import Flags, Ints
from evaluation.compiled import compiled
from evaluation.metrics.text.tokenizers import Tokenizer

Numbers = NDArray[np.int32]

BLOCK = 1 << 14  # texts cut at once; bounds the memory, and the pieces of a block stay in the cache


class Words:
    """Tokenised texts as word numbers.

    words: (tokens,) int32, text after text. starts: (texts + 1,) int64. vocabulary: the word of each number.
    """

    def __init__(self, words: Numbers, starts: Ints, vocabulary: Sequence[str]) -> None:
        self.words = words
        self.starts = starts
        self.vocabulary = vocabulary

    @cached_property
    def lengths(self) -> Ints:
        """Return (texts,) int64: tokens of each text."""
        return np.diff(self.starts)

    def mapped(self, change: Callable[[Sequence[str]], Sequence[str]]) -> "Words":
        """Return the texts with every word of the vocabulary changed, for example stemmed."""
        numbers: dict[str, int] = {}
        new = [numbers.setdefault(word, len(numbers)) for word in change(self.vocabulary)]
        return Words(np.array(new, dtype=np.int32)[self.words], self.starts, list(numbers))

    def without(self, is_dropped: Flags) -> "Words":
        """Return the texts without the words marked in `is_dropped` (vocabulary,)."""
        if not is_dropped.any():
            return self
        return Words(*_left_over(self.words, self.starts, is_dropped), self.vocabulary)


class Pieces:
    """Texts cut at blanks, before tokenising.

    numbers: (pieces,) int32, text after text. starts: (texts + 1,) int64. distinct: the text of each number.
    Blanks at the ends of a text give empty pieces.
    """

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        known: dict[str, int] = {}
        # Room for the most pieces there can be: words of one letter, and of blanks at the end of a text Arrow makes
        # two empty pieces. Memory that is never written to costs nothing.
        numbers = np.empty(sum(map(len, texts)) // 2 + 2 * len(texts), dtype=np.int32)
        starts = np.zeros(len(texts) + 1, dtype=np.int64)
        for first in range(0, len(texts), BLOCK):
            block = texts[first : first + BLOCK]
            cut = pc.utf8_split_whitespace(_arrow(block))
            coded = cut.flatten().dictionary_encode()
            here = [known.setdefault(piece, len(known)) for piece in coded.dictionary.to_pylist()]
            codes = coded.indices.to_numpy(zero_copy_only=False)
            total = starts[first]
            numbers[total : total + codes.size] = np.array(here, dtype=np.int32)[codes]
            starts[first + 1 : first + len(block) + 1] = total + cut.offsets.to_numpy()[1:]
        self.numbers: Numbers = numbers[: starts[-1]]
        self.starts: Ints = starts
        self.distinct = list(known)

    def words(self, tokenizer: Tokenizer) -> Words:
        known: dict[str, int] = {}
        made: list[int] = []
        ends = np.zeros(len(self.distinct) + 1, dtype=np.int64)
        hangs_together = np.zeros(len(self.distinct), dtype=np.bool_)
        for number, piece in enumerate(self.distinct):
            tokens = tokenizer.piece(piece)
            if tokens is None:
                hangs_together[number] = True
            else:
                made.extend([known.setdefault(token, len(known)) for token in tokens])
            ends[number + 1] = len(made)
        words_of_piece = np.array(made, dtype=np.int32)
        words, starts, whole = _replaced(self.numbers, self.starts, words_of_piece, ends, hangs_together)
        if whole.size:
            words, starts = self._with_whole(words, starts, whole, tokenizer, known)
        return Words(words, starts, list(known))

    def _with_whole(
        self, words: Numbers, starts: Ints, whole: Ints, tokenizer: Tokenizer, known: dict[str, int]
    ) -> tuple[Numbers, Ints]:
        """Insert the texts `whole`, which are tokenised as a whole."""
        parts, lengths, at = [], np.diff(starts), 0
        for text in whole.tolist():
            own = [known.setdefault(token, len(known)) for token in tokenizer.tokens(self._texts[text])]
            parts += [words[at : starts[text]], np.array(own, dtype=np.int32)]
            lengths[text] = len(own)
            at = starts[text + 1]
        return np.concatenate([*parts, words[at:]]), starts_of(lengths)


def _arrow(texts: list[str]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        # Half of a surrogate pair, from a text that was cut in the middle, is a mark like any unknown one.
        whole = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        return pa.array(whole, pa.large_string())


@compiled
def _left_over(words: Numbers, starts: Ints, is_dropped: Flags) -> tuple[Numbers, Ints]:
    """Return the words that are not dropped, and the new starts."""
    left = np.empty(words.size, dtype=np.int32)
    new_starts = np.zeros(starts.size, dtype=np.int64)
    place = 0
    for text in range(starts.size - 1):
        for at in range(starts[text], starts[text + 1]):
            if not is_dropped[words[at]]:
                left[place] = words[at]
                place += 1
        new_starts[text + 1] = place
    return left[:place].copy(), new_starts


@compiled
def _replaced(
    pieces: Numbers, starts: Ints, words_of_piece: Numbers, ends: Ints, hangs_together: Flags
) -> tuple[Numbers, Ints, Ints]:
    """Replace every piece by its words; also return the texts with a piece that depends on others."""
    count = starts.size - 1
    new_starts = np.zeros(count + 1, dtype=np.int64)
    whole = []
    for text in range(count):
        total = new_starts[text]
        together = False
        for at in range(starts[text], starts[text + 1]):
            total += ends[pieces[at] + 1] - ends[pieces[at]]
            together |= hangs_together[pieces[at]]
        if together:
            whole.append(text)
        new_starts[text + 1] = total
    words = np.empty(new_starts[count], dtype=np.int32)
    place = 0
    for at in range(starts[count]):
        for word in range(ends[pieces[at]], ends[pieces[at] + 1]):
            words[place] = words_of_piece[word]
            place += 1
    return words, new_starts, np.array(whole, dtype=np.int64)


def encode(texts: Iterable[str], tokenizer: Tokenizer) -> Words:
    return Pieces(list(texts)).words(tokenizer)


def starts_of(lengths: Sequence[int] | NDArray[np.integer]) -> Ints:
    """Return (lists + 1,) int64: the starts of adjacent lists, and the end of the last one."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return the numbers starts[0] to starts[0] + lengths[0] - 1, then those of the next pair, and so on."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
