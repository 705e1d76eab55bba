"""ROUGE of the script ROUGE-1.5.5, and ROUGE-L of the MS COCO caption evaluation (docs/metrics.md).

Source: Lin 2004, *ROUGE: A Package for Automatic Evaluation of Summaries*. R = hits / reference total, P = hits /
candidate total, F = P R / ((1 - alpha) P + alpha R). Hits are

    ROUGE-1, -2    n-grams, each as often as the smaller of its two counts (eq. 1)
    ROUGE-L        the longest common subsequence; a caption is one sentence (eq. 2-4)
    ROUGE-W        the same, where runs of k adjacent words weigh k ^ weight (eq. 13-15)
    ROUGE-S4       pairs of words with at most four words between them (eq. 16-18)
    ROUGE-SU4      these pairs and single words (§5.2)

Where the script differs from its paper, this module follows the script. SU4 leaves out a text's last single word. The
recall of ROUGE-W divides by (m ^ weight) ^ weight for a reference of m words, so that a perfect match is below 1. The
words of a run of ROUGE-W need to be adjacent only in the reference.

See docs/metrics.md for several references, the jackknife (§2.1) and other options. Kernels fill an array `hits`
(pairs,), where a pair is a candidate with one of its references. V15 is Vedantam et al. 2015.
"""

from typing import NamedTuple

import numpy as np

from quorum.metrics.comparison import ReferenceComparison, TextPairs, Tokenization
from quorum.numeric.arrays import Flags, Floats, Ints, Numbers, ratio
from quorum.numeric.compiling import compiled

PRINTED_PRECISION = 1e5  # the script prints five digits
BITS = 62  # bits of an int64 used as a bit vector, so that the sum of two vectors and a carry fits
MEASURES = ("recall", "precision", "f")
# The columns that `fill_scores` fills; the first are those of MEASURES.
RECALL, PRECISION, F, HITS, REFERENCE_TOTAL, CANDIDATE_TOTAL = range(6)
REFERENCE_RULES = ("average", "best")
JACKKNIFE_CHOICES = ("no", "yes")
CORPUS_CHOICES = ("mean", "pooled")
STEM_CHOICES = ("none", "porter", "wordnet")
STOP_CHOICES = ("keep", "drop")


class GramRule(NamedTuple):
    """The rule that says which n-grams count.

    window: largest distance between the words of a pair; 0 if no pairs count. skipped_last: number of words at the end
    of a text that do not count as single words; -1 if no single words count.
    """

    window: int
    skipped_last: int


class Overlap(NamedTuple):
    """Hits of every pair of a candidate and a reference, and the divisors of the hits.

    hits: (pairs,). recall_divisors, precision_divisors: (texts,) totals of a text as a reference, and as a candidate.
    rank_divisors: (texts,) divisors of the figure by which the best reference is chosen. If `is_rounded`, this figure
    is rounded to five digits, as in the script. Ratios are raised to `power`.
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

    A single word is written as a pair with `no_word`, which is larger than the number of any word.
    """
    tokens, begin, end = pairs.tokens, pairs.starts[text], pairs.starts[text + 1]
    window, skipped_last = rule
    count = 0
    for position in range(begin, end):
        first = np.int64(tokens[position]) * (no_word + 1)
        if 0 <= skipped_last < end - position:
            grams[count] = first + no_word
            count += 1
        for second in range(position + 1, min(position + window + 1, end)):
            grams[count] = first + tokens[second]
            count += 1
    return count


@compiled
def _find_slot(table: Ints, mask: int, gram: int) -> int:
    slot = (gram ^ (gram >> 9) ^ (gram >> 18)) & mask
    while table[slot] >= 0 and table[slot] != gram:
        slot = (slot + 1) & mask
    return slot


@compiled
def count_gram_hits(pairs: TextPairs, rule: GramRule, no_word: int, max_grams: int, hits: Floats) -> None:
    """Fill `hits` with the number of n-grams that candidate and reference share.

    No text has more than `max_grams` n-grams.
    """
    slots = 2
    while slots < 2 * max_grams:
        slots *= 2
    grams = np.empty(max_grams, dtype=np.int64)
    table = np.empty(slots, dtype=np.int64)
    counts = np.empty(slots, dtype=np.int64)
    counts_left = np.empty(slots, dtype=np.int64)
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
                counts_left[slot] = counts[slot]
            gram_count = _list_grams(pairs, pairs.references[pair], rule, no_word, grams)
            matched = 0
            for index in range(gram_count):
                slot = _find_slot(table, mask, grams[index])
                if counts_left[slot] > 0:
                    counts_left[slot] -= 1
                    matched += 1
            hits[pair] = matched


@compiled
def count_lcs_hits(pairs: TextPairs, vocabulary_size: int, max_words: int, hits: Floats) -> None:
    """Fill `hits` with the length of the longest common subsequence of each pair, by bit vectors (Hyyrö 2004).

    A bit vector holds a piece of the candidate, of up to BITS words. A zero bit marks a word at which the length grows.
    `carries` has the carry bits from one piece to the next, one for each word of the candidate's references, which are
    at most `max_words`.
    """
    tokens, starts, references, pair_starts = pairs
    positions = np.zeros(vocabulary_size, dtype=np.int64)  # bits of the positions of each word of the piece
    carries = np.empty(max_words, dtype=np.int64)
    lowest = np.int64(1)
    for candidate in range(pair_starts.size - 1):
        begin, end = starts[candidate], starts[candidate + 1]
        first_pair, last_pair = pair_starts[candidate], pair_starts[candidate + 1]
        for pair in range(first_pair, last_pair):
            hits[pair] = 0.0
        for piece in range(begin, end, BITS):
            width = min(end - piece, BITS)
            full = (lowest << width) - lowest
            for bit in range(width):
                positions[tokens[piece + bit]] |= lowest << bit
            carry = 0
            for pair in range(first_pair, last_pair):
                state = full
                for position in range(starts[references[pair]], starts[references[pair] + 1]):
                    matches = positions[tokens[position]]
                    total = state + (state & matches)
                    if piece > begin:
                        total += carries[carry]
                    carries[carry] = total >> width
                    carry += 1
                    state = (total | (state & ~matches)) & full
                grown = full & ~state
                while grown:
                    grown &= grown - 1  # remove the lowest bit
                    hits[pair] += 1.0
            for bit in range(width):
                positions[tokens[piece + bit]] = 0


class LCSTable(NamedTuple):
    """Buffers for the table of the weighted LCS of two texts, which is computed row by row.

    A row is a word of the reference ("row text"), a column a word of the candidate. A cell is for the two prefixes that
    end at its words.

    best_weights: (columns + 1,) best weight of the cells of a row. runs: (columns + 1,) length of the last run of this
    best weight. upward: one bit for each cell, which says whether the best path comes from the row above. is_marked:
    (rows + 1,) flags of the words of the row text on the best path.
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
    """Fill `hits` with the summed weights of the runs of reference words on the best path.

    powers[k] is the weight of a run of k adjacent words.
    """
    tokens, starts, references, pair_starts = pairs
    for candidate in range(pair_starts.size - 1):
        candidate_words = tokens[starts[candidate] : starts[candidate + 1]]
        for pair in range(pair_starts[candidate], pair_starts[candidate + 1]):
            reference_words = tokens[starts[references[pair]] : starts[references[pair] + 1]]
            mark_best_path(reference_words, candidate_words, powers, table)
            weight = 0.0
            run = 0
            for row in range(reference_words.size + 1):
                if table.is_marked[row]:
                    run += 1
                else:
                    weight += powers[run]
                    run = 0
            hits[pair] = weight


@compiled
def mark_best_path(rows: Numbers, columns: Numbers, powers: Floats, table: LCSTable) -> None:
    """Mark the words of the row text on the best path, where powers[k] is the weight of a run of k adjacent words.

    Of equally good steps, the step that leaves out the row's word is taken.
    """
    best, runs, upward, is_marked = table
    bit, none = np.int64(1), np.int64(0)
    pieces = (columns.size + BITS - 1) // BITS
    for column in range(columns.size + 1):
        best[column] = 0.0
        runs[column] = 0
    for row in range(rows.size):
        value_before, run_before = 0.0, none  # the cell above and to the left
        left = 0.0
        for piece in range(pieces):
            bits = none
            for column in range(piece * BITS, min(piece * BITS + BITS, columns.size)):
                above, run_above = best[column + 1], runs[column + 1]
                if columns[column] == rows[row]:
                    # Keep the order of these sums: their last digit decides ties.
                    left = value_before + powers[run_before + 1] - powers[run_before]
                    runs[column + 1] = run_before + 1
                else:
                    if above >= left:
                        left = above
                        bits |= bit << (column - piece * BITS)
                    runs[column + 1] = 0
                best[column + 1] = left
                value_before, run_before = above, run_above
            upward[row * pieces + piece] = bits
    for row in range(rows.size + 1):
        is_marked[row] = False
    # Follow the best path back from the last cell.
    row, column = rows.size - 1, columns.size - 1
    while row >= 0 and column >= 0:
        if rows[row] == columns[column]:
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
    """Fill `scores` (n, 6) with recall, precision, F, hits, total of the references and total of the candidate."""
    hits, recall_divisors, precision_divisors, rank_divisors, power, is_rounded = overlap
    references, pair_starts = pairs.references, pairs.pair_starts
    for candidate in range(pair_starts.size - 1):
        begin, end = pair_starts[candidate], pair_starts[candidate + 1]
        candidate_total = precision_divisors[candidate]
        # A jackknife leaves out each reference in turn.
        sample_count = end - begin if jackknife else 1
        recalls = precisions = f_scores = all_hits = all_expected = all_guessed = 0.0
        for sample in range(sample_count):
            left_out_pair = begin + sample if sample_count > 1 else end
            matched = expected = guessed = 0.0
            best_rank = -1.0
            # Sum over the references, or take the best one.
            for pair in range(begin, end):
                if pair == left_out_pair:
                    continue
                reference = references[pair]
                if not takes_best:
                    matched += hits[pair]
                    expected += recall_divisors[reference]
                    guessed += candidate_total
                    continue
                rank = (
                    (hits[pair] / rank_divisors[reference]) ** power if rank_divisors[reference] > 0 else 0.0
                )
                if is_rounded:
                    rank = np.rint(rank * PRINTED_PRECISION)
                if rank > best_rank:
                    best_rank = rank
                    matched, expected, guessed = hits[pair], recall_divisors[reference], candidate_total
            recall = (matched / expected) ** power if expected > 0 else 0.0
            precision = (matched / guessed) ** power if guessed > 0 else 0.0
            denominator = (1 - alpha) * precision + alpha * recall
            recalls += recall
            precisions += precision
            f_scores += precision * recall / denominator if denominator > 0 else 0.0
            all_hits += matched
            all_expected += expected
            all_guessed += guessed
        scores[candidate, RECALL] = recalls / sample_count
        scores[candidate, PRECISION] = precisions / sample_count
        scores[candidate, F] = f_scores / sample_count
        scores[candidate, HITS] = all_hits
        scores[candidate, REFERENCE_TOTAL] = all_expected
        scores[candidate, CANDIDATE_TOTAL] = all_guessed


def rouge_l_scores(comparison: ReferenceComparison, tokenization: Tokenization, beta: float = 1.2) -> Floats:
    """Return (n,) scores ROUGE-L of MS COCO, (1 + beta^2) P R / (R + beta^2 P) (V15 eq. 12-14).

    P and R are each the highest value over the references.
    """
    shares = _lcs_shares(comparison, tokenization)
    precision = np.maximum.reduceat(shares.precision, comparison.pair_starts)
    recall = np.maximum.reduceat(shares.recall, comparison.pair_starts)
    denominator = recall + beta**2 * precision
    return ratio((1 + beta**2) * precision * recall, denominator, otherwise=0.0)


class _LCSShares(NamedTuple):
    """Lengths of longest common subsequences, as shares of the candidate and of the reference; each (pairs,)."""

    precision: Floats
    recall: Floats


def _lcs_shares(comparison: ReferenceComparison, tokenization: Tokenization) -> _LCSShares:
    """Return the shares of all pairs of a candidate and a reference."""
    lengths = comparison.tokens(tokenization).lengths
    candidate_lengths = np.repeat(lengths[: comparison.candidate_count], comparison.reference_counts)
    reference_lengths = lengths[comparison.pair_references]
    lcs_lengths = lcs_overlap(comparison, tokenization).hits
    return _LCSShares(
        precision=lcs_lengths / np.maximum(candidate_lengths, 1),
        recall=lcs_lengths / np.maximum(reference_lengths, 1),
    )


def gram_overlap(
    comparison: ReferenceComparison, tokenization: Tokenization, *, window: int, skipped_last: int = -1
) -> Overlap:
    """Count shared n-grams; see `GramRule` for `window` and `skipped_last`.

    ROUGE-1: window 0, skipped_last 0. ROUGE-2: window 1. ROUGE-S4: window 5. ROUGE-SU4: window 5, skipped_last 1.
    """
    tokens, pairs = comparison.tokens(tokenization), comparison.text_pairs(tokenization)
    totals = _gram_totals(tokens.lengths, window, skipped_last)
    hits = np.empty(pairs.references.size)
    rule = GramRule(window, skipped_last)
    count_gram_hits(pairs, rule, len(tokens.vocabulary), int(totals.max()), hits)
    return Overlap(hits, totals, totals, totals, is_rounded=True)


def lcs_overlap(comparison: ReferenceComparison, tokenization: Tokenization) -> Overlap:
    tokens, pairs = comparison.tokens(tokenization), comparison.text_pairs(tokenization)
    hits = np.empty(pairs.references.size)
    words_of_references = np.add.reduceat(tokens.lengths[pairs.references], comparison.pair_starts)
    count_lcs_hits(pairs, len(tokens.vocabulary), int(words_of_references.max()), hits)
    totals = tokens.lengths.astype(np.float64)
    return Overlap(hits, totals, totals, totals)


def weighted_lcs_overlap(
    comparison: ReferenceComparison, tokenization: Tokenization, weight: float
) -> Overlap:
    """Weigh the runs of the longest common subsequences (ROUGE-W): a run of k words weighs k ^ `weight`."""
    tokens, pairs = comparison.tokens(tokenization), comparison.text_pairs(tokenization)
    longest = int(tokens.lengths.max())
    # Python and the script use the C library's power; numpy's may differ in the last digit.
    powers = np.array([float(length) ** weight for length in range(longest + 1)])
    hits = np.empty(pairs.references.size)
    piece_counts = -(-tokens.lengths[: comparison.candidate_count] // BITS)  # rounded up
    row_counts = np.maximum.reduceat(tokens.lengths[pairs.references], comparison.pair_starts)
    table = allocate_table(longest, int((row_counts * piece_counts).max()))
    count_weighted_hits(pairs, powers, table, hits)
    totals = powers[tokens.lengths]
    return Overlap(hits, totals**weight, totals, totals, power=1 / weight)


def rouge155_scores(
    comparison: ReferenceComparison,
    overlap: Overlap,
    tokenization: Tokenization,
    *,
    measure: str = "f",
    reference_rule: str = "average",
    jackknife: str = "no",
    corpus: str = "mean",
    alpha: float = 0.5,
) -> tuple[float, Floats]:
    """Return the corpus score and the (n,) scores of the candidates, by one of MEASURES.

    Args:
        overlap: the hits by which a ROUGE variant counts.
        reference_rule: one of REFERENCE_RULES, which says how several references are combined.
        jackknife: one of JACKKNIFE_CHOICES.
        corpus: one of CORPUS_CHOICES: the mean of the scores, or the ratio of pooled counts.
        alpha: the weight of precision in F. With 1, F is the precision.
    """
    scores = np.empty((comparison.candidate_count, CANDIDATE_TOTAL + 1))
    fill_scores(
        comparison.text_pairs(tokenization),
        overlap,
        reference_rule == "best",
        jackknife == "yes",
        alpha,
        scores,
    )
    images = scores[:, MEASURES.index(measure)].copy()
    if corpus == "mean":
        return float(np.mean(images)), images
    hits, expected, guessed = scores[:, HITS:].sum(axis=0).tolist()
    # The script does not take the root of ROUGE-W's pooled ratios.
    recall, precision = hits / max(expected, 1.0), hits / max(guessed, 1.0)
    denominator = (1 - alpha) * precision + alpha * recall
    f = precision * recall / denominator if denominator > 0 else 0.0
    return (recall, precision, f)[MEASURES.index(measure)], images


def _gram_totals(lengths: Ints, window: int, skipped_last: int) -> Floats:
    """Return the (texts,) numbers of n-grams of texts with these lengths."""
    totals = np.maximum(lengths - skipped_last, 0) if skipped_last >= 0 else np.zeros_like(lengths)
    for distance in range(1, window + 1):
        totals = totals + np.maximum(lengths - distance, 0)
    return totals.astype(np.float64)
