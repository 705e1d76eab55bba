"""Compiled loops of `rouge`: count the hits of candidates and references, and turn hits into scores.

An array `hits` has one entry for each pair of a candidate with one of its references (`TextPairs`).
"""

from typing import NamedTuple

import numpy as np

from quorum.metrics.comparison import TextPairs
from quorum.numeric.arrays import Flags, Floats, Ints, Numbers
from quorum.numeric.compiling import compiled

PRINTED_PRECISION = 1e5  # the script ROUGE-1.5.5.pl prints five digits
BITS = 62  # bits of an int64 used as a bit vector, so that the sum of two vectors and a carry fits
# The columns that `fill_scores` fills.
RECALL, PRECISION, F, HITS, REFERENCE_TOTAL, CANDIDATE_TOTAL = range(6)


class GramRule(NamedTuple):
    """Which n-grams of a text count: single words, and pairs of words with a limited distance.

    window: largest difference between the positions of a pair's words: 1 if only adjacent words form pairs, 0 if no
    pairs count. skipped_last: number of words at the end of a text that do not count as single words: 0 for ROUGE-1; 1
    for ROUGE-SU4, since ROUGE-1.5.5.pl does not count a text's last word there; -1 for ROUGE-2 and ROUGE-S4, as no
    single words count.
    """

    window: int
    skipped_last: int


class Overlap(NamedTuple):
    """The hits of every pair of a candidate and a reference, and what they are divided by.

    hits: (pairs,). recall_divisors, precision_divisors: (texts,) totals of a text as a reference, and as a candidate.
    rank_divisors: (texts,) divisors of a reference's hits that give its rank, by which the best reference is chosen.
    power: exponent of all ratios. is_rounded: whether ranks are rounded to five digits, as in ROUGE-1.5.5.pl.
    """

    hits: Floats
    recall_divisors: Floats
    precision_divisors: Floats
    rank_divisors: Floats
    power: float = 1.0
    is_rounded: bool = False


@compiled
def _list_grams(pairs: TextPairs, text: int, rule: GramRule, no_word: int, grams: Ints) -> int:
    """Write the n-grams of a text into `grams`, and return their number.

    A pair of words is written as first * (no_word + 1) + second, where `no_word` is larger than the number of any word.
    A single word is written as a pair with `no_word`.
    """
    tokens, begin, end = pairs.tokens, pairs.starts[text], pairs.starts[text + 1]
    window, skipped_last = rule
    count = 0
    for position in range(begin, end):
        first = np.int64(tokens[position]) * (no_word + 1)
        if 0 <= skipped_last < end - position:  # single words count, except for the last ones
            grams[count] = first + no_word
            count += 1
        for second in range(position + 1, min(position + window + 1, end)):
            grams[count] = first + tokens[second]
            count += 1
    return count


@compiled
def _find_slot(table: Ints, mask: int, gram: int) -> int:
    """Return the slot of an n-gram in a hash table with mask + 1 slots, or the free slot (-1) where it belongs."""
    slot = (gram ^ (gram >> 9) ^ (gram >> 18)) & mask
    while table[slot] >= 0 and table[slot] != gram:
        slot = (slot + 1) & mask
    return slot


@compiled
def count_gram_hits(pairs: TextPairs, rule: GramRule, no_word: int, max_grams: int, hits: Floats) -> None:
    """Fill `hits` with the number of n-grams that candidate and reference share, each as often as in both.

    No text has more than `max_grams` n-grams. `no_word` is as in `_list_grams`.
    """
    slots = 2
    while slots < 2 * max_grams:
        slots *= 2
    grams = np.empty(max_grams, dtype=np.int64)
    table = np.empty(slots, dtype=np.int64)
    counts = np.empty(slots, dtype=np.int64)
    remaining_counts = np.empty(slots, dtype=np.int64)
    for candidate in range(pairs.pair_starts.size - 1):
        gram_count = _list_grams(pairs, candidate, rule, no_word, grams)
        # For a short candidate use only the first slots, so that clearing them takes time in proportion to its length.
        slots = 2
        while slots < 2 * gram_count:
            slots *= 2
        mask = slots - 1
        for slot in range(slots):
            table[slot] = -1
            counts[slot] = 0
        for index in range(gram_count):
            slot = _find_slot(table, mask, grams[index])
            table[slot] = grams[index]
            counts[slot] += 1
        for pair in range(pairs.pair_starts[candidate], pairs.pair_starts[candidate + 1]):
            for slot in range(slots):
                remaining_counts[slot] = counts[slot]
            gram_count = _list_grams(pairs, pairs.references[pair], rule, no_word, grams)
            shared_count = 0
            for index in range(gram_count):
                slot = _find_slot(table, mask, grams[index])
                if remaining_counts[slot] > 0:
                    remaining_counts[slot] -= 1
                    shared_count += 1
            hits[pair] = shared_count


@compiled
def count_lcs_hits(pairs: TextPairs, vocabulary_size: int, max_words: int, hits: Floats) -> None:
    """Fill `hits` with the length of the longest common subsequence (LCS) of each pair, by bit vectors (Hyyrö 2004).

    A candidate is divided into pieces of up to BITS words. For a piece, `state` is a bit vector with a bit for each of
    its words, at first all 1. For each word of the reference, `matches` has the bits of the equal words of the piece:

        state = (state + (state & matches)) | (state & ~matches).

    Finally, the zero bits are the words at which the length of the LCS grows, so their number is the hits of the piece.
    The sum can overflow the piece. `carries` has this carry bit for each word of all references of the candidate, at
    most `max_words`, and it is added to the sum of the next piece.
    """
    tokens, starts, references, pair_starts = pairs
    positions = np.zeros(vocabulary_size, dtype=np.int64)  # bits of the positions of each word of the piece
    carries = np.empty(max_words, dtype=np.int64)
    lowest_bit = np.int64(1)
    for candidate in range(pair_starts.size - 1):
        begin, end = starts[candidate], starts[candidate + 1]
        first_pair, end_pair = pair_starts[candidate], pair_starts[candidate + 1]
        for pair in range(first_pair, end_pair):
            hits[pair] = 0.0
        for piece in range(begin, end, BITS):
            width = min(end - piece, BITS)
            all_bits = (lowest_bit << width) - lowest_bit
            for bit in range(width):
                positions[tokens[piece + bit]] |= lowest_bit << bit
            carry_position = 0
            for pair in range(first_pair, end_pair):
                state = all_bits
                for position in range(starts[references[pair]], starts[references[pair] + 1]):
                    matches = positions[tokens[position]]
                    total = state + (state & matches)
                    if piece > begin:
                        total += carries[carry_position]
                    carries[carry_position] = total >> width
                    carry_position += 1
                    state = (total | (state & ~matches)) & all_bits
                growth_bits = all_bits & ~state  # its bits are counted
                while growth_bits:
                    growth_bits &= growth_bits - 1  # remove the lowest bit
                    hits[pair] += 1.0
            for bit in range(width):  # clear only what was set
                positions[tokens[piece + bit]] = 0


class LCSTable(NamedTuple):
    """Buffers for the table of the weighted LCS of two texts, which is computed row by row.

    A row is a word of the reference ("row text"), a column a word of the candidate. A cell is for the two prefixes that
    end at its words.

    best_weights: (columns + 1,) largest weight of a common subsequence of the prefixes of each cell of a row. runs:
    (columns + 1,) length of the run of adjacent words with which this subsequence ends. upward: bits, one for each cell
    of the table, which say whether the best path comes from the row above. is_marked: (rows + 1,) flags of the words of
    the row text on the best path.
    """

    best_weights: Floats
    runs: Ints
    upward: Ints
    is_marked: Flags


@compiled
def allocate_table(longest: int, piece_count: int) -> LCSTable:
    """Return buffers for texts of up to `longest` words, and for `piece_count` pieces of BITS cells."""
    return LCSTable(
        np.empty(longest + 1),
        np.empty(longest + 1, dtype=np.int64),
        np.empty(piece_count, dtype=np.int64),
        np.empty(longest + 1, dtype=np.bool_),
    )


@compiled
def count_weighted_hits(pairs: TextPairs, powers: Floats, table: LCSTable, hits: Floats) -> None:
    """Fill `hits` with the weight of the LCS of each pair: the sum of the weights of its runs in the reference.

    powers[k] is the weight of a run of k adjacent words, and powers[0] is 0. `table` is a buffer.
    """
    tokens, starts, references, pair_starts = pairs
    for candidate in range(pair_starts.size - 1):
        candidate_words = tokens[starts[candidate] : starts[candidate + 1]]
        for pair in range(pair_starts[candidate], pair_starts[candidate + 1]):
            reference_words = tokens[starts[references[pair]] : starts[references[pair] + 1]]
            mark_best_path(reference_words, candidate_words, powers, table)
            weight = 0.0
            run = 0
            for row in range(reference_words.size + 1):  # the last row, of no word, ends a run
                if table.is_marked[row]:
                    run += 1
                else:
                    weight += powers[run]
                    run = 0
            hits[pair] = weight


@compiled
def mark_best_path(row_words: Numbers, column_words: Numbers, powers: Floats, table: LCSTable) -> None:
    """Mark the words of the row text on the best path, where powers[k] is the weight of a run of k adjacent words.

    row_words, column_words: codes of the words of both texts. The marks are stored in `table.is_marked`. Of equally
    good steps, the step that leaves out the row's word is taken.
    """
    best_weights, runs, upward, is_marked = table
    bit, zero = np.int64(1), np.int64(0)
    pieces = (column_words.size + BITS - 1) // BITS
    for column in range(column_words.size + 1):
        best_weights[column] = 0.0
        runs[column] = 0
    for row in range(row_words.size):
        value_before, run_before = 0.0, zero  # the cell above and to the left
        value_left = 0.0
        for piece in range(pieces):
            bits = zero
            for column in range(piece * BITS, min(piece * BITS + BITS, column_words.size)):
                value_above, run_above = best_weights[column + 1], runs[column + 1]
                if column_words[column] == row_words[row]:
                    # Keep the order of these sums: their last digit decides ties.
                    value_left = value_before + powers[run_before + 1] - powers[run_before]
                    runs[column + 1] = run_before + 1
                else:
                    if value_above >= value_left:
                        value_left = value_above
                        bits |= bit << (column - piece * BITS)
                    runs[column + 1] = 0
                best_weights[column + 1] = value_left
                value_before, run_before = value_above, run_above
            upward[row * pieces + piece] = bits
    for row in range(row_words.size + 1):
        is_marked[row] = False
    # Follow the best path back from the last cell.
    row, column = row_words.size - 1, column_words.size - 1
    while row >= 0 and column >= 0:
        if row_words[row] == column_words[column]:
            is_marked[row] = True
            row -= 1
            column -= 1
        elif upward[row * pieces + column // BITS] >> (column % BITS) & bit:
            row -= 1
        else:
            column -= 1


@compiled
def fill_scores(
    pairs: TextPairs, overlap: Overlap, takes_best: bool, jackknife: bool, alpha: float, scores: Floats
) -> None:
    """Fill `scores` (n, 6) with recall, precision, F, hits, total of the references and total of the candidate.

    If `takes_best`, only the reference with the highest rank counts; otherwise hits and totals are summed over the
    references. With `jackknife`, each reference is left out in turn; ratios are averaged, and hits and totals summed.
    """
    hits, recall_divisors, precision_divisors, rank_divisors, power, is_rounded = overlap
    references, pair_starts = pairs.references, pairs.pair_starts
    for candidate in range(pair_starts.size - 1):
        begin, end = pair_starts[candidate], pair_starts[candidate + 1]
        # Without a jackknife, or with one reference, there is one sample, of all references.
        sample_count = end - begin if jackknife else 1
        recalls = precisions = f_scores = all_hits = all_reference_totals = all_candidate_totals = 0.0
        for sample in range(sample_count):
            left_out_pair = begin + sample if sample_count > 1 else end  # `end` is no pair of this candidate
            sample_hits = reference_total = candidate_total = 0.0
            best_rank = -1.0
            for pair in range(begin, end):
                if pair == left_out_pair:
                    continue
                reference = references[pair]
                if not takes_best:
                    sample_hits += hits[pair]
                    reference_total += recall_divisors[reference]
                    candidate_total += precision_divisors[candidate]
                    continue
                rank = (
                    (hits[pair] / rank_divisors[reference]) ** power if rank_divisors[reference] > 0 else 0.0
                )
                if is_rounded:
                    rank = np.rint(rank * PRINTED_PRECISION)
                if rank > best_rank:
                    best_rank = rank
                    sample_hits = hits[pair]
                    reference_total = recall_divisors[reference]
                    candidate_total = precision_divisors[candidate]
            recall = (sample_hits / reference_total) ** power if reference_total > 0 else 0.0
            precision = (sample_hits / candidate_total) ** power if candidate_total > 0 else 0.0
            denominator = (1 - alpha) * precision + alpha * recall  # `alpha` is the weight of precision in F
            recalls += recall
            precisions += precision
            f_scores += precision * recall / denominator if denominator > 0 else 0.0
            all_hits += sample_hits
            all_reference_totals += reference_total
            all_candidate_totals += candidate_total
        scores[candidate, RECALL] = recalls / sample_count
        scores[candidate, PRECISION] = precisions / sample_count
        scores[candidate, F] = f_scores / sample_count
        scores[candidate, HITS] = all_hits
        scores[candidate, REFERENCE_TOTAL] = all_reference_totals
        scores[candidate, CANDIDATE_TOTAL] = all_candidate_totals
