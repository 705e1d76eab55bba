"""Kernels between pictures (Hodosh et al. 2013 (H13), section 3.3).

Codebooks of 128 colour, 256 texture and 256 SIFT words are found by k-means on points of training pictures. The
similarity of two pictures is the intersection of their word histograms, over the whole picture or, in a spatial
pyramid (Lazebnik et al. 2006), by region.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # submodules load when they are first used

from contrib.ranking_systems.kernels.picture_points import Points
from quorum.numeric.arrays import Floats, Ints

WORD_COUNTS = {"colour": 128, "texture": 256, "sift": 256}
MAX_POINTS = 1000  # H13: points of a picture for the codebooks
LEVELS = 3  # levels of the pyramid, with 1, 4 and 16 regions


@dataclass(frozen=True, slots=True, eq=False)
class Histograms:
    """The histograms of pictures, as fractions of the picture's points.

    Attributes:
        levels: by feature, an array (pictures, regions, words) for each level of the pyramid.
    """

    levels: dict[str, list[Floats]]


def find_codebooks(pictures: Sequence[Points], generator: np.random.Generator) -> dict[str, Floats]:
    """Return the (words, D) centres of the words of each feature, found by k-means on a sample of points."""
    centres = {}
    for name, count in WORD_COUNTS.items():
        samples = []
        for points in pictures:
            values = points.features[name]
            if len(values) > MAX_POINTS:
                values = values[generator.choice(len(values), MAX_POINTS, replace=False)]
            samples.append(values)
        sample = np.concatenate(samples)
        # If points are equal, as in a blank picture, there can be no more words than different points.
        size = min(count, np.unique(sample, axis=0).shape[0])
        with warnings.catch_warnings():
            # A word that is nearest to no point stays where it began, and does no harm.
            warnings.filterwarnings("ignore", "One of the clusters is empty")
            centres[name], _ = scipy.cluster.vq.kmeans2(sample, size, minit="points", rng=generator)
    return centres


def histograms_of(pictures: Iterable[Points], codebooks: Mapping[str, Floats]) -> Histograms:
    """Return the histograms of pictures. Pictures are read one at a time."""
    shares_by_level: dict[str, list[list[Floats]]] = {name: [[] for _ in range(LEVELS)] for name in codebooks}
    for points in pictures:
        for name, centres in codebooks.items():
            nearest_words, _ = scipy.cluster.vq.vq(points.features[name], centres)
            codes = nearest_words.astype(np.int64)
            for level in range(LEVELS):
                regions = _regions(points.positions, 2**level)
                shares = _shares(regions, codes, region_count=4**level, word_count=len(centres))
                shares_by_level[name][level].append(shares)
    return Histograms(
        {
            name: [np.stack(shares_of_pictures) for shares_of_pictures in levels]
            for name, levels in shares_by_level.items()
        }
    )


def _regions(positions: Floats, per_side: int) -> Ints:
    """Return the region of each point, if the picture is divided into ``per_side`` x ``per_side`` regions."""
    # Positions are fractions of the sides; the minimum is for those on the last edge. Regions are numbered by row.
    cells = np.minimum((positions * per_side).astype(np.int64), per_side - 1)
    rows, columns = cells.T
    return rows * per_side + columns


def _shares(regions: Ints, codes: Ints, *, region_count: int, word_count: int) -> Floats:
    """Return the (regions, words) fractions of the picture's points, from the region and the word of each point."""
    # the number of points in each cell of a flattened (regions, words) table
    counts = np.bincount(regions * word_count + codes, minlength=region_count * word_count)
    return np.asarray(counts.reshape(region_count, word_count) / regions.size)


def histogram_kernel(first: Histograms, second: Histograms, power: int) -> Floats:
    """Return the kernel matrix of whole pictures (H13's K_Histo).

    It is the mean over features of the histogram intersections; this mean is raised to ``power``. The matrix has a row
    for each of ``first``, and a column for each of ``second``.
    """
    return _average_over_features(first, second, _whole_picture_intersections, power)


def _whole_picture_intersections(first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
    """Return the histogram intersections of one feature at the first level, which has one region."""
    return intersections(first[0], second[0])


def pyramid_kernel(first: Histograms, second: Histograms, power: int) -> Floats:
    """Return the matrix of the pyramid kernel (H13's K_Py): the mean over features, which is raised to ``power``.

    The matrix has a row for each of ``first``, and a column for each of ``second``. With I_l the intersections at
    level l, a feature's kernel is I_L + sum over l < L of (I_l - I_(l+1)) / 2^(L - l).
    """
    return _average_over_features(first, second, _pyramid, power)


def _pyramid(first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
    """Return the pyramid kernel of one feature, from the histograms of each level."""
    by_level = [
        intersections(shares, other_shares) for shares, other_shares in zip(first, second, strict=True)
    ]
    last_level = len(by_level) - 1
    total = by_level[last_level]
    for level in range(last_level):
        total = total + (by_level[level] - by_level[level + 1]) / 2 ** (last_level - level)
    return total


def intersections(first: Floats, second: Floats) -> Floats:
    """Return the histogram intersections: the sums over regions and words of the smaller fraction.

    The matrix has a row for each of ``first``, and a column for each of ``second``.

    Args:
        first, second: (pictures, regions, words) fractions.
    """
    flat_second = second.reshape(len(second), -1)
    return np.stack([np.minimum(picture.reshape(-1), flat_second).sum(axis=1) for picture in first])


def _average_over_features(
    first: Histograms,
    second: Histograms,
    kernel: Callable[[Sequence[Floats], Sequence[Floats]], Floats],
    power: int,
) -> Floats:
    matrices = [kernel(first.levels[name], second.levels[name]) for name in first.levels]
    return np.asarray(np.mean(matrices, axis=0) ** power)
