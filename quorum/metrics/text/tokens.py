"""Tokenize texts, and number the words.

Arrow cuts the texts at blanks, line breaks included, and the tokenizer cuts each distinct piece once. Before that,
neighbouring pieces that may change each other's tokens are joined (`ptb_joints`), by the bits of `Tokenizer.edges`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain, compress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quorum.metrics.text.ptb_joints import find_joints
from quorum.metrics.text.tokenizers import Tokenizer
from quorum.numeric.arrays import Flags, Ints, Numbers, joined_ranges, starts_of
from quorum.numeric.compiling import compiled
from quorum.numeric.packing import declare, declare_kind
from quorum.numeric.parallel import map_parts

TEXTS_PER_BLOCK = 1 << 14  # number of texts cut at once; their pieces fit into the processor's cache
BLOCKS_PER_PART = 8  # number of blocks in one part of the work
# The numbered pieces of a block of texts, and the end of each text.
BlockPieces = tuple[pa.DictionaryArray, Ints]

# Pieces are sent to other processes as their numbers and the list of distinct pieces.
declare_kind(
    pa.DictionaryArray,
    lambda pieces: [pieces.indices.to_numpy(), pieces.dictionary.to_pylist()],
    lambda parts: pa.DictionaryArray.from_arrays(parts[0], pa.array(parts[1], pa.large_string())),
)


@declare
class TokenizedTexts:
    """Texts as numbers of words. Text t is tokens[starts[t]:starts[t + 1]].

    tokens: (N,) int32 positions in `vocabulary`.
    """

    def __init__(self, tokens: Numbers, starts: Ints, vocabulary: Sequence[str]) -> None:
        self.tokens = tokens
        self.starts = starts
        self.vocabulary = vocabulary

    @cached_property
    def lengths(self) -> Ints:
        """The (texts,) numbers of words."""
        return np.diff(self.starts)

    def change_words(self, change: Callable[[Sequence[str]], Sequence[str]]) -> "TokenizedTexts":
        """Return the texts with other words. `change` maps the vocabulary to as many words, such as their stems."""
        number_by_word: dict[str, int] = {}
        new_numbers = [
            number_by_word.setdefault(word, len(number_by_word)) for word in change(self.vocabulary)
        ]
        tokens = np.array(new_numbers, dtype=np.int32)[self.tokens]
        return TokenizedTexts(tokens, self.starts, list(number_by_word))

    def drop_words(self, is_dropped: Flags) -> "TokenizedTexts":
        """Return the texts without the words for which `is_dropped` (vocabulary,) is true."""
        if not is_dropped.any():
            return self
        return TokenizedTexts(*_drop_tokens(self.tokens, self.starts, is_dropped), self.vocabulary)


@declare
def _cut_blocks(texts: list[str], blocks: range) -> list[BlockPieces]:
    return [_cut_block(texts[first_text : first_text + TEXTS_PER_BLOCK]) for first_text in blocks]


def _cut_block(texts: list[str]) -> BlockPieces:
    pieces = pc.utf8_split_whitespace(_arrow_array(texts))
    return pieces.flatten().dictionary_encode(), pieces.offsets.to_numpy()[1:]


class TextPieces:
    """Texts cut at blanks into pieces. Blanks at the ends of a text give empty pieces.

    numbers: (N,) positions in `distinct`, the distinct pieces. starts: as in `TokenizedTexts`.
    """

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        blocks = range(0, max(len(texts), 1), TEXTS_PER_BLOCK)  # by the position of their first text
        # Few texts are one part, because further threads would cost more than they save.
        parts = [blocks[start : start + BLOCKS_PER_PART] for start in range(0, len(blocks), BLOCKS_PER_PART)]
        chunks = []
        self.starts: Ints = np.zeros(len(texts) + 1, dtype=np.int64)
        pieces_of_blocks = chain.from_iterable(map_parts(_cut_blocks, texts, parts, threads=True))
        for first, (pieces, ends) in zip(blocks, pieces_of_blocks, strict=True):
            chunks.append(pieces)
            self.starts[first + 1 : first + len(ends) + 1] = self.starts[first] + ends
        array = pa.chunked_array(chunks).unify_dictionaries()
        self.numbers: Numbers = np.concatenate([pieces.indices.to_numpy() for pieces in array.chunks])
        self.distinct: list[str] = array.chunk(0).dictionary.to_pylist()

    def tokenize_pieces(self, tokenizer: Tokenizer) -> TokenizedTexts:
        numbers, starts, distinct = self.numbers, self.starts, self.distinct
        if tokenizer.edges is not None:
            edge_bits = np.fromiter(map(tokenizer.edges, distinct), np.int32, len(distinct))
            is_joined = find_joints(numbers, starts, edge_bits)
            if is_joined.any():
                numbers, starts, distinct = self._join_pieces(is_joined)
        words_by_piece = [tokenizer.cut_piece(piece) for piece in distinct]
        words = list(chain.from_iterable(words_by_piece))
        vocabulary = list(dict.fromkeys(words))
        number_by_word = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        tokens_of_pieces = np.fromiter(map(number_by_word.__getitem__, words), np.int32, len(words))
        piece_starts = starts_of([len(piece_words) for piece_words in words_by_piece])
        return TokenizedTexts(*_replace_pieces(numbers, starts, tokens_of_pieces, piece_starts), vocabulary)

    def _join_pieces(self, is_joined: Flags) -> tuple[Numbers, Ints, list[str]]:
        """Return numbers, starts and distinct pieces, after joining each piece in `is_joined` to the one before.

        All pieces of a text from `_with_other_blanks` are joined, and marked in `is_joined`.
        """
        whole_texts = self._with_other_blanks(is_joined)
        for text in whole_texts:
            is_joined[self.starts[text] + 1 : self.starts[text + 1]] = True
        # A run is a piece with the joined pieces after it. Find the first piece and the length of each.
        joined_positions = np.flatnonzero(is_joined)
        # A joined piece is the second of its run if the piece before it is not joined; position 0 never is.
        is_second = np.diff(joined_positions, prepend=-1) > 1
        run_starts = joined_positions[is_second] - 1
        lengths = np.diff(np.flatnonzero(np.append(is_second, True))) + 1
        text_of_run = dict(zip(run_starts.tolist(), self._join_runs(run_starts, lengths), strict=True))
        # The pieces of a whole text are one run by now. Replace its text, which has other blanks.
        text_of_run |= {int(self.starts[text]): self._texts[text] for text in whole_texts}
        new_numbers = {
            run: number for number, run in enumerate(dict.fromkeys(text_of_run.values()), len(self.distinct))
        }
        # Replace the first piece of each run by the run, and drop the others.
        numbers = self.numbers.copy()
        numbers[run_starts] = [new_numbers[run] for run in text_of_run.values()]
        numbers, distinct = _drop_unused(numbers[~is_joined], [*self.distinct, *new_numbers])
        dropped_before = np.searchsorted(joined_positions, self.starts)  # number of pieces
        return numbers, self.starts - dropped_before, distinct

    def _with_other_blanks(self, is_joined: Flags) -> list[int]:
        """Return the positions of texts with joined pieces, and with blanks other than single ones.

        `_join_runs` cannot restore these texts.
        """
        joined_counts = np.diff(np.searchsorted(np.flatnonzero(is_joined), self.starts))  # of each text
        texts = np.flatnonzero(joined_counts).tolist()
        return [text for text in texts if not _has_single_blanks(self._texts[text])]

    def _join_runs(self, starts: Ints, lengths: Ints) -> list[str]:
        """Return the text of each run of pieces, with single blanks between them."""
        pieces = pa.array(self.distinct, pa.large_string()).take(self.numbers[joined_ranges(starts, lengths)])
        lists = pa.ListArray.from_arrays(pa.array(starts_of(lengths), pa.int32()), pieces)
        texts: list[str] = pc.binary_join(lists, pa.scalar(" ", pa.large_string())).to_pylist()
        return texts


def _has_single_blanks(text: str) -> bool:
    # The first test is quicker, and suffices for most texts: printable ones have no other blanks than spaces.
    return (text.isprintable() and "  " not in text) or " ".join(text.split()) == text.strip()


def _drop_unused(numbers: Numbers, pieces: list[str]) -> tuple[Numbers, list[str]]:
    """Return only the pieces that `numbers` use, and their new numbers."""
    is_used = np.zeros(len(pieces), dtype=np.bool_)
    is_used[numbers] = True
    return (np.cumsum(is_used, dtype=np.int32) - 1)[numbers], list(compress(pieces, is_used.tolist()))


def _arrow_array(texts: list[str]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        # Half of a surrogate pair, from a text that was cut in the middle of a character, becomes U+FFFD.
        whole_texts = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        return pa.array(whole_texts, pa.large_string())


@compiled
def _drop_tokens(tokens: Numbers, starts: Ints, is_dropped: Flags) -> tuple[Numbers, Ints]:
    """Return the texts without the tokens whose word is dropped, as tokens and starts."""
    kept_tokens = np.empty(tokens.size, dtype=np.int32)
    new_starts = np.zeros(starts.size, dtype=np.int64)
    end = 0
    for text in range(starts.size - 1):
        for position in range(starts[text], starts[text + 1]):
            if not is_dropped[tokens[position]]:
                kept_tokens[end] = tokens[position]
                end += 1
        new_starts[text + 1] = end
    return kept_tokens[:end].copy(), new_starts


@compiled
def _replace_pieces(
    pieces: Numbers, starts: Ints, tokens_of_pieces: Numbers, piece_starts: Ints
) -> tuple[Numbers, Ints]:
    """Return the texts with every piece replaced by its tokens, as tokens and starts.

    Piece p has the tokens tokens_of_pieces[piece_starts[p]:piece_starts[p + 1]].
    """
    text_count = starts.size - 1
    new_starts = np.zeros(text_count + 1, dtype=np.int64)
    for text in range(text_count):
        end = new_starts[text]
        for position in range(starts[text], starts[text + 1]):
            end += piece_starts[pieces[position] + 1] - piece_starts[pieces[position]]
        new_starts[text + 1] = end
    tokens = np.empty(new_starts[text_count], dtype=np.int32)
    end = 0
    for position in range(starts[text_count]):
        for index in range(piece_starts[pieces[position]], piece_starts[pieces[position] + 1]):
            tokens[end] = tokens_of_pieces[index]
            end += 1
    return tokens, new_starts


def encode_texts(texts: Iterable[str], tokenizer: Tokenizer) -> TokenizedTexts:
    return TextPieces(list(texts)).tokenize_pieces(tokenizer)
