"""The counting loops of ROUGE (Lin 2004), over all pairs of a candidate and a reference of its own.

The MS COCO evaluation's ROUGE-L and the script ROUGE-1.5.5 share them.

Texts are word numbers one after the other: `words` (tokens,) int, `starts` (texts + 1,) int. The first n are
the candidates; candidate c has the pairs `pair_starts[c]` .. `pair_starts[c + 1] - 1`, whose references are
the text numbers `references` (pairs,) int. Every kernel that counts fills `hits` (pairs,) float64.

All integers stay below 2 ** 63, so that nothing wraps round, compiled or not.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.compiled import compiled

Ints = NDArray[Any]  # of any width
Floats = NDArray[np.float64]

PRINTED = 1e5  # the script prints five digits
BITS = 62  # of an int64 used as a bit vector: the sum of two vectors and a carry still fits


@compiled
def _list_grams(words: Ints, begin: int, end: int, window: int, spared: int, other: int, grams: Ints) -> int:
    """Write the numbers of a text's n-grams into `grams`; how many there are.

    Counted are the pairs of words up to `window` places apart, and single words but for the last `spared` ones
    (none at all where `spared` is negative). `other` is a number above all words; it stands for "no second word".
    """
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
    """The slot of a hash table of mask + 1 slots (-1 = free) that holds the n-gram, or else takes it."""
    slot = (gram ^ (gram >> 9) ^ (gram >> 18)) & mask
    while table[slot] >= 0 and table[slot] != gram:
        slot = (slot + 1) & mask
    return slot


@compiled
def count_gram_hits(
    words: Ints,
    starts: Ints,
    references: Ints,
    pair_starts: Ints,
    window: int,
    spared: int,
    other: int,
    most: int,
    hits: Floats,
) -> None:
    """The n-grams of each reference that its candidate has too, each counted up to the candidate's count.

    `window`, `spared` and `other` choose the n-grams (see `_list_grams`), no text has more than `most` of them.
    """
    slots = 2
    while slots < 2 * most:
        slots *= 2
    grams = np.empty(most, dtype=np.int64)
    table = np.empty(slots, dtype=np.int64)
    counts = np.empty(slots, dtype=np.int64)
    left = np.empty(slots, dtype=np.int64)
    for candidate in range(pair_starts.size - 1):
        begin, end = starts[candidate], starts[candidate + 1]
        many = _list_grams(words, begin, end, window, spared, other, grams)
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
        for pair in range(pair_starts[candidate], pair_starts[candidate + 1]):
            for slot in range(slots):
                left[slot] = counts[slot]
            text = references[pair]
            many = _list_grams(words, starts[text], starts[text + 1], window, spared, other, grams)
            found = 0
            for place in range(many):
                slot = _find(table, mask, grams[place])
                if left[slot] > 0:
                    left[slot] -= 1
                    found += 1
            hits[pair] = found


@compiled
def count_lcs_hits(
    words: Ints,
    starts: Ints,
    references: Ints,
    pair_starts: Ints,
    vocabulary: int,
    most: int,
    hits: Floats,
) -> None:
    """The length of the longest common subsequence of each pair, by bit vectors (Hyyrö 2004).

    A zero bit stands for a word of the candidate at which the length grows. A candidate is worked on in pieces of
    62 words; what a piece adds up beyond its own bits waits in `carries`, one for each word of the references.
    `most` is the largest number of words that the references of one candidate have together.
    """
    places = np.zeros(vocabulary, dtype=np.int64)  # the piece's words: at which bits each stands
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


@compiled
def count_weighted_hits(
    words: Ints,
    starts: Ints,
    references: Ints,
    pair_starts: Ints,
    powers: Floats,
    longest: int,
    cells: int,
    hits: Floats,
) -> None:
    """The weights of the runs of adjacent reference words on the best path through the weighted LCS table.

    `powers[k]` is the weight of a run of k words. A cell of the table holds the best weight of two beginnings;
    where it could come from the reference's or the candidate's side, the reference's wins ties. The table is
    kept row by row, its directions one bit a cell. `longest` is the length of the longest text, `cells` the
    largest number of 62-bit pieces that one pair's directions take.
    """
    best = np.empty(longest + 1)
    runs = np.empty(longest + 1, dtype=np.int64)
    marked = np.empty(longest + 1, dtype=np.int64)
    upward = np.empty(cells, dtype=np.int64)
    one, none = np.int64(1), np.int64(0)
    for candidate in range(pair_starts.size - 1):
        ours = starts[candidate]
        columns = starts[candidate + 1] - ours
        pieces = (columns + BITS - 1) // BITS
        for pair in range(pair_starts[candidate], pair_starts[candidate + 1]):
            theirs = starts[references[pair]]
            rows = starts[references[pair] + 1] - theirs
            for column in range(columns + 1):
                best[column] = 0.0
                runs[column] = 0
            for row in range(rows):
                word = words[theirs + row]
                before, run_before = 0.0, none  # the cell above and to the left
                left = 0.0
                for piece in range(pieces):
                    bits = none
                    for column in range(piece * BITS, min(piece * BITS + BITS, columns)):
                        above, run_above = best[column + 1], runs[column + 1]
                        if words[ours + column] == word:
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
            for row in range(rows + 1):
                marked[row] = 0
            row, column = rows - 1, columns - 1
            while row >= 0 and column >= 0:
                if words[theirs + row] == words[ours + column]:
                    marked[row] = 1
                    row -= 1
                    column -= 1
                elif upward[row * pieces + column // BITS] >> (column % BITS) & one:
                    row -= 1
                else:
                    column -= 1
            weight = 0.0
            run = 0
            for row in range(rows + 1):
                if marked[row]:
                    run += 1
                else:
                    weight += powers[run]
                    run = 0
            hits[pair] = weight


@compiled
def combine(
    hits: Floats,
    of_reference: Floats,
    of_candidate: Floats,
    base: Floats,
    references: Ints,
    pair_starts: Ints,
    power: float,
    rounded: bool,
    best: bool,
    jackknife: bool,
    alpha: float,
    scores: Floats,
) -> None:
    """Recall, precision and F of every candidate into `scores` (n, 6), from what its pairs have in common.

    Behind them stand what was matched, the total of the references and that of the candidate.

    `hits` (pairs,): what was matched. `of_reference`, `of_candidate`, `base` (texts,): what recall, precision and the
    figure that chooses the best reference divide it by. Ratios are raised to `power`; with `rounded` the choice
    is by five digits.
    """
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
