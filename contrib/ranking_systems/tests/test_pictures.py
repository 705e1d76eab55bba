"""Kernels between pictures against slow, obvious forms, and points of drawn pictures."""

from itertools import product

import numpy as np
import pytest
from PIL import Image, ImageDraw

from contrib.ranking_systems.kernels.picture_points import points_of
from contrib.ranking_systems.kernels.pictures import Histograms, histogram_kernel, pyramid_kernel
from quorum.numeric.arrays import Floats


def test_image_kernels_intersect_histograms_region_by_region() -> None:
    generator = np.random.default_rng(3)

    def drawn(pictures: int) -> Histograms:
        levels: dict[str, list[Floats]] = {}
        for name in ("colour", "sift"):
            points = generator.integers(0, 5, size=(pictures, 4, 4, 6))  # 16 regions of 6 points
            whole = [points.reshape(pictures, 1, -1), _quarters(points), points.reshape(pictures, 16, 6)]
            levels[name] = [
                np.stack([[np.bincount(own, minlength=5) / 96 for own in picture] for picture in level])
                for level in whole
            ]
        return Histograms(levels)

    one, other = drawn(3), drawn(2)

    def slow(level: int, name: str, i: int, j: int) -> float:
        first, second = one.levels[name][level][i], other.levels[name][level][j]
        return sum(
            min(a, b) for own, its in zip(first, second, strict=True) for a, b in zip(own, its, strict=True)
        )

    flat, pyramid = histogram_kernel(one, other, 2), pyramid_kernel(one, other, 3)
    for i, j in product(range(3), range(2)):
        whole = [slow(0, name, i, j) for name in ("colour", "sift")]
        assert flat[i, j] == pytest.approx(np.mean(whole) ** 2)
        deep = []
        for name in ("colour", "sift"):
            coarse, middle, fine = (slow(level, name, i, j) for level in range(3))
            deep.append(fine + (middle - fine) / 2 + (coarse - middle) / 4)
        assert pyramid[i, j] == pytest.approx(np.mean(deep) ** 3)


def _quarters(points: np.ndarray) -> np.ndarray:
    parts = [points[:, r : r + 2, c : c + 2].reshape(len(points), 1, -1) for r in (0, 2) for c in (0, 2)]
    return np.concatenate(parts, axis=1)


def test_points_have_lab_colours_and_sift_sees_edges_where_they_are() -> None:
    picture = Image.new("RGB", (80, 40), "white")
    ImageDraw.Draw(picture).rectangle((40, 0, 80, 40), fill=(255, 0, 0))
    points = points_of(picture)
    right = points.positions[:, 1] > 0.6
    red = points.features["colour"][right].mean(axis=0)
    assert red[1] > 60  # on the axis from green to red
    assert red[2] > 50  # on the axis from blue to yellow
    near = np.abs(points.positions[:, 1] - 0.5) < 0.1
    lengths = np.linalg.norm(points.features["sift"], axis=1)
    assert lengths[near].min() > 0.9
    assert lengths[points.positions[:, 1] < 0.2].max() == 0
    assert points.features["texture"][near].max() > 5 * points.features["texture"][~near].max()
