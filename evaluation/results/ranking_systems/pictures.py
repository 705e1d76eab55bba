"""Image kernels over colour, texture and SIFT words (H13 section 3.3).

A grid of points covers each picture. Each point has a colour (CIELAB), a texture (responses to edges and bars
of several directions and sizes) and a SIFT descriptor (Lowe 2004: 4 x 4 cells of 8 directions). k-means on
points of training pictures finds codebooks of 128 colour, 256 texture and 256 SIFT words. The similarity of
two pictures is the intersection of their word histograms, over the whole picture or, in a spatial pyramid
(Lazebnik et al. 2006), by region.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy  # its parts load when they are first used
from PIL import Image, ImageCms, UnidentifiedImageError

from evaluation.errors import EvaluationError
from evaluation.numeric.arrays import Floats, Ints

WORDS = {"colour": 128, "texture": 256, "sift": 256}
SIDE = 160  # pixels of the longer side of the picture that is looked at
STEP = 4  # pixels between two points
POINTS, PICTURES = 1000, 200  # H13: points of a picture, and pictures, for the codebooks
LEVELS = 3  # of the pyramid: 1, 4 and 16 regions
DIRECTIONS = 8
CELL = 4  # pixels of a side of a cell of a SIFT descriptor
TEXTURE_SIZES = (1.0, 2.0)
TEXTURE_DIRECTIONS = 6
SIFT_LIMIT = 0.2  # Lowe: a direction has at most this share of the descriptor's length

_TO_LAB = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB")


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """A picture's points: (P, 2) row and column as shares of the sides, and (P, D) features by name."""

    places: Floats
    features: dict[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Histograms:
    """Per feature and pyramid level, (pictures, regions, words) shares of points."""

    levels: dict[str, list[Floats]]


def read_points(path: Path) -> Points:
    try:
        with Image.open(path) as picture:
            picture.thumbnail((SIDE, SIDE))
            plain = picture.convert("RGB")
    except (OSError, UnidentifiedImageError) as error:
        raise EvaluationError(f"{path} is no picture that can be read: {error}.") from error
    return points_of(plain)


def points_of(picture: Image.Image) -> Points:
    lab = np.asarray(ImageCms.applyTransform(picture, _TO_LAB), dtype=np.float64)
    # Pillow stores a and b as signed bytes.
    lab[:, :, 1:] = np.where(lab[:, :, 1:] > 127, lab[:, :, 1:] - 256, lab[:, :, 1:])
    light = lab[:, :, 0] / 255
    height, width = light.shape
    rows, columns = (
        np.arange(STEP // 2, max(size, STEP // 2 + 1), STEP).clip(max=size - 1) for size in (height, width)
    )
    grid = np.ix_(rows, columns)
    maps = {"colour": lab, "texture": _texture(light), "sift": _sift(light)}
    places = np.stack(np.meshgrid((rows + 0.5) / height, (columns + 0.5) / width, indexing="ij"), axis=-1)
    return Points(
        places.reshape(-1, 2),
        {name: values[grid].reshape(rows.size * columns.size, -1) for name, values in maps.items()},
    )


def _texture(light: Floats) -> Floats:
    """Return (H, W, D) response sizes to edges and bars in several directions."""
    responses = []
    for size in TEXTURE_SIZES:
        dy, dx, dyy, dxx, dxy = (
            scipy.ndimage.gaussian_filter(light, size, order=order)
            for order in ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1))
        )
        for direction in range(TEXTURE_DIRECTIONS):
            angle = np.pi * direction / TEXTURE_DIRECTIONS
            cos, sin = np.cos(angle), np.sin(angle)
            responses.append(np.abs(cos * dx + sin * dy) * size)
            responses.append(np.abs(cos * cos * dxx + 2 * cos * sin * dxy + sin * sin * dyy) * size**2)
    return np.stack(responses, axis=-1)


def _sift(light: Floats) -> Floats:
    """Return (H, W, 128) SIFT descriptors around every pixel, upright and of one size."""
    dy, dx = (scipy.ndimage.gaussian_filter(light, 1.0, order=order) for order in ((1, 0), (0, 1)))
    strength = np.hypot(dx, dy)
    turn = (np.arctan2(dy, dx) / (2 * np.pi) * DIRECTIONS) % DIRECTIONS
    low = np.floor(turn).astype(np.int64) % DIRECTIONS
    share = turn - np.floor(turn)
    by_direction = np.zeros((*light.shape, DIRECTIONS))
    np.put_along_axis(by_direction, low[..., None], (strength * (1 - share))[..., None], axis=-1)
    high = ((low + 1) % DIRECTIONS)[..., None]
    np.put_along_axis(
        by_direction,
        high,
        np.take_along_axis(by_direction, high, axis=-1) + (strength * share)[..., None],
        axis=-1,
    )
    cells = scipy.ndimage.uniform_filter(by_direction, size=(CELL, CELL, 1), mode="nearest")
    reach = 2 * CELL
    wide = np.pad(cells, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    height, width = light.shape
    offsets = [round((cell - 1.5) * CELL) + reach for cell in range(4)]
    sift = np.concatenate(
        [wide[down : down + height, right : right + width] for down in offsets for right in offsets], axis=-1
    )
    for limit in (SIFT_LIMIT, np.inf):
        lengths = np.linalg.norm(sift, axis=-1, keepdims=True)
        sift = np.minimum(np.divide(sift, lengths, out=np.zeros_like(sift), where=lengths > 0), limit)
    return np.asarray(sift)


@dataclass(frozen=True, slots=True, eq=False)
class Codebooks:
    centres: dict[str, Floats]

    @classmethod
    def of(cls, pictures: Sequence[Points], generator: np.random.Generator) -> Codebooks:
        """Find words by k-means on a sample of points."""
        centres = {}
        for name, count in WORDS.items():
            parts = []
            for points in pictures:
                values = points.features[name]
                few = values.shape[0] > POINTS
                parts.append(
                    values[generator.choice(values.shape[0], POINTS, replace=False)] if few else values
                )
            sample = np.concatenate(parts)
            # Equal points, as of a blank picture, can give no more words than there are different ones.
            size = min(count, np.unique(sample, axis=0).shape[0])
            with warnings.catch_warnings():
                # A word that no point is nearest to stays where it began, and does no harm.
                warnings.filterwarnings("ignore", "One of the clusters is empty")
                centres[name] = scipy.cluster.vq.kmeans2(sample, size, minit="points", rng=generator)[0]
        return cls(centres)

    def histograms(self, pictures: Iterable[Points]) -> Histograms:
        """Return histograms, reading one picture at a time."""
        parts: dict[str, list[list[Floats]]] = {name: [[] for _ in range(LEVELS)] for name in self.centres}
        for points in pictures:
            for name, centres in self.centres.items():
                codes = scipy.cluster.vq.vq(points.features[name], centres)[0].astype(np.int64)
                for level in range(LEVELS):
                    regions = _region(points.places, 2**level)
                    parts[name][level].append(_shares(regions, codes, 4**level, len(centres)))
        return Histograms({name: [np.stack(shares) for shares in levels] for name, levels in parts.items()})


def _region(places: Floats, side: int) -> Ints:
    cells = np.minimum((places * side).astype(np.int64), side - 1)
    return cells[:, 0] * side + cells[:, 1]


def _shares(regions: Ints, codes: Ints, count: int, size: int) -> Floats:
    """Return (regions, words) shares of the picture's points."""
    table = np.bincount(regions * size + codes, minlength=count * size).reshape(count, size)
    return np.asarray(table / regions.size)


def histogram_kernel(first: Histograms, second: Histograms, power: int = 2) -> Floats:
    """Return (first, second) intersections of whole pictures, averaged over features, to a power (K_Histo)."""
    return _averaged(first, second, lambda levels, other: intersections(levels[0], other[0]), power)


def pyramid_kernel(first: Histograms, second: Histograms, power: int = 2) -> Floats:
    """Return (first, second) values of the pyramid kernel, averaged over features, to a power (K_Py).

    With I_l the intersections at level l, I_L + sum over l < L of (I_l - I_(l+1)) / 2^(L - l).
    """
    return _averaged(first, second, _pyramid, power)


def _pyramid(first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
    levels = [intersections(shares, other) for shares, other in zip(first, second, strict=True)]
    finest = len(levels) - 1
    total = levels[finest]
    for level in range(finest):
        total = total + (levels[level] - levels[level + 1]) / 2 ** (finest - level)
    return total


def intersections(first: Floats, second: Floats) -> Floats:
    """Return (first, second) sums of the smaller shares of (pictures, regions, words)."""
    wide = second.reshape(len(second), -1)
    return np.stack([np.minimum(picture.reshape(-1), wide).sum(axis=1) for picture in first])


def _averaged(
    first: Histograms,
    second: Histograms,
    kernel: Callable[[Sequence[Floats], Sequence[Floats]], Floats],
    power: int,
) -> Floats:
    parts = [kernel(first.levels[name], second.levels[name]) for name in first.levels]
    return np.asarray(np.mean(parts, axis=0) ** power)
