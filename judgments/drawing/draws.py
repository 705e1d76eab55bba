"""Random draws from a study's seed.

Each step of a draw has its own random stream, so that a new step does not change the draws of other steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.material import Image

T = TypeVar("T")


def draw_images(
    images: Sequence[Image], sample_size: str | int, rng: np.random.Generator, *, sample_phrase: str = ""
) -> list[Image]:
    """Return all images, or a random sample of them in import order.

    Args:
        sample_size: a number, or "all".
        sample_phrase: the words in the DesignError that say which images are too few, such as " with a text".
    """
    if sample_size == "all":
        return list(images)
    count = int(sample_size)
    if count > len(images):
        raise DesignError(
            gettext("sampling.images is %(count)s, but the split has fewer items%(which)s: %(n)s.")
            % {"count": count, "n": len(images), "which": sample_phrase},
            field="sampling.images",
        )
    sampled_indices = set(rng.permutation(len(images))[:count].tolist())
    return [image for index, image in enumerate(images) if index in sampled_indices]


def rng_for(seed: int, purpose: str) -> np.random.Generator:
    """Return the random stream of a study's seed for one purpose, such as "packing"."""
    digest = hashlib.sha256(f"{seed}|{purpose}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


def shuffle(values: Sequence[T], rng: np.random.Generator) -> list[T]:
    return [values[index] for index in rng.permutation(len(values)).tolist()]


def balanced_sides(count: int, rng: np.random.Generator) -> list[bool]:
    """Draw for each unit whether it shows the second candidate first. Half of the units do, rounded up or down."""
    second_first_count = count // 2 + (int(rng.integers(2)) if count % 2 else 0)
    return shuffle([True] * second_first_count + [False] * (count - second_first_count), rng)
