"""Candidate pairs of the kinds HC, HI, HM and MM (V15 §6).

HC pairs two human captions of one image, HI a caption of the image with one of another image, HM a human with a
machine caption, MM two machine captions. Human candidates come from the references and are excluded from that
pair's references, with any equal text. Equal texts are never paired. Two texts are compared for an image once per
study. Machines take part about equally often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from django.utils.translation import gettext, ngettext

from common.amounts import thousands
from common.errors import DesignError
from judgments.design.tables import PAIR_KINDS
from judgments.drawing.material import Image, Material, Pair, Text, content_key, rng_for, shuffled

DEFAULT_PER_KIND = 100
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
    only: Sequence[str] = (),
) -> DrawnPairs:
    """Draw the candidate pairs of a study, ``wanted`` of each kind.

    Args:
        wanted: kind -> number; empty means ``DEFAULT_PER_KIND`` of each, or as many as there are.
        references: references per pair, or ``"all"``. Pairs with fewer are passed over.
        source: ``published`` takes the dataset's pairs, ``references`` draws new ones, ``auto`` prefers published
            ones.
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
    draw = _Draw(material, images, wanted, use_published, seed)
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
) -> dict[str, int]:
    """Return how many pairs of each kind ``draw_pairs`` can draw, up to ``wanted``."""
    published = source == "published" or (source == "auto" and bool(material.published))
    draw = _Draw(material, images, wanted, published, seed)
    drawn = draw.of_each_kind(0 if references == "all" else int(references))
    return {kind: draw.available_count(drawn, kind) if kind in drawn.of_kind else 0 for kind in wanted}


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

    def of_each_kind(self, least: int) -> _Drawn:
        drawn = _Drawn(least)
        for kind in PAIR_KINDS:
            count = self.wanted.get(kind, 0) if self.wanted else DEFAULT_PER_KIND
            if not count:
                continue
            rng = rng_for(self.seed, f"pairs {kind}")
            drawn.of_kind[kind] = (
                _draw_published(self.material, self.images, kind, count, drawn, rng)
                if self.published
                else _draw_new(self.images, kind, count, drawn, rng)
            )
        return drawn

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
    return pair.first.text.strip() == pair.second.text.strip()


def _compared(pair: Pair) -> Comparison:
    return pair.image, frozenset((pair.first.text.strip(), pair.second.text.strip()))


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
        texts = frozenset((option.first.text.strip(), option.second.text.strip()))
        if len(texts) < 2 or (image.name, texts) in so_far.compared:
            continue
        left = len(image.references) - HELD_BACK[kind]
        if 0 < left < so_far.least:
            so_far.passed_over += 1
            continue
        pair = _as_pair(image, kind, option, rng)
        if pair.references and so_far.accept(pair):
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
        text.text.strip() for text, system in zip((first, second), systems, strict=True) if system is None
    ]
    # A system that ranks human captions may return the image's own first.
    candidates = {first.key, second.key}
    references = tuple(
        text.key for text in image.references if text.text.strip() not in human and text.key not in candidates
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
