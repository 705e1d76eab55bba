"""Number the n-grams of texts, and count the documents that contain each n-gram.

N-grams are numbered over all texts, one order after the other: an n-gram is its first n - 1 words, which have a number
already, with its last word. If the first or the last n - 1 words occur only once, the n-gram occurs only once too. It
is marked SINGLE_OCCURRENCE and never looked up. The other n-grams of an order are divided into buckets of about
TOKENS_PER_BUCKET tokens by a hash, so that equal n-grams have the same bucket. The hash table that numbers the n-grams
of a bucket stays small, and buckets are numbered at the same time.

An n-gram is stored at the position of its first token, so that arrays of n-grams are as long as the array of tokens.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from quorum.metrics.text.tokens import TokenizedTexts
from quorum.numeric.arrays import Flags, Ints, Numbers, starts_of
from quorum.numeric.compiling import compiled
from quorum.numeric.packing import declare
from quorum.numeric.parallel import Serial, map_parts

SINGLE_OCCURRENCE = -1  # an n-gram that occurs only once
TOKENS_PER_BUCKET = 1 << 22  # number of tokens whose n-grams are numbered at once
FREQUENCIES = -1  # stands for the part of the work that counts documents


class CountedNgrams(NamedTuple):
    """The n-grams of one order in all texts.

    numbers: (tokens,) number of the n-gram that begins at each token, or SINGLE_OCCURRENCE. An n-gram that occurs only
    once also has a number if both of its parts occur more often. frequencies: (distinct n-grams,) number of documents
    that contain the n-gram with each number.
    """

    order: int
    numbers: Numbers
    frequencies: Numbers


@declare
class Documents(NamedTuple):
    """The documents whose n-grams are counted. A document is a list of texts, such as the references of one image.

    A list object that is passed several times is stored once, as a group. Group g has the texts starts[g] to
    starts[g + 1] - 1, and counts[g] is the number of times that it is passed as a document.
    """

    starts: Ints
    counts: Ints


def count_ngrams(texts: TokenizedTexts, documents: Documents, highest_order: int) -> Iterator[CountedNgrams]:
    """Yield the n-grams of the orders 1 to `highest_order`."""
    numbers = texts.tokens
    is_repeated = _find_repeated(numbers, len(texts.vocabulary))
    for order in range(1, highest_order + 1):
        frequencies, next_numbers, next_is_repeated = _count_order(
            texts, documents, numbers, is_repeated, order, is_last=order == highest_order
        )
        yield CountedNgrams(order, numbers, frequencies)
        numbers, is_repeated = next_numbers, next_is_repeated


def _count_order(
    texts: TokenizedTexts,
    documents: Documents,
    grams: Numbers,
    is_repeated: Flags,
    order: int,
    *,
    is_last: bool,
) -> tuple[Numbers, Numbers, Flags]:
    """Return the document frequencies of an order, and the numbers and repetition flags of the next order's n-grams.

    `grams` are the numbers of the order's n-grams, and `is_repeated` says which of them occur more than once. For the
    last order, return these numbers and flags. Each bucket, and the frequencies, are parts of the work, which are done
    at the same time.
    """
    bucket_count = 1
    while bucket_count * TOKENS_PER_BUCKET < grams.size:
        bucket_count *= 2
    map_all = map_parts if bucket_count > 1 else Serial().map  # threads do not pay for one bucket
    ranges: list[BucketedPositions] = []
    if not is_last:
        shared = grams, texts.tokens, texts.starts, is_repeated, order + 1, bucket_count
        ranges = list(map_all(_bucket_texts, shared, _ranges_of_texts(texts.starts), threads=True))
    # The positions of each bucket in all ranges.
    buckets = [np.concatenate(arrays) for arrays in zip(*(part.positions for part in ranges), strict=True)]
    # Count the documents, and number the n-grams of each bucket from 0 on.
    shared_by_buckets = grams, texts, documents, is_repeated, order, buckets
    frequencies, *numbered_buckets = map_all(
        _count_part, shared_by_buckets, [FREQUENCIES, *range(len(buckets))], threads=True
    )
    if is_last:
        return frequencies, grams, is_repeated
    # Add the count of n-grams of earlier buckets to the numbers, and write them at their positions.
    numbers = [bucket_numbers for bucket_numbers, _ in numbered_buckets]
    first_numbers = starts_of([repeats.size for _, repeats in numbered_buckets])
    parts = map_all(_numbers_of_range, (ranges, numbers, first_numbers), range(len(ranges)), threads=True)
    next_numbers, end = np.empty(grams.size, dtype=np.int32), 0
    for part_numbers in parts:  # copied while other threads compute the next
        next_numbers[end : end + part_numbers.size] = part_numbers
        end += part_numbers.size
    return frequencies, next_numbers, np.concatenate([repeats for _, repeats in numbered_buckets])


def _ranges_of_texts(starts: Ints) -> list[tuple[int, int]]:
    """Return ranges of texts with about TOKENS_PER_BUCKET tokens each, as pairs (first, end)."""
    inner_bounds = np.searchsorted(starts, np.arange(TOKENS_PER_BUCKET, starts[-1], TOKENS_PER_BUCKET))
    return list(pairwise(np.unique([0, *inner_bounds, starts.size - 1]).tolist()))


@declare
class BucketedPositions(NamedTuple):
    """Positions of n-grams that may be repeated, one array per bucket, in a range of texts.

    The range has `token_count` tokens, and begins at the token `first`.
    """

    positions: list[Numbers]
    first: int
    token_count: int


@declare
def _bucket_texts(shared: tuple[Any, ...], text_range: tuple[int, int]) -> BucketedPositions:
    """Return the positions of the n-grams that may be repeated in a range of texts, by bucket."""
    grams, tokens, starts, is_repeated, order, bucket_count = shared
    positions, counts = _sort_into_buckets(
        grams, tokens, starts, is_repeated, order, bucket_count, *text_range
    )
    first, end = (int(starts[text]) for text in text_range)
    return BucketedPositions(np.split(positions, np.cumsum(counts)[:-1]), first, end - first)


@declare
def _numbers_of_range(shared: tuple[Any, ...], index: int) -> Numbers:
    """Return the number of the n-gram that begins at each token of a range of texts."""
    ranges, numbers, first_numbers = shared
    part = ranges[index]
    next_numbers = np.full(part.token_count, SINGLE_OCCURRENCE, dtype=np.int32)
    for bucket, positions in enumerate(part.positions):
        # The numbers of a bucket have the order of its positions in all ranges.
        earlier_count = sum(earlier_range.positions[bucket].size for earlier_range in ranges[:index])
        bucket_numbers = numbers[bucket][earlier_count:]
        _write_numbers(next_numbers, positions, part.first, bucket_numbers, first_numbers[bucket])
    return next_numbers


@declare
def _count_part(shared: tuple[Any, ...], part: int) -> Numbers | tuple[Numbers, Flags]:
    """Count documents if `part` is FREQUENCIES; otherwise number the n-grams of this bucket."""
    grams, texts, documents, is_repeated, order, buckets = shared
    if part == FREQUENCIES:
        return _document_frequencies(
            grams, texts.starts, documents.starts, documents.counts, is_repeated.size, order
        )
    return _number_bucket(grams, texts.tokens, buckets[part], order + 1)


@compiled
def _find_repeated(numbers: Numbers, size: int) -> Flags:
    """Return (size,) flags that say whether each number occurs more than once."""
    occurs, is_repeated = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    for number in numbers:
        is_repeated[number] |= occurs[number]
        occurs[number] = True
    return is_repeated


@compiled
def _sort_into_buckets(
    grams: Numbers,
    tokens: Numbers,
    starts: Ints,
    is_repeated: Flags,
    order: int,
    bucket_count: int,
    first: int,
    end: int,
) -> tuple[Numbers, Ints]:
    """Return the positions of n-grams that may be repeated, sorted by bucket, and how many there are in each bucket.

    The positions are those of the texts first to end - 1. The bucket of an n-gram is a hash of it. An n-gram of `order`
    words consists of the shorter n-gram that begins at its first word, and of its last word.
    """
    counts = np.zeros(bucket_count, dtype=np.int64)
    buckets = np.full(starts[end] - starts[first], -1, dtype=np.int16)
    for text in range(first, end):
        for position in range(starts[text], starts[text + 1] - order + 1):
            shorter, next_shorter = grams[position], grams[position + 1]
            if (
                shorter != SINGLE_OCCURRENCE
                and next_shorter != SINGLE_OCCURRENCE
                and is_repeated[shorter]
                and is_repeated[next_shorter]
            ):
                bucket = ((np.int64(shorter) * 31 + tokens[position + order - 1]) >> 6) & (bucket_count - 1)
                buckets[position - starts[first]] = bucket
                counts[bucket] += 1
    positions = np.empty(counts.sum(), dtype=np.int32)
    next_index = np.cumsum(counts) - counts  # of each bucket in `positions`
    for offset in range(buckets.size):
        bucket = buckets[offset]
        if bucket >= 0:
            positions[next_index[bucket]] = starts[first] + offset
            next_index[bucket] += 1
    return positions, counts


@compiled
def _write_numbers(
    next_numbers: Numbers, positions: Numbers, first: int, bucket_numbers: Numbers, first_number: int
) -> None:
    """Write the numbers of a bucket's n-grams at their positions, which are counted from the token `first`.

    `first_number` is the count of n-grams of earlier buckets.
    """
    for index in range(positions.size):
        next_numbers[positions[index] - first] = bucket_numbers[index] + first_number


@compiled
def _number_bucket(grams: Numbers, tokens: Numbers, positions: Numbers, order: int) -> tuple[Numbers, Flags]:
    """Return the number of the n-gram at each position, and whether each number is repeated.

    A row of the hash table is (number of the n-gram without its last word, last word, number of the n-gram).
    """
    numbers = np.empty(positions.size, dtype=np.int32)
    repeats = np.zeros(1 << 11, dtype=np.bool_)
    table = np.full((1 << 12, 3), -1, dtype=np.int32)
    known_count = 0
    for index in range(positions.size):
        shorter, word = grams[positions[index]], tokens[positions[index] + order - 1]
        slot = _slot(table, shorter, word)
        if table[slot, 2] < 0:
            if 2 * known_count >= table.shape[0]:
                table = _doubled_table(table)
                slot = _slot(table, shorter, word)
            if known_count == repeats.size:
                repeats = np.concatenate((repeats, np.zeros(known_count, dtype=np.bool_)))
            table[slot, 0] = shorter
            table[slot, 1] = word
            table[slot, 2] = known_count
            known_count += 1
        else:
            repeats[table[slot, 2]] = True
        numbers[index] = table[slot, 2]
    return numbers, repeats[:known_count].copy()


@compiled
def _slot(table: Numbers, shorter: int, word: int) -> int:
    """Return the slot of an n-gram in the hash table, or the free slot to store it in."""
    mask = table.shape[0] - 1
    # Any large odd factors mix the bits. Factors and numbers are below 2 ** 31, so that nothing overflows.
    mixed = np.int64(shorter) * 1540483477 + np.int64(word) * 739982445
    slot = (mixed ^ (mixed >> 17)) & mask
    while table[slot, 2] >= 0 and (table[slot, 0] != shorter or table[slot, 1] != word):
        slot = (slot + 1) & mask
    return slot


@compiled
def _doubled_table(table: Numbers) -> Numbers:
    larger = np.full((2 * table.shape[0], 3), -1, dtype=np.int32)
    for row in range(table.shape[0]):
        if table[row, 2] >= 0:
            larger[_slot(larger, table[row, 0], table[row, 1])] = table[row]
    return larger


@compiled
def _document_frequencies(
    grams: Numbers, starts: Ints, group_starts: Ints, document_counts: Ints, distinct: int, order: int
) -> Numbers:
    """Return (distinct,) document frequencies, where group g stands for document_counts[g] documents."""
    frequencies = np.zeros(distinct, dtype=np.int32)
    last_group = np.full(distinct, -1, dtype=np.int32)
    for group in range(document_counts.size):
        if document_counts[group] == 0:
            continue
        for text in range(group_starts[group], group_starts[group + 1]):
            for position in range(starts[text], starts[text + 1] - order + 1):
                gram = grams[position]
                if gram != SINGLE_OCCURRENCE and last_group[gram] != group:
                    last_group[gram] = group
                    frequencies[gram] += document_counts[group]
    return frequencies
