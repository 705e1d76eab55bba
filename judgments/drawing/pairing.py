"""Draw candidate pairs of the kinds HC, HI, HM and MM (V15 §6), and image-caption pairs filtered by Bleu-pre.

HC pairs two human captions of one image, HI a caption of the image with one of another image, HM a human with a
machine caption, MM two machine captions. Human candidates come from the references and are excluded from that
pair's references, with any equal text. Equal texts are never paired. Two texts are compared for an image once per
study. Machines take part about equally often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, groupby
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from django.utils.translation import gettext, ngettext

from common.amounts import thousands
from common.errors import DesignError
from common.texts import one_text
from judgments.design.tables import CROSSED, PAIR_KINDS
from judgments.drawing.controls import divide_images, foreign_captions
from judgments.drawing.material import (
    Division,
    Image,
    Material,
    Pair,
    Text,
    content_key,
    draw_images,
    rng_for,
    shuffled,
)

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

DEFAULT_PER_KIND = 100

MOST_BY_DEFAULT = 1000  # pairs of systems; V15 draws as many of each kind

HELD_BACK = {"HC": 2, "HI": 1, "HM": 1, "MM": 0}  # references that are candidates themselves, at least

Machines = tuple[str, ...]

Comparison = tuple[str, frozenset[str]]  # an image and the two texts of a pair


@dataclass(frozen=True, slots=True)
class _Option:
    first: Text
    second: Text
    first_system: str | None = None
    second_system: str | None = None


@dataclass(frozen=True, slots=True)
class DrawnPairs:
    """The candidate pairs of a study; ``passed_over`` counts those with too few references."""

    pairs: list[Pair]
    passed_over: int = 0


def draw_pairs(
    material: Material,
    images: Sequence[Image],
    *,
    wanted: dict[str, int],
    references: str | int,
    source: str,
    seed: int,
    bare: bool = False,
    only: Sequence[str] = (),
) -> DrawnPairs:
    """Draw the candidate pairs of a study, ``wanted`` of each kind.

    Args:
        wanted: kind -> number; empty means ``default_count`` of each, or as many as there are.
        references: references per pair, or ``"all"``. Pairs with fewer are passed over.
        source: ``published`` takes the dataset's pairs, ``references`` draws new ones, ``auto`` prefers published
            ones.
        bare: whether images without references give pairs too, as nobody sees those.
        only: ids of pairs to keep of those drawn, or of all published ones. Empty: all.

    Raises:
        DesignError: the dataset has too few pairs of a kind, or too few with enough references. Unusable published
            pairs (equal texts, duplicates) count here, though they are left out.
    """
    use_published = source == "published" or (source == "auto" and bool(material.published))
    if use_published and not material.published:
        raise DesignError(
            gettext("sampling.source is 'published', but dataset %(name)r comes with no candidate pairs.")
            % {"name": material.name},
            field="sampling.source",
        )
    if only and use_published:
        material = replace(
            material, published=tuple(pair for pair in material.published if pair.key in set(only))
        )
        wanted = dict(Counter(pair.kind for pair in material.published))
    draw = _Draw(material, images, wanted, use_published, seed, bare)
    least = 0 if references == "all" else int(references)
    drawn = draw.of_each_kind(least)
    if not (only and use_published):  # of those, what is lacking is named below
        draw.refuse_too_few(drawn, least)
    pairs = [pair for of_kind in drawn.of_kind.values() for pair in of_kind]
    if only:
        lacking = set(only) - {pair.key for pair in pairs}
        if lacking:
            raise not_drawn(lacking, "candidate pair")
        pairs = [pair for pair in pairs if pair.key in set(only)]
    if not pairs:
        raise DesignError(
            gettext("Dataset %(name)r gives no candidate pairs for this design (%(n)s images are judged).")
            % {"name": material.name, "n": len(images)},
            field="sampling.pairs",
        )
    return DrawnPairs(
        [_with_references(pair, references, rng_for(seed, f"references {pair.key}")) for pair in pairs],
        drawn.passed_over,
    )


def count_pairs(
    material: Material,
    images: Sequence[Image],
    *,
    wanted: dict[str, int],
    references: str | int,
    source: str,
    seed: int,
    bare: bool = False,
) -> dict[str, int]:
    """Return how many pairs of each kind ``draw_pairs`` can draw, up to ``wanted``."""
    published = source == "published" or (source == "auto" and bool(material.published))
    draw = _Draw(material, images, wanted, published, seed, bare)
    drawn = draw.of_each_kind(0 if references == "all" else int(references))
    return {kind: draw.available_count(drawn, kind) if kind in drawn.of_kind else 0 for kind in wanted}


def contests_of_systems(images: Sequence[Image]) -> int:
    """Return how many pairs let each two systems meet on every image, up to ``MOST_BY_DEFAULT`` or one an image."""
    systems = {name for image in images for name, _ in image.outputs}
    return min(len(images) * comb(len(systems), 2), max(MOST_BY_DEFAULT, len(images)))


def not_drawn(lacking: Collection[str], what: str) -> DesignError:
    """Return an error about missing ids of ``sampling.only``."""
    many = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    return DesignError(
        gettext(
            "The design asks for %(what)s %(min)r%(many)s alone, which this design does not draw; ids "
            "hold for the dataset, protocol, sampling and seed that they were drawn with."
        )
        % {"what": what, "min": min(lacking), "many": many},
        field="sampling.only",
    )


def system_names(pair: Pair) -> tuple[str, str]:
    """Return the sorted names of the systems of a pair."""
    first, second = sorted((pair.first_system or "", pair.second_system or ""))
    return first, second


def _with_references(pair: Pair, wanted: str | int, rng: np.random.Generator) -> Pair:
    if wanted == "all":
        return pair
    chosen = sorted(rng.permutation(len(pair.references))[: int(wanted)].tolist())
    return replace(pair, references=tuple(pair.references[index] for index in chosen))


@dataclass
class _Drawn:
    """The pairs drawn; ``passed_over`` counts those with fewer than ``least`` references."""

    least: int
    bare: bool = False
    of_kind: dict[str, list[Pair]] = field(default_factory=dict)
    compared: set[Comparison] = field(default_factory=set)
    passed_over: int = 0

    def accept(self, pair: Pair) -> bool:
        """Note and accept the pair if it has enough references and is no duplicate."""
        if _compared(pair) in self.compared:
            return False
        if len(pair.references) < self.least:
            self.passed_over += 1
            return False
        self.compared.add(_compared(pair))
        return True


@dataclass(frozen=True)
class _Draw:
    """The inputs of a draw except the number of references."""

    material: Material
    images: Sequence[Image]
    wanted: dict[str, int]
    published: bool
    seed: int
    bare: bool

    def of_each_kind(self, least: int) -> _Drawn:
        drawn = _Drawn(least, self.bare)
        for kind in PAIR_KINDS:
            count = self.wanted.get(kind, 0) if self.wanted else self.default_count(kind)
            if not count:
                continue
            rng = rng_for(self.seed, f"pairs {kind}")
            drawn.of_kind[kind] = (
                _draw_published(self.material, self.images, kind, count, drawn, rng)
                if self.published
                else _draw_new(self.images, kind, count, drawn, rng)
            )
        return drawn

    def default_count(self, kind: str) -> int:
        contests = (
            contests_of_systems(self.images) if kind == "MM" and self.bare and not self.published else 0
        )
        return max(DEFAULT_PER_KIND, contests)

    def available_count(self, drawn: _Drawn, kind: str) -> int:
        """Return the available number of pairs of the kind, including unusable published ones."""
        unusable = len(_unusable(self.material, self.images, kind)) if self.published else 0
        return len(drawn.of_kind[kind]) + unusable

    def too_few(self, drawn: _Drawn) -> dict[str, int]:
        if not self.wanted:
            return {}
        most = {kind: self.available_count(drawn, kind) for kind in drawn.of_kind}
        return {kind: count for kind, count in most.items() if count < self.wanted[kind]}

    def is_enough(self, drawn: _Drawn) -> bool:
        return any(drawn.of_kind.values()) and not self.too_few(drawn)

    def refuse_too_few(self, drawn: _Drawn, least: int) -> None:
        """Refuse a draw of too few pairs, and suggest a feasible request."""
        if self.is_enough(drawn) or not (drawn.passed_over or self.too_few(drawn)):
            return
        fitting = self._most_references(least) if drawn.passed_over else 0
        if fitting:
            raise self._short_of_references(drawn, least, fitting)
        short = self.too_few(drawn)
        if not short:
            return
        kind = min(short, key=PAIR_KINDS.index)
        so_many = f" with {least} references" if drawn.passed_over else ""
        raise DesignError(
            gettext(
                "The design asks for %(wanted)s %(kind)s pairs%(so_many)s, but dataset %(name)r "
                "gives %(n)s (from %(n2)s images)."
            )
            % {
                "wanted": self.wanted[kind],
                "kind": kind,
                "so_many": so_many,
                "name": self.material.name,
                "n": len(drawn.of_kind[kind]),
                "n2": len(self.images),
            },
            field=f"sampling.pairs.{kind}",
        )

    def _short_of_references(self, drawn: _Drawn, least: int, fitting: int) -> DesignError:
        short = self.too_few(drawn)
        if not short:
            return DesignError(
                gettext(
                    "The design asks for %(least)s references for each pair, but no candidate pair of "
                    "dataset %(name)r has so many; expected at most %(fitting)s."
                )
                % {"least": least, "name": self.material.name, "fitting": fitting},
                field="sampling.references",
            )
        listed = ", ".join(f"{kind} = {count}" for kind, count in short.items())
        lost = sum(self.wanted[kind] - count for kind, count in short.items())
        return DesignError(
            ngettext(
                "The design asks for %(least)s references for each pair, and dataset %(name)r has fewer pairs with so "
                "many than are asked for; expected at most %(fitting)s for each, with which all pairs asked for can be "
                "drawn, or %(lost)s pair fewer: %(listed)s.",
                "The design asks for %(least)s references for each pair, and dataset %(name)r has fewer pairs with so "
                "many than are asked for; expected at most %(fitting)s for each, with which all pairs asked for can be "
                "drawn, or %(lost)s pairs fewer: %(listed)s.",
                lost,
            )
            % {
                "least": least,
                "name": self.material.name,
                "fitting": fitting,
                "lost": thousands(lost),
                "listed": listed,
            },
            field="sampling.references",
        )

    def _most_references(self, least: int) -> int:
        """Return the largest feasible number of references below ``least``, or 0."""
        low, high = 0, least - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.is_enough(self.of_each_kind(middle)):
                low = middle
            else:
                high = middle - 1
        return low


def _least_used(choices: Iterable[Machines], used: Counter[str]) -> Machines:
    return min(
        choices,
        key=lambda names: (max((used[name] for name in names), default=0), sum(used[name] for name in names)),
    )


def _draw_published(
    material: Material,
    images: Sequence[Image],
    kind: str,
    count: int,
    so_far: _Drawn,
    rng: np.random.Generator,
) -> list[Pair]:
    """Take pairs in random order, those of rarely used machines first."""
    pool: dict[Machines, list[Pair]] = {}
    usable = [pair for pair in _published(material, images, kind) if not _equal(pair)]
    for pair in shuffled(usable, rng):
        names = sorted({name for name in (pair.first_system, pair.second_system) if name} - material.people)
        pool.setdefault(tuple(names), []).append(pair)
    used: Counter[str] = Counter()
    drawn: list[Pair] = []
    while pool and len(drawn) < count:
        machines = _least_used(pool, used)
        pair = pool[machines].pop()
        if not pool[machines]:
            del pool[machines]
        if so_far.accept(pair):
            drawn.append(pair)
            used.update(machines)
    return drawn


def _published(material: Material, images: Sequence[Image], kind: str) -> list[Pair]:
    judged = {image.name for image in images}
    return [pair for pair in material.published if pair.kind == kind and pair.image in judged]


def _equal(pair: Pair) -> bool:
    return one_text(pair.first.text) == one_text(pair.second.text)


def _compared(pair: Pair) -> Comparison:
    return pair.image, frozenset((one_text(pair.first.text), one_text(pair.second.text)))


def _unusable(material: Material, images: Sequence[Image], kind: str) -> list[Pair]:
    """Return published pairs of equal texts and duplicates, mirrored or not; PASCAL-50S has one and three.

    A design that asks for all 1,000 pairs of a kind gets the others.
    """
    seen: set[Comparison] = set()
    unusable = []
    for pair in _published(material, images, kind):
        if _equal(pair) or _compared(pair) in seen:
            unusable.append(pair)
        seen.add(_compared(pair))
    return unusable


def pairs_left_out(
    material: Material, images: Sequence[Image], *, wanted: dict[str, int], drawn: Sequence[Pair]
) -> dict[str, int]:
    """Return notes on why fewer published pairs were used than requested."""
    short = sum(wanted.values()) - len(drawn)
    if short <= 0:
        return {}
    unusable = [pair for kind, count in wanted.items() if count for pair in _unusable(material, images, kind)]
    equal = min(short, sum(_equal(pair) for pair in unusable))
    notes = {"pairs_of_equal_texts_left_out": equal, "repeated_pairs_left_out": short - equal}
    return {name: count for name, count in notes.items() if count}


def _draw_new(
    images: Sequence[Image], kind: str, count: int, so_far: _Drawn, rng: np.random.Generator
) -> list[Pair]:
    used: Counter[str] = Counter()
    waiting = [(image, _options(image, kind, images, rng)) for image in shuffled(images, rng)]
    drawn: list[Pair] = []
    while waiting and len(drawn) < count:
        left = []
        for image, options in waiting:
            if len(drawn) == count:
                break
            pair = _next_pair(image, kind, options, used, so_far, rng)
            if pair is not None:
                drawn.append(pair)
                left.append((image, options))
        waiting = left
    return drawn


def _next_pair(
    image: Image,
    kind: str,
    options: dict[Machines, Iterator[_Option]],
    used: Counter[str],
    so_far: _Drawn,
    rng: np.random.Generator,
) -> Pair | None:
    while options:
        machines = _least_used(options, used)
        option = next(options[machines], None)
        if option is None:
            del options[machines]
            continue
        texts = frozenset((one_text(option.first.text), one_text(option.second.text)))
        if len(texts) < 2 or (image.name, texts) in so_far.compared:
            continue
        left = len(image.references) - HELD_BACK[kind]
        if 0 < left < so_far.least:
            so_far.passed_over += 1
            continue
        pair = _as_pair(image, kind, option, rng)
        if (pair.references or (so_far.bare and not image.references)) and so_far.accept(pair):
            used.update(machines)
            return pair
    return None


def _options(
    image: Image, kind: str, images: Sequence[Image], rng: np.random.Generator
) -> dict[Machines, Iterator[_Option]]:
    references = shuffled(image.references, rng)
    outputs = shuffled(image.outputs, rng)
    if kind == "HC":
        return {(): (_Option(first, second) for first, second in combinations(references, 2))}
    if kind == "HI":
        return {(): _with_foreign(image, references, images, rng)}
    if kind == "HM":
        return {
            (name,): iter([_Option(human, text, None, name) for human in references])
            for name, text in outputs
        }
    return {
        (first_system, second_system): iter([_Option(first, second, first_system, second_system)])
        for (first_system, first), (second_system, second) in combinations(outputs, 2)
        if first_system != second_system
    }


def _with_foreign(
    image: Image, references: Sequence[Text], images: Sequence[Image], rng: np.random.Generator
) -> Iterator[_Option]:
    texts = {text.text for text in image.references}
    for first in references:
        other = images[int(rng.integers(len(images)))]
        foreign = [text for text in other.references if text.text not in texts]
        if other.name != image.name and foreign:
            yield _Option(first, foreign[int(rng.integers(len(foreign)))])


def _as_pair(image: Image, kind: str, option: _Option, rng: np.random.Generator) -> Pair:
    if rng.integers(2):
        option = _Option(option.second, option.first, option.second_system, option.first_system)
    first, second = option.first, option.second
    systems = option.first_system, option.second_system
    human = [
        one_text(text.text) for text, system in zip((first, second), systems, strict=True) if system is None
    ]
    # A system that ranks human captions may return the image's own first.
    candidates = {first.key, second.key}
    references = tuple(
        text.key
        for text in image.references
        if one_text(text.text) not in human and text.key not in candidates
    )
    return Pair(
        key=content_key("pair", kind, image.name, first.key, second.key),
        kind=kind,
        image=image.name,
        first=first,
        second=second,
        first_system=systems[0],
        second_system=systems[1],
        references=references,
    )


SEVERAL_IMAGES = 8  # number of images drawn first for each foil; all images if these have too few

Flags = npt.NDArray[np.bool_]

DrawnTexts = Iterator[tuple[Image, list[Text]]]


def passes_filter(
    captions: Sequence[Sequence[Text]],
    references: Sequence[Sequence[str]],
    *,
    threshold: float,
    order: str,
) -> Flags:
    """Return (N,) which captions, image by image, reach the threshold of Bleu-pre (H13: 0.25).

    They are compared exactly, as integers: thousands of pairs hit 1/4 or 1/3.
    """
    # Imported lazily: the metrics load a compiler that workers' pages never need.
    from quorum.metrics import bleu_pre_pairs

    number: dict[str, int] = {}
    columns: dict[int, npt.NDArray[np.int64]] = {}  # cached by list: crossed designs share one for all images
    for texts in captions:
        if id(texts) not in columns:
            columns[id(texts)] = np.array(
                [number.setdefault(text.text, len(number)) for text in texts], dtype=np.int64
            )
    pairs = [columns[id(texts)] for texts in captions]
    hits, totals = bleu_pre_pairs(list(number), references, pairs, order=order)
    limit = Fraction(str(threshold)).limit_denominator(10_000)
    total = totals[np.concatenate(pairs)]
    passed: Flags = hits * limit.denominator >= total * limit.numerator
    return passed & (total > 0)


@dataclass(frozen=True, slots=True)
class ImageCaptions:
    """The captions drawn for an image.

    Attributes:
        texts: n distinct texts.
        passed: (n,) whether the filter passes them; all true without a filter.
        audited: (n,) whether a filtered-out caption is judged to audit the filter.
    """

    image: Image
    texts: Sequence[Text]
    passed: Flags
    audited: Flags

    def judged(self, rng: np.random.Generator, audit: np.random.Generator) -> list[tuple[Text, bool]]:
        """Return each judged text with whether it is for the audit; the audit's draws do not reorder the others."""
        indices = shuffled(np.flatnonzero(self.passed).tolist(), rng)
        for index in shuffled(np.flatnonzero(self.audited).tolist(), audit):
            indices.insert(int(audit.integers(len(indices) + 1)), index)
        return [(self.texts[index], bool(self.audited[index])) for index in indices]

    def fill(
        self, count: int, pool: Sequence[Text], images: Sequence[Image], rng: np.random.Generator
    ) -> list[Text]:
        """Return up to ``count`` more texts: filtered-out ones, then ``pool``, then captions of ``images``."""
        left = np.flatnonzero(~(self.passed | self.audited)).tolist()
        filling = [self.texts[index] for index in shuffled(left, rng)[:count]]
        if len(filling) < count and self.texts is not pool:  # a crossed image has no further ones
            taken = {text.text for text in self.texts}
            several = min(len(pool), len(taken) + count)
            for index in rng.choice(len(pool), size=several, replace=False).tolist():
                if len(filling) == count:
                    break
                if pool[index].text not in taken:
                    filling.append(pool[index])
            if len(filling) < count:
                taken.update(text.text for text in filling)
                spare = foreign_captions(self.image, images, count - len(filling) + len(taken), rng)
                filling += [text for text in spare if text.text not in taken][: count - len(filling)]
        return filling


@dataclass(frozen=True, slots=True)
class CaptionDraw:
    """The image-caption pairs of a study.

    Attributes:
        pool: every distinct text drawn for any image.
        drawn: number of pairs before the filter.
    """

    division: Division
    images: Sequence[ImageCaptions]
    pool: Sequence[Text]
    drawn: int

    @property
    def notes(self) -> dict[str, Any]:
        audited = sum(int(captions.audited.sum()) for captions in self.images)
        return {
            "candidate_pairs": self.drawn,
            "passed_filter": sum(int(captions.passed.sum()) for captions in self.images),
            **({"audited": audited} if audited else {}),
        }


def draw_captions(
    design: StudyDesign, material: Material, unit_keys: Callable[[Image, Sequence[Text]], list[str]]
) -> CaptionDraw:
    """Draw the image-caption pairs of a design; ``unit_keys`` resolves ``sampling.only``.

    Raises:
        DesignError: the dataset cannot supply them.
    """
    division = divide_images(design, material)
    wanted, rng = design.sampling.images, rng_for(design.seed, "images")
    if design.sampling.pairs_from == CROSSED:
        everything = _every_text(division.judged)
        drawn = [(image, everything) for image in draw_images(division.judged, wanted, rng)]
        pool: Sequence[Text] = everything
    else:
        texts_by_image = {
            image.name: texts
            for image, texts in _SOURCES[design.sampling.pairs_from](design, material, division)
        }
        able = [image for image in division.judged if texts_by_image.get(image.name)]
        pool = _distinct(text for image in able for text in texts_by_image[image.name])
        which = f" with captions to be judged (sampling.pairs_from is {design.sampling.pairs_from!r})"
        drawn = [(image, texts_by_image[image.name]) for image in draw_images(able, wanted, rng, which=which)]
    if not pool:
        raise _nothing_to_judge(design, material)
    captions = _apply_filter(design, drawn)
    pairs = sum(len(texts) for _, texts in drawn)
    if design.sampling.only:
        captions = _only_named(design.sampling.only, captions, unit_keys)
    return CaptionDraw(division, captions, pool, pairs)


def _distinct(texts: Iterable[Text]) -> list[Text]:
    return list({text.text: text for text in reversed(list(texts))}.values())[::-1]


def _every_text(images: Sequence[Image]) -> list[Text]:
    texts: dict[str, Text] = {}
    for image in images:
        for _, text in image.outputs:
            texts.setdefault(text.text, text)
    return list(texts.values())


def _outputs(design: StudyDesign, material: Material, division: Division) -> DrawnTexts:
    for image in division.judged:
        yield image, _distinct(text for _, text in image.outputs)


def _top_k(design: StudyDesign, material: Material, division: Division) -> DrawnTexts:
    """Yield the union of the first k of every ranked list with the image (H13 §4.3.2)."""
    k, task = design.sampling.k, design.sampling.task
    for image in division.judged:
        texts: list[Text] = []
        if task != "search":
            for _, outputs in groupby(image.outputs, key=lambda output: output[0]):
                texts += [text for _, text in outputs][:k]
        if task != "annotation":
            texts += [text for _, text, rank in image.retrieved if rank <= k]
        yield image, _distinct(texts)


def _references(design: StudyDesign, material: Material, division: Division) -> DrawnTexts:
    """Draw references of the image, and captions of other images as foils."""
    wanted, foils = design.sampling.references, design.sampling.foils
    images = division.judged
    for image in images:
        rng = rng_for(design.seed, f"references of {image.name}")
        references = _distinct(image.references)
        if wanted != "all":
            references = [
                references[index]
                for index in sorted(rng.permutation(len(references))[: int(wanted)].tolist())
            ]
        # A few images suffice; scanning all of them for each image is slow.
        several = rng.choice(len(images), size=min(len(images), SEVERAL_IMAGES * foils), replace=False)
        other = foreign_captions(image, [images[index] for index in several.tolist()], foils, rng)
        if len(other) < foils:
            other = foreign_captions(image, images, foils, rng)
        yield image, references + other


def _listed(design: StudyDesign, material: Material, division: Division) -> DrawnTexts:
    by_key: dict[str, Text] = {}
    by_text: dict[str, Text] = {}
    for image in material.images:
        for text in (
            *image.references,
            *(text for _, text in image.outputs),
            *(text for _, text, _ in image.retrieved),
        ):
            by_key.setdefault(text.key, text)
            by_text.setdefault(one_text(text.text), text)
    judged = {image.name: image for image in division.judged}
    texts_by_image: dict[str, list[Text]] = {}
    for number, (name, caption) in enumerate(design.sampling.listed, start=1):
        if name not in judged:
            raise DesignError(
                gettext(
                    "sampling.listed: pair %(number)s names image %(name)r, which is none of the judged "
                    "images of dataset %(name2)r (split %(split)r, without those reserved for control "
                    "items)."
                )
                % {"number": number, "name": name, "name2": material.name, "split": design.sampling.split},
                field="sampling.listed",
            )
        named = by_key.get(caption) or by_text.get(one_text(caption))
        if named is None:
            raise DesignError(
                gettext(
                    "sampling.listed: pair %(number)s names caption %(caption)r, which is neither the id "
                    "nor the text of a caption of dataset %(name)r."
                )
                % {"number": number, "caption": caption[:80], "name": material.name},
                field="sampling.listed",
            )
        texts_by_image.setdefault(name, []).append(named)
    for name, texts in texts_by_image.items():
        yield judged[name], _distinct(texts)


_SOURCES = {"outputs": _outputs, "top-k": _top_k, "references": _references, "list": _listed}


def _nothing_to_judge(design: StudyDesign, material: Material) -> DesignError:
    name, split = material.name, design.sampling.split
    if design.sampling.pairs_from == "references":
        return DesignError(
            gettext("no image of split %(split)r of dataset %(name)r has a reference caption.")
            % {"split": split, "name": name},
            field="sampling.pairs_from",
        )
    if design.sampling.pairs_from == "top-k" and design.sampling.task == "search":
        return DesignError(
            gettext(
                "no system of dataset %(name)r ranked an image of split %(split)r among its first "
                "%(k)s for a caption; import rankings with --task search first."
            )
            % {"name": name, "split": split, "k": design.sampling.k},
            field="sampling.task",
        )
    return DesignError(
        gettext(
            "no system of dataset %(name)r gave a caption for an image of split %(split)r; "
            "import candidates first."
        )
        % {"name": name, "split": split},
        field="sampling.split",
    )


def _apply_filter(design: StudyDesign, drawn: Sequence[tuple[Image, Sequence[Text]]]) -> list[ImageCaptions]:
    lengths = [len(texts) for _, texts in drawn]
    if design.filter.bleu_pre > 0:
        bare = next((image.name for image, _ in drawn if not image.references), None)
        if bare is not None:
            raise DesignError(
                gettext(
                    "filter.bleu_pre is %(bleu_pre)s, which compares a caption with the image's own "
                    "ones, but image %(bare)r has none; expected 0."
                )
                % {"bleu_pre": design.filter.bleu_pre, "bare": bare},
                field="filter.bleu_pre",
            )
        passed = passes_filter(
            [texts for _, texts in drawn],
            [[text.text for text in image.references] for image, _ in drawn],
            threshold=design.filter.bleu_pre,
            order=design.filter.order,
        )
    else:
        passed = np.ones(sum(lengths), dtype=bool)
    audited = np.zeros(sum(lengths), dtype=bool)
    if design.filter.audit:
        dropped = np.flatnonzero(~passed)
        audited[rng_for(design.seed, "audit").permutation(dropped)[: design.filter.audit]] = True
    ends = np.cumsum(lengths)[:-1]
    flags = zip(np.split(passed, ends), np.split(audited, ends), strict=True)
    return [ImageCaptions(*pair, *image_flags) for pair, image_flags in zip(drawn, flags, strict=True)]


def _only_named(
    ids: Sequence[str],
    captions: Sequence[ImageCaptions],
    unit_keys: Callable[[Image, Sequence[Text]], list[str]],
) -> list[ImageCaptions]:
    lacking = set(ids)
    restricted = []
    for drawn in captions:
        keys = unit_keys(drawn.image, drawn.texts)
        wanted = np.array([key in lacking for key in keys], dtype=bool)
        lacking.difference_update(keys)
        restricted.append(replace(drawn, passed=drawn.passed & wanted, audited=drawn.audited & wanted))
    if lacking:
        raise not_drawn(lacking, "unit")
    return restricted
