"""Captions as numbers: every text is tokenised and numbered once, for all metrics.

Arrow cuts the texts at blanks, which all line breaks are; the tokenizer sees each distinct piece once. Only a caption
with a piece that depends on its neighbours is tokenised as a whole. docs/metrics.md describes `TOKENIZERS`; `CHANGES`
names what is done to words between tokenising and counting.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from string import ascii_lowercase, ascii_uppercase

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evaluation.metrics.errors import UnknownName
from evaluation.metrics.text import ptb, stemming
from evaluation.numeric.arrays import Flags, Ints, starts_of
from evaluation.numeric.compiled import compiled
from evaluation.numeric.parallel import map_parts

FIRST = "1.0"


@dataclass(frozen=True)
class Tokenizer:
    """`tokens` cuts a caption, `piece` a blank-separated piece, unless its words depend on its neighbours (None)."""

    name: str
    version: str
    tokens: Callable[[str], list[str]]
    piece: Callable[[str], list[str] | None]

    @property
    def label(self) -> str:
        return self.name if self.version == FIRST else f"{self.name}-{self.version}"


def _local(name: str, version: str, cut: Callable[[str], list[str]]) -> Tokenizer:
    return Tokenizer(name, version, cut, cut)


_WORD = re.compile(r"\w+")
_ALPHANUMERIC = re.compile(r"[^\W_]+")
_ASCII_ALPHANUMERIC = re.compile(r"[a-z0-9]+")
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def _h13(caption: str) -> list[str]:
    return _ALPHANUMERIC.findall(caption.lower())


def _rouge(caption: str) -> list[str]:
    # The script lower-cases ASCII letters alone and turns every other byte into a blank.
    return _ASCII_ALPHANUMERIC.findall(caption.translate(_ASCII_LOWER))


def _v15(caption: str) -> list[str]:
    return _WORD.findall(caption.lower())


TOKENIZERS = {
    tokenizer.name: tokenizer
    for tokenizer in (
        Tokenizer("ptb", FIRST, ptb.tokens, ptb.piece),
        _local("space", FIRST, str.split),
        _local("h13", FIRST, _h13),
        _local("rouge", FIRST, _rouge),
        _local("v15", FIRST, _v15),
    )
}


def tokenizer_labelled(label: object) -> Tokenizer:
    labels = {tokenizer.label: tokenizer for tokenizer in TOKENIZERS.values()}
    if label not in labels:
        raise UnknownName("tokenizer", label, labels)
    return labels[str(label)]


def tokenizer_named(name: str) -> Tokenizer:
    if name not in TOKENIZERS:
        raise UnknownName("tokenizer", name, TOKENIZERS)
    return TOKENIZERS[name]


Numbers = NDArray[np.int32]

BLOCK = 1 << 14  # texts cut at once; bounds the memory, and the pieces of a block stay in the cache
PART = 8  # blocks


class TokenizedTexts:
    """Texts as `tokens` (N,) int32, positions in `vocabulary`; text t begins at starts[t] (texts + 1,)."""

    def __init__(self, tokens: Numbers, starts: Ints, vocabulary: Sequence[str]) -> None:
        self.tokens = tokens
        self.starts = starts
        self.vocabulary = vocabulary

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    def mapped(self, change: Callable[[Sequence[str]], Sequence[str]]) -> "TokenizedTexts":
        numbers: dict[str, int] = {}
        new = [numbers.setdefault(word, len(numbers)) for word in change(self.vocabulary)]
        return TokenizedTexts(np.array(new, dtype=np.int32)[self.tokens], self.starts, list(numbers))

    def without(self, is_dropped: Flags) -> "TokenizedTexts":
        """Return the texts without the words marked in `is_dropped` (vocabulary,)."""
        if not is_dropped.any():
            return self
        return TokenizedTexts(*_left_over(self.tokens, self.starts, is_dropped), self.vocabulary)


Cut = tuple[pa.DictionaryArray, Ints]  # the pieces by number, and the end of each text


def _cut(texts: list[str], blocks: range) -> list[Cut]:
    return [_cut_block(texts[first : first + BLOCK]) for first in blocks]


def _cut_block(texts: list[str]) -> Cut:
    pieces = pc.utf8_split_whitespace(_arrow(texts))
    return pieces.flatten().dictionary_encode(), pieces.offsets.to_numpy()[1:]


class Pieces:
    """Texts cut at blanks, as `TokenizedTexts` are; blanks at the ends of a text give empty pieces."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        blocks = range(0, max(len(texts), 1), BLOCK)
        # One part unless there are many texts: processes cost more than they save.
        parts = [blocks[at : at + PART] for at in range(0, len(blocks), PART)]
        coded = []
        self.starts: Ints = np.zeros(len(texts) + 1, dtype=np.int64)
        cut = chain.from_iterable(map_parts(_cut, texts, parts, threads=True))
        for first, (pieces, ends) in zip(blocks, cut, strict=True):
            coded.append(pieces)
            self.starts[first + 1 : first + len(ends) + 1] = self.starts[first] + ends
        unified = pa.chunked_array(coded).unify_dictionaries()
        self.numbers: Numbers = np.concatenate([pieces.indices.to_numpy() for pieces in unified.chunks])
        self.distinct: list[str] = unified.chunk(0).dictionary.to_pylist()

    def tokenized(self, tokenizer: Tokenizer) -> TokenizedTexts:
        known: dict[str, int] = {}
        token_numbers: list[int] = []
        ends = np.zeros(len(self.distinct) + 1, dtype=np.int64)
        needs_context = np.zeros(len(self.distinct), dtype=np.bool_)
        for number, piece in enumerate(self.distinct):
            piece_tokens = tokenizer.piece(piece)
            if piece_tokens is None:
                needs_context[number] = True
            else:
                token_numbers.extend([known.setdefault(token, len(known)) for token in piece_tokens])
            ends[number + 1] = len(token_numbers)
        tokens_of_pieces = np.array(token_numbers, dtype=np.int32)
        tokens, starts, whole = _replaced(self.numbers, self.starts, tokens_of_pieces, ends, needs_context)
        if whole.size:
            tokens, starts = self._with_whole(tokens, starts, whole, tokenizer, known)
        return TokenizedTexts(tokens, starts, list(known))

    def _with_whole(
        self, tokens: Numbers, starts: Ints, whole: Ints, tokenizer: Tokenizer, known: dict[str, int]
    ) -> tuple[Numbers, Ints]:
        parts, lengths, at = [], np.diff(starts), 0
        for text in whole.tolist():
            numbers = [known.setdefault(token, len(known)) for token in tokenizer.tokens(self._texts[text])]
            parts += [tokens[at : starts[text]], np.array(numbers, dtype=np.int32)]
            lengths[text] = len(numbers)
            at = starts[text + 1]
        return np.concatenate([*parts, tokens[at:]]), starts_of(lengths)


def _arrow(texts: list[str]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        # Half of a surrogate pair, from a text that was cut in the middle, is a mark like any unknown one.
        whole = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        return pa.array(whole, pa.large_string())


@compiled
def _left_over(tokens: Numbers, starts: Ints, is_dropped: Flags) -> tuple[Numbers, Ints]:
    left = np.empty(tokens.size, dtype=np.int32)
    new_starts = np.zeros(starts.size, dtype=np.int64)
    end = 0
    for text in range(starts.size - 1):
        for at in range(starts[text], starts[text + 1]):
            if not is_dropped[tokens[at]]:
                left[end] = tokens[at]
                end += 1
        new_starts[text + 1] = end
    return left[:end].copy(), new_starts


@compiled
def _replaced(
    pieces: Numbers, starts: Ints, tokens_of_pieces: Numbers, ends: Ints, needs_context: Flags
) -> tuple[Numbers, Ints, Ints]:
    """Replace every piece by its tokens; also return the texts with a piece that depends on others."""
    count = starts.size - 1
    new_starts = np.zeros(count + 1, dtype=np.int64)
    whole = []
    for text in range(count):
        total = new_starts[text]
        is_whole = False
        for at in range(starts[text], starts[text + 1]):
            total += ends[pieces[at] + 1] - ends[pieces[at]]
            is_whole |= needs_context[pieces[at]]
        if is_whole:
            whole.append(text)
        new_starts[text + 1] = total
    tokens = np.empty(new_starts[count], dtype=np.int32)
    end = 0
    for at in range(starts[count]):
        for word in range(ends[pieces[at]], ends[pieces[at] + 1]):
            tokens[end] = tokens_of_pieces[word]
            end += 1
    return tokens, new_starts, np.array(whole, dtype=np.int64)


def encode(texts: Iterable[str], tokenizer: Tokenizer) -> TokenizedTexts:
    return Pieces(list(texts)).tokenized(tokenizer)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return starts[0] to starts[0] + lengths[0] - 1, then those of the next pair, and so on."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)


STOP_FIRST = "stop-first"
STEM_FIRST = "stem-first"

Step = Callable[[TokenizedTexts], TokenizedTexts]


def _stemmed(stem: Callable[..., list[str]]) -> Step:
    return lambda texts: texts.mapped(stem)


def _without(texts: TokenizedTexts, dropped: Callable[[], frozenset[str]]) -> TokenizedTexts:
    listed = dropped()
    return texts.without(np.array([word in listed for word in texts.vocabulary], dtype=np.bool_))


_STOP: Step = partial(_without, dropped=stemming.smart_stop_words)
# By the paper's rules nothing is left of the word `s`; programs that join stems with blanks lose it.
_EMPTY: Step = partial(_without, dropped=lambda: frozenset([""]))
_PORTER = _stemmed(stemming.porter)
_ROUGE, _WORDNET = _stemmed(stemming.rouge_stems), _stemmed(stemming.rouge_wordnet_stems)

CHANGES: dict[str, tuple[Step, ...]] = {
    "none": (),
    "porter": (_PORTER,),
    "porter-1980": (_stemmed(stemming.porter_1980), _EMPTY),
    STOP_FIRST: (_STOP, _ROUGE),
    # The order that fits the filter figures printed in H13 §4.3.2; short words are stemmed as well.
    STEM_FIRST: (_PORTER, _STOP),
    # What the ROUGE-1.5.5 script does: stop words kept or dropped, then stems (see `stemming`).
    "rouge-keep-none": (),
    "rouge-keep-porter": (_ROUGE,),
    "rouge-keep-wordnet": (_WORDNET,),
    "rouge-drop-none": (_STOP,),
    "rouge-drop-porter": (_STOP, _ROUGE),
    "rouge-drop-wordnet": (_STOP, _WORDNET),
}


def changed(texts: TokenizedTexts, change: str) -> TokenizedTexts:
    if change not in CHANGES:
        raise UnknownName("change of words", change, CHANGES)
    for step in CHANGES[change]:
        texts = step(texts)
    return texts


Table = NDArray[np.int32]


@compiled
def trie_bits(nodes: int) -> int:
    """Return the size of a table that so many nodes fill by half at most, as a power of two."""
    bits = 4
    while (1 << bits) < 2 * nodes:
        bits += 1
    return bits


@compiled
def empty_trie(nodes: int) -> Table:
    """Return a trie of n-grams in one hash table; node 0 is the root.

    A row is (owner, node, word, child). Rows of other owners count as free, so that nothing need be cleared.
    """
    return np.full((1 << trie_bits(nodes), 4), -1, dtype=np.int32)


@compiled
def child(trie: Table, bits: int, owner: int, node: int, word: int, new: int) -> int:
    """Return the child of a node by a word; without one, return `new`, and store it unless it is -1."""
    mask = (1 << bits) - 1
    # Both factors and both numbers are below 2 ** 31: nothing overflows.
    mixed = np.int64(node) * 1540483477 + np.int64(word) * 739982445
    slot = (mixed ^ (mixed >> 17)) & mask
    while trie[slot, 0] == owner:
        if trie[slot, 1] == node and trie[slot, 2] == word:
            return int(trie[slot, 3])
        slot = (slot + 1) & mask
    if new >= 0:
        trie[slot, 0] = owner
        trie[slot, 1] = node
        trie[slot, 2] = word
        trie[slot, 3] = new
    return new
