"""ROUGE-L as the MS COCO caption evaluation computes it (Lin 2004; V15 eq. 12-14), beta = 1.2."""

import numpy as np

from evaluation.metrics.comparison import Comparison, Floats, View
from evaluation.metrics.rouge155 import lcs_overlap


def rouge_l_scores(comparison: Comparison, view: View, beta: float = 1.2) -> Floats:
    """(n,) float64: ROUGE-L of every candidate, (1 + beta^2) P R / (R + beta^2 P).

    Precision and recall are each the best over the references, then combined. A caption without words
    counts as one empty word, so that it matches another such caption and nothing else.
    """
    lengths = comparison.words(view).lengths
    ours = np.repeat(lengths[: comparison.size], comparison.reference_counts)
    theirs = lengths[comparison.pair_references]
    common = np.where(ours + theirs == 0, 1.0, lcs_overlap(comparison, view).hits)
    precision = np.maximum.reduceat(common / np.maximum(ours, 1), comparison.pair_starts)
    recall = np.maximum.reduceat(common / np.maximum(theirs, 1), comparison.pair_starts)
    weighted = recall + beta**2 * precision
    return np.divide(
        (1 + beta**2) * precision * recall, weighted, out=np.zeros_like(weighted), where=weighted > 0
    )
