"""Find points of a picture, and their features (Hodosh et al. 2013, section 3.3).

A grid of points covers each picture. Each point has a colour (CIELAB), a texture (responses to edges and bars of
several directions and sizes) and a SIFT descriptor (Lowe 2004: 4 x 4 cells of 8 directions).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import scipy  # submodules load when they are first used
from PIL import Image, ImageCms

from evaluation.errors import EvaluationError
from judgments.datasets.picture_checks import PictureProblem, open_picture, prepare_decoding
from quorum.numeric.arrays import Floats, Ints

PICTURE_SIDE = 160  # pixels of the longer side of the scaled picture from which points are taken
POINT_DISTANCE = 4  # pixels between two points
SIFT_DIRECTIONS = 8
SIFT_CELL_SIDE = 4  # pixels of a side of a cell of a SIFT descriptor
TEXTURE_SIZES = (1.0, 2.0)  # standard deviations, in pixels, of the filters for edges and bars
TEXTURE_DIRECTIONS = 6
SIFT_LIMIT = 0.2  # Lowe: the largest share of the descriptor's length for one direction
_TO_LAB = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB")


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The P points of a picture.

    Attributes:
        positions: (P, 2) row and column as fractions of the sides.
        features: (P, D) features by name, each with its own number D of dimensions.
    """

    positions: Floats
    features: dict[str, Floats]


def read_points(path: Path) -> Points:
    try:
        with open_picture(path) as picture:
            prepare_decoding(picture)
            picture.thumbnail((PICTURE_SIDE, PICTURE_SIDE))
            rgb_picture = picture.convert("RGB")
    except (OSError, PictureProblem) as error:
        raise EvaluationError(f"{path} is no picture that can be read: {error}.") from error
    return points_of(rgb_picture)


def points_of(picture: Image.Image) -> Points:
    """Return the points of a picture in the mode RGB."""
    lab = np.asarray(ImageCms.applyTransform(picture, _TO_LAB), dtype=np.float64)
    # Pillow stores the channels a and b as signed bytes, which NumPy reads as unsigned ones.
    lab[:, :, 1:] = np.where(lab[:, :, 1:] > 127, lab[:, :, 1:] - 256, lab[:, :, 1:])
    light = lab[:, :, 0] / 255
    height, width = light.shape
    rows, columns = _grid_positions(height), _grid_positions(width)
    grid = np.ix_(rows, columns)
    maps = {"colour": lab, "texture": _texture_responses(light), "sift": _sift_descriptors(light)}
    positions = np.stack(np.meshgrid((rows + 0.5) / height, (columns + 0.5) / width, indexing="ij"), axis=-1)
    return Points(
        positions.reshape(-1, 2),
        {name: values[grid].reshape(rows.size * columns.size, -1) for name, values in maps.items()},
    )


def _grid_positions(size: int) -> Ints:
    """Return the pixels at which points stand along a side: every fourth, but at least one."""
    first = POINT_DISTANCE // 2
    return np.arange(first, max(size, first + 1), POINT_DISTANCE).clip(max=size - 1)


def _texture_responses(light: Floats) -> Floats:
    """Return the (H, W, D) strengths of D kinds of edges and bars at each pixel of ``light`` (H, W)."""
    responses = []
    for size in TEXTURE_SIZES:
        # the derivatives of the smoothed picture along its rows (y) and columns (x)
        dy, dx, dyy, dxx, dxy = (
            scipy.ndimage.gaussian_filter(light, size, order=order)
            for order in ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1))
        )
        for direction in range(TEXTURE_DIRECTIONS):
            angle = np.pi * direction / TEXTURE_DIRECTIONS
            cos, sin = np.cos(angle), np.sin(angle)
            # Edges are first derivatives in the direction, and bars second ones. Derivatives shrink with the smoothing;
            # the powers of the size make both sizes comparable.
            responses.append(np.abs(cos * dx + sin * dy) * size)
            responses.append(np.abs(cos * cos * dxx + 2 * cos * sin * dxy + sin * sin * dyy) * size**2)
    return np.stack(responses, axis=-1)


def _sift_descriptors(light: Floats) -> Floats:
    """Return the (H, W, 128) SIFT descriptors around each pixel of ``light`` (H, W), of one orientation and size."""
    dy, dx = (scipy.ndimage.gaussian_filter(light, 1.0, order=order) for order in ((1, 0), (0, 1)))
    strength = np.hypot(dx, dy)
    # The gradient's direction at each pixel, from 0 to 8. The strength is divided between the two nearest of the
    # directions 0 to 7, in proportion to their nearness.
    direction = (np.arctan2(dy, dx) / (2 * np.pi) * SIFT_DIRECTIONS) % SIFT_DIRECTIONS
    share_of_upper = (direction - np.floor(direction))[..., None]
    lower_direction = (np.floor(direction).astype(np.int64) % SIFT_DIRECTIONS)[..., None]
    upper_direction = (lower_direction + 1) % SIFT_DIRECTIONS
    by_direction = np.zeros((*light.shape, SIFT_DIRECTIONS))
    np.put_along_axis(by_direction, lower_direction, strength[..., None] * (1 - share_of_upper), axis=-1)
    np.put_along_axis(by_direction, upper_direction, strength[..., None] * share_of_upper, axis=-1)
    # The mean responses in cells around each pixel, of which 4 x 4 make a descriptor.
    cells = scipy.ndimage.uniform_filter(
        by_direction, size=(SIFT_CELL_SIDE, SIFT_CELL_SIDE, 1), mode="nearest"
    )
    reach = 2 * SIFT_CELL_SIDE
    padded = np.pad(cells, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    height, width = light.shape
    # From a pixel's position in `light` to the four cells of its descriptor along an axis of `padded`.
    offsets = [round((cell - 1.5) * SIFT_CELL_SIDE) + reach for cell in range(4)]
    shifted_cells = [
        padded[down : down + height, right : right + width] for down, right in product(offsets, repeat=2)
    ]
    sift = np.concatenate(shifted_cells, axis=-1)
    # As Lowe does, normalise, limit large values, and normalise again.
    for limit in (SIFT_LIMIT, np.inf):
        lengths = np.linalg.norm(sift, axis=-1, keepdims=True)
        sift = np.minimum(np.divide(sift, lengths, out=np.zeros_like(sift), where=lengths > 0), limit)
    return np.asarray(sift)
