"""H13's Bleu-pre filter (§4.3.2): which image-caption pairs are worth a person's time. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from judgments.material import Text


def passes_filter(
    captions: Sequence[Sequence[Text]],
    references: Sequence[Sequence[str]],
    *,
    threshold: float,
    order: str,
) -> npt.NDArray[np.bool_]:
    """Which captions pass for which images: Bleu-pre at or above ``threshold``.

    Args:
        captions: the captions drawn for each of m images, N in all.
        references: the references of each of the images.
        threshold: 0.25 in H13; equality passes. Compared exactly, as integers: thousands of pairs hit 1/4 or 1/3.
        order: ``stop-first`` or ``stem-first``.

    Returns:
        (N,) bool, image by image.
    """
    # Here and not above: the metrics bring a compiler along, which pages of workers never need.
    from evaluation.metrics import bleu_pre_pairs

    number: dict[str, int] = {}
    columns: dict[int, npt.NDArray[np.int64]] = {}  # by list: crossed designs have one for all images
    for texts in captions:
        if id(texts) not in columns:
            columns[id(texts)] = np.array(
                [number.setdefault(text.text, len(number)) for text in texts], dtype=np.int64
            )
    pairs = [columns[id(texts)] for texts in captions]
    hits, totals = bleu_pre_pairs(list(number), references, pairs, order=order)
    limit = Fraction(str(threshold)).limit_denominator(10_000)
    total = totals[np.concatenate(pairs)]
    passed: npt.NDArray[np.bool_] = hits * limit.denominator >= total * limit.numerator
    return passed & (total > 0)
