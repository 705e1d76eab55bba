"""Kernels between captions (H13 sections 3.1 and 3.4), and between pictures (section 3.3).

A text kernel is learned from the captions of training images, and compares documents: lists of captions. A
document's captions are merged (bag of words), or its kernel values are summed over all pairs of captions
before normalising (trigrams) or averaged (tag rank), as H13 do.

Words are those of the `h13` tokenizer without stop words, stemmed: H13 correct the spelling and lemmatise
instead. The weight of a word is its IDF, log(N / (n_w + 1)) with N training images and n_w whose captions
have the word, at least 0; kernels take its square root, which H13 found best.

A grid of points covers each picture. Each point has a colour (CIELAB), a texture (responses to edges and bars
of several directions and sizes) and a SIFT descriptor (Lowe 2004: 4 x 4 cells of 8 directions). k-means on
points of training pictures finds codebooks of 128 colour, 256 texture and 256 SIFT words. The similarity of
two pictures is the intersection of their word histograms, over the whole picture or, in a spatial pyramid
(Lazebnik et al. 2006), by region.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy  # its parts load when they are first used
from PIL import Image, ImageCms

from evaluation.errors import EvaluationError
from judgments.datasets.pictures import PictureProblem, open_picture, prepare_decoding
from quorum.metrics.text.changes import STOP_FIRST, changed
from quorum.metrics.text.tokenizers import TOKENIZERS
from quorum.metrics.text.tokens import encode_texts
from quorum.numeric.arrays import Floats, Ints, ratio, starts_of
from quorum.numeric.compiling import compiled

Document = Sequence[Sequence[str]]  # captions as lists of words
LONGEST = 3  # words of a sequence
MATCH, GAP = 0.5, 1.0  # H13: what a matched word and a gap multiply a match with
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


def words_of(captions: Sequence[str]) -> list[list[str]]:
    """Return each caption's stems, without stop words."""
    stems = changed(encode_texts(captions, TOKENIZERS["h13"]), STOP_FIRST)
    names = (
        np.array(stems.vocabulary, dtype=object)[stems.tokens]
        if stems.tokens.size
        else np.zeros(0, dtype=object)
    )
    return [part.tolist() for part in np.split(names, stems.starts[1:-1])]


def idf_of(training: Sequence[Document]) -> dict[str, float]:
    """Return word -> log(N / (n_w + 1)), at least 0, over training documents."""
    seen = Counter(word for document in training for word in set(chain.from_iterable(document)))
    return {word: max(0.0, float(np.log(len(training) / (count + 1)))) for word, count in seen.items()}


class TextKernel(Protocol):
    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        """Return (first, second) kernel values."""


@dataclass(frozen=True)
class BagOfWords:
    """The cosine of word counts; `idf` multiplies counts by the root of the word's weight (BoW)."""

    idf: Mapping[str, float] | None = None

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        return _cosines(
            [_counted(doc, self._weight) for doc in first], [_counted(doc, self._weight) for doc in second]
        )

    def _weight(self, word: str) -> float:
        return 1.0 if self.idf is None else self.idf.get(word, 0.0) ** 0.5


@dataclass(frozen=True)
class Trigrams:
    """The truncated string kernel over sequences of at most three words, with gaps between them (Tri).

    A sequence w matches a stretch of words that begins with its first and ends with its last word and has
    those between in order. The value is the sum over sequences of m(s, w) m(s', w) match^(2 l(w)), where m
    adds gap^(length - l(w)) per matching stretch. With `idf` it is multiplied by the root of the product of
    the words' weights.
    """

    idf: Mapping[str, float] | None = None
    match: float = MATCH
    gap: float = GAP

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        return _cosines([self._features(doc) for doc in first], [self._features(doc) for doc in second])

    def _features(self, document: Document) -> dict[tuple[str, ...], float]:
        counts: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for caption in document:
            for begin, word in enumerate(caption):
                counts[(word,)] += 1
                for end in range(begin + 1, len(caption)):
                    ends, length = (word, caption[end]), end - begin + 1
                    counts[ends] += self.gap ** (length - 2)
                    for between in set(caption[begin + 1 : end]):  # a stretch matches a sequence once
                        counts[(word, between, caption[end])] += self.gap ** (length - 3)
        return {feature: count * self._weight(feature) for feature, count in counts.items()}

    def _weight(self, feature: tuple[str, ...]) -> float:
        weight = self.match ** len(feature)
        if self.idf is not None:
            # The kernel has the root of the product of weights, and each side the root of that.
            weight *= float(np.prod([self.idf.get(word, 0.0) for word in feature])) ** 0.25
        return weight


class _Vectors(NamedTuple):
    """Sparse vectors of captions.

    Caption c has words[starts[c]:starts[c + 1]], document d the captions bounds[d] to bounds[d + 1] - 1.
    """

    stems: Ints
    values: Floats
    starts: Ints
    bounds: Ints


@dataclass(frozen=True)
class TagRank:
    """Two chi-square kernels over the places of words in the sentence, averaged (Hwang, Grauman 2012; H13
    3.4.2).

    A word at place p (from 1; the mean of several) weighs 1 / log2(1 + p), and in the second vector the share
    of its training occurrences behind p. Each kernel is exp(-distance / scale), with the mean distance of
    training captions as the scale, since H13 leave it open.
    """

    places: Mapping[str, Ints]
    absolute_scale: float
    relative_scale: float

    @classmethod
    def of(cls, training: Sequence[Document]) -> TagRank:
        by_word: dict[str, list[int]] = {}
        for caption in chain.from_iterable(training):
            for position, word in enumerate(caption, start=1):
                by_word.setdefault(word, []).append(position)
        places = {word: np.sort(np.array(positions, dtype=np.int64)) for word, positions in by_word.items()}
        raw = cls(places, 1.0, 1.0)
        scales = [_mean_distance(vectors) for vectors in raw._vectors(training, {})]
        return cls(places, scales[0], scales[1])

    def __call__(self, first: Sequence[Document], second: Sequence[Document]) -> Floats:
        numbers: dict[str, int] = {}
        left, right = self._vectors(first, numbers), self._vectors(second, numbers)
        scales = (self.absolute_scale, self.relative_scale)
        kernels = [_averaged_over_captions(*parts) for parts in zip(left, right, scales, strict=True)]
        return (kernels[0] + kernels[1]) / 2

    def _vectors(self, documents: Sequence[Document], numbers: dict[str, int]) -> tuple[_Vectors, _Vectors]:
        """Return each caption's absolute and relative word places; `numbers` grows."""
        rows: list[list[tuple[int, float, float]]] = []
        for caption in chain.from_iterable(documents):
            by_word: dict[str, list[int]] = {}
            for position, word in enumerate(caption, start=1):
                by_word.setdefault(word, []).append(position)
            rows.append(
                sorted(
                    (numbers.setdefault(word, len(numbers)), self._absolute(at), self._relative(word, at))
                    for word, at in by_word.items()
                )
            )
        starts = starts_of([len(row) for row in rows])
        bounds = starts_of([len(document) for document in documents])
        flat = list(chain.from_iterable(rows))
        stems_of_rows = np.array([number for number, _, _ in flat], dtype=np.int64)
        absolute, relative = (np.array([row[column] for row in flat], dtype=np.float64) for column in (1, 2))
        return _Vectors(stems_of_rows, absolute, starts, bounds), _Vectors(
            stems_of_rows, relative, starts, bounds
        )

    def _absolute(self, at: Sequence[int]) -> float:
        return float(1 / np.log2(1 + np.mean(at)))

    def _relative(self, word: str, at: Sequence[int]) -> float:
        places = self.places.get(word)
        if places is None:
            return 1.0  # none of no occurrences lies before it
        return float(1 - np.searchsorted(places, np.mean(at), side="right") / places.size)


def idf_overlaps(first: Sequence[Document], second: Sequence[Document], idf: Mapping[str, float]) -> Floats:
    """Return (first, second) F1 of merged captions' words, each occurrence weighted by IDF (H13 3.1)."""

    def weights(document: Document) -> dict[tuple[str, int], float]:
        # The n-th occurrence of a word is a feature of its own, so that a product of features is the smaller count.
        counts = Counter(chain.from_iterable(document))
        return {(word, n): idf.get(word, 0.0) ** 0.5 for word, count in counts.items() for n in range(count)}

    left, right = _features([weights(doc) for doc in first], [weights(doc) for doc in second])
    sums = [(table * table).sum(axis=1) for table in (left, right)]
    shared = (left @ right.T).toarray()
    return ratio(2 * shared, sums[0][:, None] + sums[1][None, :], otherwise=0.0)


def _counted(document: Document, weight: Callable[[str], float]) -> dict[str, float]:
    counts = Counter(chain.from_iterable(document))
    return {word: count * weight(word) for word, count in counts.items()}


def _features(
    first: Sequence[Mapping[Any, float]], second: Sequence[Mapping[Any, float]]
) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
    numbers: dict[Any, int] = {}
    tables = []
    for rows in (first, second):
        columns = [numbers.setdefault(name, len(numbers)) for row in rows for name in row]
        values = np.array([value for row in rows for value in row.values()], dtype=np.float64)
        tables.append((values, columns, starts_of([len(row) for row in rows])))
    left, right = (
        scipy.sparse.csr_array(table, shape=(len(rows), len(numbers)))
        for table, rows in zip(tables, (first, second), strict=True)
    )
    return left, right


def _cosines(first: Sequence[Mapping[Any, float]], second: Sequence[Mapping[Any, float]]) -> Floats:
    """Return (first, second) cosines; 0 without features."""
    left, right = _features(first, second)
    lengths = [np.sqrt((table * table).sum(axis=1)) for table in (left, right)]
    return ratio((left @ right.T).toarray(), np.outer(lengths[0], lengths[1]), otherwise=0.0)


def _mean_distance(vectors: _Vectors) -> float:
    """Return the mean chi-square distance of training captions; 1 if all are equal."""
    mean = float(_chi_squares(vectors, vectors).mean()) if vectors.starts.size > 1 else 0.0
    return mean or 1.0


def _averaged_over_captions(first: _Vectors, second: _Vectors, scale: float) -> Floats:
    """Return (first, second) means of exp(-distance / scale) over pairs of captions."""
    similar = np.exp(-_chi_squares(first, second) / scale)
    sums = np.add.reduceat(np.add.reduceat(similar, first.bounds[:-1], axis=0), second.bounds[:-1], axis=1)
    return np.asarray(sums / np.outer(np.diff(first.bounds), np.diff(second.bounds)))


@compiled
def _chi_squares(first: _Vectors, second: _Vectors) -> Floats:
    """Return (captions, captions) sums of (a - b)^2 / (a + b) over the words of either."""
    sums = np.zeros((first.starts.size - 1, second.starts.size - 1))
    for row in range(sums.shape[0]):
        for column in range(sums.shape[1]):
            i, j = first.starts[row], second.starts[column]
            last, end = first.starts[row + 1], second.starts[column + 1]
            total = 0.0
            while i < last or j < end:
                if j == end or (i < last and first.stems[i] < second.stems[j]):
                    total += first.values[i]
                    i += 1
                elif i == last or second.stems[j] < first.stems[i]:
                    total += second.values[j]
                    j += 1
                else:
                    both = first.values[i] + second.values[j]
                    if both > 0:
                        total += (first.values[i] - second.values[j]) ** 2 / both
                    i += 1
                    j += 1
            sums[row, column] = total
    return sums


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
        with open_picture(path) as picture:
            prepare_decoding(picture)
            picture.thumbnail((SIDE, SIDE))
            plain = picture.convert("RGB")
    except (OSError, PictureProblem) as error:
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


def find_codebooks(pictures: Sequence[Points], generator: np.random.Generator) -> dict[str, Floats]:
    """Return feature -> the centres of its words, found by k-means on a sample of points."""
    centres = {}
    for name, count in WORDS.items():
        parts = []
        for points in pictures:
            values = points.features[name]
            few = values.shape[0] > POINTS
            parts.append(values[generator.choice(values.shape[0], POINTS, replace=False)] if few else values)
        sample = np.concatenate(parts)
        # Equal points, as of a blank picture, can give no more words than there are different ones.
        size = min(count, np.unique(sample, axis=0).shape[0])
        with warnings.catch_warnings():
            # A word that no point is nearest to stays where it began, and does no harm.
            warnings.filterwarnings("ignore", "One of the clusters is empty")
            centres[name] = scipy.cluster.vq.kmeans2(sample, size, minit="points", rng=generator)[0]
    return centres


def histograms_of(pictures: Iterable[Points], codebooks: Mapping[str, Floats]) -> Histograms:
    """Return histograms, reading one picture at a time."""
    parts: dict[str, list[list[Floats]]] = {name: [[] for _ in range(LEVELS)] for name in codebooks}
    for points in pictures:
        for name, centres in codebooks.items():
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


def histogram_kernel(first: Histograms, second: Histograms, power: int) -> Floats:
    """Return (first, second) intersections of whole pictures, averaged over features, to a power (K_Histo)."""
    return _averaged(first, second, lambda levels, other: intersections(levels[0], other[0]), power)


def pyramid_kernel(first: Histograms, second: Histograms, power: int) -> Floats:
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
