"""ROUGE of the script ROUGE-1.5.5, and ROUGE-L of the MS COCO caption evaluation (docs/metrics.md).

Source: Lin 2004, *ROUGE: A Package for Automatic Evaluation of Summaries*. Recall R = hits / reference total, precision
P = hits / candidate total, F = P R / ((1 - alpha) P + alpha R). Hits are what candidate and reference have in common:

    ROUGE-1, -2    n-grams, each as often as the smaller of its two counts (eq. 1)
    ROUGE-L        the longest common subsequence; a caption is one sentence (eq. 2-4)
    ROUGE-W        the same, where runs of k adjacent words weigh k ^ weight (eq. 13-15)
    ROUGE-S4       pairs of words with at most four words between them (eq. 16-18)
    ROUGE-SU4      these pairs and single words (§5.2)

Where the script differs from its paper, this module follows the script. SU4 leaves out a text's last single word. The
recall of ROUGE-W divides by (m ^ weight) ^ weight for a reference of m words, so that a perfect match is below 1. The
words of a run of ROUGE-W need to be adjacent only in the reference.

See docs/metrics.md for several references, the jackknife (§2.1) and other options. V15 is Vedantam et al. 2015.
"""

from typing import NamedTuple

import numpy as np

from quorum.metrics.comparison import ReferenceComparison, Tokenization
from quorum.metrics.rouge_kernels import (
    BITS,
    CANDIDATE_TOTAL,
    HITS,
    GramRule,
    Overlap,
    allocate_table,
    count_gram_hits,
    count_lcs_hits,
    count_weighted_hits,
    fill_scores,
)
from quorum.numeric.arrays import Floats, Ints, ratio

MEASURES = ("recall", "precision", "f")
REFERENCE_RULES = ("average", "best")
JACKKNIFE_CHOICES = ("no", "yes")
CORPUS_CHOICES = ("mean", "pooled")
STEM_CHOICES = ("none", "porter", "wordnet")
STOP_CHOICES = ("keep", "drop")


def rouge_l_scores(comparison: ReferenceComparison, tokenization: Tokenization, beta: float = 1.2) -> Floats:
    """Return the (n,) scores of the candidates by ROUGE-L of MS COCO (V15 eq. 12-14).

    A score is (1 + beta^2) P R / (R + beta^2 P), where P and R are each the highest value over the references.
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
    """Return the numbers of shared pairs of words at most `window` apart, and of words but the last `skipped_last`.

    ROUGE-1: window 0, skipped_last 0. ROUGE-2: 1 and -1 (no single words). ROUGE-S4: 5 and -1. ROUGE-SU4: 5 and 1.
    """
    tokens, pairs = comparison.tokens(tokenization), comparison.text_pairs(tokenization)
    totals = _gram_totals(tokens.lengths, window, skipped_last)
    hits = np.empty(pairs.references.size)
    rule = GramRule(window, skipped_last)
    count_gram_hits(pairs, rule, len(tokens.vocabulary), int(totals.max()), hits)
    return Overlap(hits, totals, totals, totals, is_rounded=True)  # the script rounds ranks (see `Overlap`)


def lcs_overlap(comparison: ReferenceComparison, tokenization: Tokenization) -> Overlap:
    """Return the lengths of the longest common subsequences (ROUGE-L)."""
    tokens, pairs = comparison.tokens(tokenization), comparison.text_pairs(tokenization)
    hits = np.empty(pairs.references.size)
    # The number of words of each candidate's references.
    reference_words = np.add.reduceat(tokens.lengths[pairs.references], comparison.pair_starts)
    count_lcs_hits(pairs, len(tokens.vocabulary), int(reference_words.max()), hits)
    totals = tokens.lengths.astype(np.float64)
    return Overlap(hits, totals, totals, totals)


def weighted_lcs_overlap(
    comparison: ReferenceComparison, tokenization: Tokenization, weight: float
) -> Overlap:
    """Return the weights of the longest common subsequences (ROUGE-W), where a run of k words weighs k ^ `weight`."""
    tokens, pairs = comparison.tokens(tokenization), comparison.text_pairs(tokenization)
    max_length = int(tokens.lengths.max())
    # Python and the script use the C library's power; numpy's may differ in the last digit.
    powers = np.array([float(length) ** weight for length in range(max_length + 1)])
    hits = np.empty(pairs.references.size)
    # A table has a row for each word of a reference, and a bit for each word of the candidate, in pieces of BITS.
    piece_counts = -(-tokens.lengths[: comparison.candidate_count] // BITS)  # rounded up
    row_counts = np.maximum.reduceat(tokens.lengths[pairs.references], comparison.pair_starts)
    table = allocate_table(max_length, int((row_counts * piece_counts).max()))
    count_weighted_hits(pairs, powers, table, hits)
    totals = powers[tokens.lengths]
    # The divisors of recall (see the module), of precision, and of the ranks by which the best reference is chosen.
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
    """Return the score of the corpus and the (n,) scores of the candidates, as ROUGE-1.5.5 computes them.

    Args:
        overlap: the hits of a ROUGE variant, such as `gram_overlap`.
        measure: one of MEASURES.
        reference_rule: one of REFERENCE_RULES, which says how several references are combined.
        jackknife: "yes" leaves out each reference in turn, and averages the scores (§2.1).
        corpus: "mean" is the mean of the scores of candidates, and "pooled" the ratio of summed counts.
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
    column = MEASURES.index(measure)
    candidate_scores = scores[:, column].copy()
    if corpus == "mean":
        return float(np.mean(candidate_scores)), candidate_scores
    hits, reference_total, candidate_total = scores[:, HITS:].sum(axis=0).tolist()
    # The script does not take the root of ROUGE-W's pooled ratios.
    recall, precision = hits / max(reference_total, 1.0), hits / max(candidate_total, 1.0)
    denominator = (1 - alpha) * precision + alpha * recall
    f = precision * recall / denominator if denominator > 0 else 0.0
    return (recall, precision, f)[column], candidate_scores


def _gram_totals(lengths: Ints, window: int, skipped_last: int) -> Floats:
    """Return the (texts,) numbers of n-grams of texts with these (texts,) numbers of words, as floats."""
    totals = np.maximum(lengths - skipped_last, 0) if skipped_last >= 0 else np.zeros_like(lengths)
    for distance in range(1, window + 1):
        totals = totals + np.maximum(lengths - distance, 0)
    return totals.astype(np.float64)
