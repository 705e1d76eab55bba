"""ROUGE as the script ROUGE-1.5.5 computes it (Lin 2004, *ROUGE: A Package for Automatic Evaluation of Summaries*).

From what a candidate and a reference have in common (`hits`), with totals of the reference and of the candidate:
R = hits / reference total, P = hits / candidate total, F = P R / ((1 - alpha) P + alpha R).

ROUGE-1, -2    n-grams, each counted up to the smaller of its two counts (eq. 1)
ROUGE-L        the longest common subsequence; a caption is one sentence (eq. 2-4)
ROUGE-W        runs of k adjacent words in it weigh k ^ weight (eq. 13-15)
ROUGE-S4       pairs of words with at most four words between them (eq. 16-18)
ROUGE-SU4      the same and single words (§5.2)

Where the script is not its paper, the script is followed: SU4 leaves out the last single word of a text, so that
a caption of one word scores 0; the recall of ROUGE-W divides by (m ^ weight) ^ weight instead of m ^ weight for
a reference of m words, so that a perfect match stays below 1, and the runs are those of reference words alone.

Several references: with `multi="average"` (the script's -f A) hits and totals are summed over the references, with
"best" (-f B) the reference of the highest recall counts alone, the first of equals. The jackknife (Lin 2004 §2.1; the
script does it through its configuration file since version 1.4) leaves out each reference in turn and takes
the mean of the scores; a single reference is never left out. A caption without words scores 0.

All candidates together: with `corpus="mean"` (the script's -t 0) the mean of their scores, with "pooled" (-t 1)
the ratios of their summed hits and totals.
"""

from dataclasses import dataclass

import numpy as np

from evaluation.metrics import rouge_kernels as kernels
from evaluation.metrics.comparison import Comparison, Floats, View
from evaluation.metrics.corpus import Ints, Numbers, Words

MEASURES = ("recall", "precision", "f")  # in the order of the kernel's columns
MULTI = ("average", "best")
JACKKNIFE = ("no", "yes")
CORPUS = ("mean", "pooled")
STEMS = ("none", "porter", "wordnet")
STOPS = ("keep", "drop")


@dataclass(frozen=True, slots=True)
class Overlap:
    """What every pair of a candidate and a reference has in common.

    `hits` (pairs,) float64: what was matched. `of_reference`, `of_candidate`, `base` (texts,) float64: what
    recall, precision and the figure that chooses the best reference divide it by. Ratios are raised to `power`.
    With `rounded` the script chooses by five digits.
    """

    hits: Floats
    of_reference: Floats
    of_candidate: Floats
    base: Floats
    power: float = 1.0
    rounded: bool = False


def gram_overlap(comparison: Comparison, view: View, *, window: int, spared: int = -1) -> Overlap:
    """Pairs of words up to `window` places apart, and single words but for a text's last `spared` ones.

    ROUGE-1: window 0, spared 0. ROUGE-2: window 1. ROUGE-S4: window 5. ROUGE-SU4: window 5, spared 1. A negative
    `spared` counts no single words.
    """
    words = comparison.words(view)
    totals = _gram_totals(words.lengths, window, spared)
    hits = np.empty(comparison.pair_references.size)
    kernels.count_gram_hits(
        *_texts(words), *_pairs(comparison), window, spared, len(words.vocabulary), int(totals.max()), hits
    )
    return Overlap(hits, totals, totals, totals, rounded=True)


def lcs_overlap(comparison: Comparison, view: View) -> Overlap:
    """Longest common subsequences (ROUGE-L)."""
    words = comparison.words(view)
    hits = np.empty(comparison.pair_references.size)
    of_references = np.add.reduceat(words.lengths[comparison.pair_references], comparison.pair_starts)
    kernels.count_lcs_hits(
        *_texts(words), *_pairs(comparison), len(words.vocabulary), int(of_references.max()), hits
    )
    totals = words.lengths.astype(np.float64)
    return Overlap(hits, totals, totals, totals)


def weighted_lcs_overlap(comparison: Comparison, view: View, weight: float) -> Overlap:
    """Weighted longest common subsequences (ROUGE-W): a run of k words counts k ^ weight."""
    words = comparison.words(view)
    longest = int(words.lengths.max())
    # Python's power is the C library's, as the script's is; numpy's own may differ in the last digit.
    powers = np.array([float(length) ** weight for length in range(longest + 1)])
    hits = np.empty(comparison.pair_references.size)
    pieces = -(-words.lengths[: comparison.size] // kernels.BITS)
    rows = np.maximum.reduceat(words.lengths[comparison.pair_references], comparison.pair_starts)
    cells = int((rows * pieces).max())
    kernels.count_weighted_hits(*_texts(words), *_pairs(comparison), powers, longest, cells, hits)
    totals = powers[words.lengths]
    return Overlap(hits, totals**weight, totals, totals, power=1 / weight)


def rouge155_scores(
    comparison: Comparison,
    overlap: Overlap,
    *,
    measure: str = "f",
    multi: str = "average",
    jackknife: str = "no",
    corpus: str = "mean",
    alpha: float = 0.5,
) -> tuple[float, Floats]:
    """The `measure` (of MEASURES) of all candidates together, and (n,) float64 of each, from 0 to 1.

    `multi` (of MULTI) and `jackknife` (of JACKKNIFE) say what several references do, `corpus` (of CORPUS) what
    all candidates together are; `alpha` from 0 to 1 weighs recall against precision in F, 1 gives precision
    alone (the script's -p).
    """
    scores = np.empty((comparison.size, 6))
    kernels.combine(
        overlap.hits,
        overlap.of_reference,
        overlap.of_candidate,
        overlap.base,
        *_pairs(comparison),
        overlap.power,
        overlap.rounded,
        multi == "best",
        jackknife == "yes",
        alpha,
        scores,
    )
    images = scores[:, MEASURES.index(measure)].copy()
    if corpus == "mean":
        return float(np.mean(images)), images
    hits, expected, given = scores[:, 3:].sum(axis=0).tolist()
    # The script takes no root of ROUGE-W's pooled ratios.
    recall, precision = hits / max(expected, 1.0), hits / max(given, 1.0)
    below = (1 - alpha) * precision + alpha * recall
    f = precision * recall / below if below > 0 else 0.0
    return (recall, precision, f)[MEASURES.index(measure)], images


def _texts(words: Words) -> tuple[Numbers, Ints]:
    return words.words, words.starts


def _pairs(comparison: Comparison) -> tuple[Ints, Ints]:
    """The text of each pair's reference, and (n + 1,) where the pairs of each candidate begin."""
    bounds = np.append(comparison.pair_starts, comparison.pair_references.size)
    return comparison.pair_references, bounds


def _gram_totals(lengths: Ints, window: int, spared: int) -> Floats:
    """(texts,) float64: how many n-grams each text has."""
    total = np.maximum(lengths - spared, 0) if spared >= 0 else np.zeros_like(lengths)
    for apart in range(1, window + 1):
        total = total + np.maximum(lengths - apart, 0)
    return total.astype(np.float64)
