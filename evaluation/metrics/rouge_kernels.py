"""Compiled loops of ROUGE (Lin 2004), over all pairs of a candidate and its references.

Counting kernels fill `hits` (pairs,) float64. All integers stay below 2 ** 63.
"""

from typing import NamedTuple

import numpy as np

from evaluation.arrays import Flags, Floats, Ints
from evaluation.compiled import compiled
from evaluation.metrics.comparison import Pairs
from evaluation.metrics.text.words import Numbers

PRINTED = 1e5  # the script prints five digits
BITS = 62  # of an int64 used as a bit vector: the sum of two vectors and a carry still fits


class Counted(NamedTuple):
    """Which n-grams count: pairs up to `window` apart, single words but the last `spared` (negative: none)."""

    window: int
    spared: int


class Overlap(NamedTuple):
    """Common parts of every pair.

    hits: (pairs,) float64. of_reference, of_candidate, base: (texts,) float64 divisors of recall, of
    precision, and of the figure that chooses the best reference. Ratios are raised to `power`. `rounded`:
    choose by five digits, as the script.
    """

    hits: Floats
    of_reference: Floats
    of_candidate: Floats
    base: Floats
    power: float = 1.0
    rounded: bool = False


@compiled
def _list_grams(pairs: Pairs, text: int, counted: Counted, other: int, grams: Ints) -> int:
    """Write the n-grams of a text and return their number. `other`, above all words, stands for no second word."""
    words, begin, end = pairs.words, pairs.starts[text], pairs.starts[text + 1]
    window, spared = counted
    count = 0
    for place in range(begin, end):
        first = np.int64(words[place]) * (other + 1)
        if 0 <= spared < end - place:
            grams[count] = first + other
            count += 1
        for second in range(place + 1, min(place + window + 1, end)):
            grams[count] = first + words[second]
            count += 1
    return count


@compiled
def _find(table: Ints, mask: int, gram: int) -> int:
    """Return the slot of an n-gram, or the free one where it belongs (-1), in a table of mask + 1 slots."""
    slot = (gram ^ (gram >> 9) ^ (gram >> 18)) & mask
    while table[slot] >= 0 and table[slot] != gram:
        slot = (slot + 1) & mask
    return slot


@compiled
def count_gram_hits(pairs: Pairs, counted: Counted, other: int, most: int, hits: Floats) -> None:
    """Count the n-grams of each reference that its candidate has, each up to the candidate's count.

    `other` is a number above all words; no text has more than `most` n-grams.
    """
    slots = 2
    while slots < 2 * most:
        slots *= 2
    grams = np.empty(most, dtype=np.int64)
    table = np.empty(slots, dtype=np.int64)
    counts = np.empty(slots, dtype=np.int64)
    left = np.empty(slots, dtype=np.int64)
    for candidate in range(pairs.pair_starts.size - 1):
        many = _list_grams(pairs, candidate, counted, other, grams)
        # Short candidates use the first slots only: the work stays in proportion to their length.
        slots = 2
        while slots < 2 * many:
            slots *= 2
        mask = slots - 1
        for slot in range(slots):
            table[slot] = -1
            counts[slot] = 0
        for place in range(many):
            slot = _find(table, mask, grams[place])
            table[slot] = grams[place]
            counts[slot] += 1
        for pair in range(pairs.pair_starts[candidate], pairs.pair_starts[candidate + 1]):
            for slot in range(slots):
                left[slot] = counts[slot]
            many = _list_grams(pairs, pairs.references[pair], counted, other, grams)
            found = 0
            for place in range(many):
                slot = _find(table, mask, grams[place])
                if left[slot] > 0:
                    left[slot] -= 1
                    found += 1
            hits[pair] = found


@compiled
def count_lcs_hits(pairs: Pairs, vocabulary: int, most: int, hits: Floats) -> None:
    """Measure the longest common subsequence of each pair by bit vectors (Hyyrö 2004).

    A zero bit is a word of the candidate at which the length grows. Candidates are processed in pieces of 62
    words; carries between pieces wait in `carries`, one for each word of the references, at most `most`.
    """
    words, starts, references, pair_starts = pairs
    places = np.zeros(vocabulary, dtype=np.int64)  # the bits of each of the piece's words
    carries = np.empty(most, dtype=np.int64)
    one = np.int64(1)
    for candidate in range(pair_starts.size - 1):
        begin, end = starts[candidate], starts[candidate + 1]
        first_pair, last_pair = pair_starts[candidate], pair_starts[candidate + 1]
        for pair in range(first_pair, last_pair):
            hits[pair] = 0.0
        for piece in range(begin, end, BITS):
            width = min(end - piece, BITS)
            full = (one << width) - one
            for bit in range(width):
                places[words[piece + bit]] |= one << bit
            carry = 0
            for pair in range(first_pair, last_pair):
                state = full
                for place in range(starts[references[pair]], starts[references[pair] + 1]):
                    matches = places[words[place]]
                    total = state + (state & matches)
                    if piece > begin:
                        total += carries[carry]
                    carries[carry] = total >> width
                    carry += 1
                    state = (total | (state & ~matches)) & full
                grown = full & ~state
                while grown:
                    grown &= grown - 1
                    hits[pair] += 1.0
            for bit in range(width):
                places[words[piece + bit]] = 0


class Table(NamedTuple):
    """Buffers for the weighted LCS table of two texts, row by row.

    best, runs: (columns + 1,) best weight of two prefixes, and the length of its last run. upward:
    directions, one bit a cell. marked: (rows + 1,) words of the row text on the best path.
    """

    best: Floats
    runs: Ints
    upward: Ints
    marked: Flags


@compiled
def room_for_table(longest: int, pieces: int) -> Table:
    return Table(
        np.empty(longest + 1),
        np.empty(longest + 1, dtype=np.int64),
        np.empty(pieces, dtype=np.int64),
        np.empty(longest + 1, dtype=np.bool_),
    )


@compiled
def count_weighted_hits(pairs: Pairs, powers: Floats, table: Table, hits: Floats) -> None:
    """Sum the weights of runs of reference words on the best path of each pair; powers[k] weighs k words."""
    words, starts, references, pair_starts = pairs
    for candidate in range(pair_starts.size - 1):
        candidate_words = words[starts[candidate] : starts[candidate + 1]]
        for pair in range(pair_starts[candidate], pair_starts[candidate + 1]):
            reference_words = words[starts[references[pair]] : starts[references[pair] + 1]]
            mark_best_path(reference_words, candidate_words, powers, table)
            weight = 0.0
            run = 0
            for row in range(reference_words.size + 1):
                if table.marked[row]:
                    run += 1
                else:
                    weight += powers[run]
                    run = 0
            hits[pair] = weight


@compiled
def mark_best_path(rows: Numbers, columns: Numbers, powers: Floats, table: Table) -> None:
    """Mark the words of the row text on the best path through the weighted LCS table.

    powers[k] weighs a run of k adjacent words. A cell holds the best weight of two prefixes; leaving out the
    row's word wins ties.
    """
    best, runs, upward, marked = table
    one, none = np.int64(1), np.int64(0)
    pieces = (columns.size + BITS - 1) // BITS
    for column in range(columns.size + 1):
        best[column] = 0.0
        runs[column] = 0
    for row in range(rows.size):
        before, run_before = 0.0, none  # the cell above and to the left
        left = 0.0
        for piece in range(pieces):
            bits = none
            for column in range(piece * BITS, min(piece * BITS + BITS, columns.size)):
                above, run_above = best[column + 1], runs[column + 1]
                if columns[column] == rows[row]:
                    # In this order: ties are decided by the last digit of these sums.
                    left = before + powers[run_before + 1] - powers[run_before]
                    runs[column + 1] = run_before + 1
                else:
                    if above >= left:
                        left = above
                        bits |= one << (column - piece * BITS)
                    runs[column + 1] = 0
                best[column + 1] = left
                before, run_before = above, run_above
            upward[row * pieces + piece] = bits
    for row in range(rows.size + 1):
        marked[row] = False
    row, column = rows.size - 1, columns.size - 1
    while row >= 0 and column >= 0:
        if rows[row] == columns[column]:
            marked[row] = True
            row -= 1
            column -= 1
        elif upward[row * pieces + column // BITS] >> (column % BITS) & one:
            row -= 1
        else:
            column -= 1


@compiled
def combine(
    pairs: Pairs, overlap: Overlap, best: bool, jackknife: bool, alpha: float, scores: Floats
) -> None:
    """Write recall, precision, F, hits, totals of references and of the candidate into `scores` (n, 6)."""
    hits, of_reference, of_candidate, base, power, rounded = overlap
    references, pair_starts = pairs.references, pairs.pair_starts
    for candidate in range(pair_starts.size - 1):
        begin, end = pair_starts[candidate], pair_starts[candidate + 1]
        own = of_candidate[candidate]
        samples = end - begin if jackknife else 1
        recalls = precisions = fs = hit = all_expected = all_given = 0.0
        for sample in range(samples):
            left_out = begin + sample if samples > 1 else end
            matched = expected = given = 0.0
            top = -1.0
            for pair in range(begin, end):
                if pair == left_out:
                    continue
                reference = references[pair]
                if not best:
                    matched += hits[pair]
                    expected += of_reference[reference]
                    given += own
                    continue
                rank = (hits[pair] / base[reference]) ** power if base[reference] > 0 else 0.0
                if rounded:
                    rank = np.rint(rank * PRINTED)
                if rank > top:
                    top = rank
                    matched, expected, given = hits[pair], of_reference[reference], own
            recall = (matched / expected) ** power if expected > 0 else 0.0
            precision = (matched / given) ** power if given > 0 else 0.0
            below = (1 - alpha) * precision + alpha * recall
            recalls += recall
            precisions += precision
            fs += precision * recall / below if below > 0 else 0.0
            hit += matched
            all_expected += expected
            all_given += given
        scores[candidate, 0] = recalls / samples
        scores[candidate, 1] = precisions / samples
        scores[candidate, 2] = fs / samples
        scores[candidate, 3] = hit
        scores[candidate, 4] = all_expected
        scores[candidate, 5] = all_given
