"""H13's Bleu-pre filter (§4.3.2): which image-caption pairs are worth a person's time. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt


def passes_filter(
    captions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    threshold: float,
    order: str,
) -> npt.NDArray[np.bool_]:
    """Which captions pass for which images: Bleu-pre at or above ``threshold``.

    Args:
        captions: n texts.
        references: the references of each of m images.
        threshold: 0.25 in H13; equality passes. Compared exactly, as integers: thousands of pairs hit 1/4 or 1/3.
        order: ``stop-first`` or ``stem-first``.

    Returns:
        (m, n) bool.
    """
    # Here and not above: the metrics bring a compiler along, which pages of workers never need.
    from evaluation.metrics import bleu_pre_matrix

    hits, totals = bleu_pre_matrix(captions, references, order=order)
    limit = Fraction(str(threshold)).limit_denominator(10_000)
    passed: npt.NDArray[np.bool_] = hits * limit.denominator >= totals * limit.numerator
    return passed & (totals > 0)
