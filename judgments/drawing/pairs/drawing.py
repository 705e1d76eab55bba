"""Draw candidate pairs of the kinds HC, HI, HM and MM of Vedantam et al. 2015 (V15), section 6.

HC pairs two human captions of one image, HI a caption of the image with a caption of another image, HM a human with a
machine caption, and MM two machine captions. A human candidate is a reference; the pair's references include neither
it nor an equal text. Equal texts are never paired. Two texts are compared for an image once per study. Machines,
that is systems, take part about equally often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import comb

import numpy as np
from django.utils.translation import gettext, ngettext

from common.amounts import thousands
from common.errors import DesignError
from judgments.design.tables.sampling import PAIR_KINDS
from judgments.drawing.draws import rng_for
from judgments.drawing.material import Image, Material, Pair
from judgments.drawing.pairs.comparisons import AcceptedPairs
from judgments.drawing.pairs.new import draw_new
from judgments.drawing.pairs.published import draw_published, unusable_pairs

DEFAULT_PER_KIND = 100

# Largest default number of pairs of systems, unless there are more images. V15 draws 1,000 pairs of each kind.
USUAL_MAX_PAIRS = 1000


@dataclass(frozen=True, slots=True)
class DrawnPairs:
    """The candidate pairs of a study, and the number of pairs with too few references."""

    pairs: list[Pair]
    skipped_pairs: int = 0


def draw_pairs(
    material: Material,
    images: Sequence[Image],
    *,
    pair_counts: dict[str, int],
    references: str | int,
    source: str,
    seed: int,
    allow_no_references: bool = False,
    only_ids: Sequence[str] = (),
) -> DrawnPairs:
    """Draw the candidate pairs of a study.

    Args:
        pair_counts: the number of pairs by kind. If empty, draw a default number of each kind, or all pairs if there
            are fewer.
        references: the number of references per pair, or ``"all"``. Pairs with fewer references are skipped.
        source: ``published`` takes the dataset's pairs; ``references`` draws new pairs; ``auto`` takes the dataset's
            pairs if it has any, and draws new ones otherwise.
        allow_no_references: whether pairs of images without references are drawn, for protocols that show no
            references.
        only_ids: the ids of the pairs to keep, among the drawn pairs or among all published pairs; if empty, keep all.

    Raises:
        DesignError: the dataset has too few pairs of a kind, or too few of them have enough references. Unusable
            published pairs (equal texts, duplicates) count as available, although they are left out.
    """
    uses_published = source == "published" or (source == "auto" and bool(material.published_pairs))
    if uses_published and not material.published_pairs:
        raise DesignError(
            gettext("sampling.source is 'published', but dataset %(name)r has no published candidate pairs.")
            % {"name": material.name},
            field="sampling.source",
        )
    if only_ids and uses_published:
        published_pairs = tuple(pair for pair in material.published_pairs if pair.key in set(only_ids))
        material = replace(material, published_pairs=published_pairs)
        pair_counts = dict(Counter(pair.kind for pair in material.published_pairs))
    drawer = _PairDrawer(material, images, pair_counts, uses_published, seed, allow_no_references)
    min_references = 0 if references == "all" else int(references)
    accepted_pairs = drawer.draw(min_references)
    if not (only_ids and uses_published):  # ids that no published pair has are reported below
        drawer.refuse_too_few(accepted_pairs, min_references)
    pairs = list(chain.from_iterable(accepted_pairs.by_kind.values()))
    if only_ids:
        missing_ids = set(only_ids) - {pair.key for pair in pairs}
        if missing_ids:
            raise missing_ids_error(missing_ids)
        pairs = [pair for pair in pairs if pair.key in set(only_ids)]
    if not pairs:
        raise DesignError(
            gettext("Dataset %(name)r has no candidate pairs that fit this design (judged items: %(n)s).")
            % {"name": material.name, "n": len(images)},
            field="sampling.pairs",
        )
    return DrawnPairs(
        [_with_references(pair, references, rng_for(seed, f"references {pair.key}")) for pair in pairs],
        accepted_pairs.skipped_pairs,
    )


def count_pairs(
    material: Material,
    images: Sequence[Image],
    *,
    pair_counts: dict[str, int],
    references: str | int,
    source: str,
    seed: int,
    allow_no_references: bool = False,
) -> dict[str, int]:
    """Return, by kind, the number of pairs that ``draw_pairs`` draws, plus that of unusable published pairs."""
    uses_published = source == "published" or (source == "auto" and bool(material.published_pairs))
    drawer = _PairDrawer(material, images, pair_counts, uses_published, seed, allow_no_references)
    accepted_pairs = drawer.draw(0 if references == "all" else int(references))
    return {
        kind: drawer.available_count(accepted_pairs, kind) if kind in accepted_pairs.by_kind else 0
        for kind in pair_counts
    }


def count_pairs_of_systems(images: Sequence[Image]) -> int:
    """Return the number of pairs that compare every two systems once on every image.

    Return at most ``USUAL_MAX_PAIRS``, or at most one pair per image if that is more.
    """
    systems = {name for image in images for name, _ in image.outputs}
    return min(len(images) * comb(len(systems), 2), max(USUAL_MAX_PAIRS, len(images)))


def missing_ids_error(missing_ids: Collection[str]) -> DesignError:
    """Return the error about ids of ``sampling.only`` that do not exist."""
    return DesignError(
        ngettext(
            "sampling.only contains %(key)r, but this design does not sample this id. An id is "
            "valid only with the dataset, protocol, sampling and seed that produced it.",
            "sampling.only contains %(n)s ids that this design does not sample, such as %(key)r. "
            "An id is valid only with the dataset, protocol, sampling and seed that produced it.",
            len(missing_ids),
        )
        % {"key": min(missing_ids), "n": len(missing_ids)},
        field="sampling.only",
    )


def system_names(pair: Pair) -> tuple[str, str]:
    """Return the sorted names of a pair's two systems; "" for a person."""
    first, second = sorted((pair.first_system or "", pair.second_system or ""))
    return first, second


def _with_references(pair: Pair, count: str | int, rng: np.random.Generator) -> Pair:
    if count == "all":
        return pair
    indices = sorted(rng.permutation(len(pair.references))[: int(count)].tolist())
    return replace(pair, references=tuple(pair.references[index] for index in indices))


@dataclass(frozen=True)
class _PairDrawer:
    """The inputs of a draw of pairs.

    If too few pairs have enough references, the draw is repeated with fewer references, to name a possible number in
    the error message.
    """

    material: Material
    images: Sequence[Image]
    pair_counts: dict[str, int]
    uses_published: bool
    seed: int
    allow_no_references: bool

    def draw(self, min_references: int) -> AcceptedPairs:
        accepted_pairs = AcceptedPairs(min_references, self.allow_no_references)
        for kind in PAIR_KINDS:
            count = self.pair_counts.get(kind, 0) if self.pair_counts else self.default_count(kind)
            if not count:
                continue
            rng = rng_for(self.seed, f"pairs {kind}")
            accepted_pairs.by_kind[kind] = (
                draw_published(self.material, self.images, kind, count, accepted_pairs, rng)
                if self.uses_published
                else draw_new(self.images, kind, count, accepted_pairs, rng)
            )
        return accepted_pairs

    def default_count(self, kind: str) -> int:
        """Return the number of pairs of a kind to draw if the design has no numbers.

        A protocol without references usually compares systems, so it gets each pair of systems on each image.
        """
        if kind == "MM" and self.allow_no_references and not self.uses_published:
            return max(DEFAULT_PER_KIND, count_pairs_of_systems(self.images))
        return DEFAULT_PER_KIND

    def available_count(self, accepted_pairs: AcceptedPairs, kind: str) -> int:
        """Return the number of available pairs of the kind, including unusable published pairs."""
        unusable_count = len(unusable_pairs(self.material, self.images, kind)) if self.uses_published else 0
        return len(accepted_pairs.by_kind[kind]) + unusable_count

    def shortages_of(self, accepted_pairs: AcceptedPairs) -> dict[str, int]:
        """Return the number of available pairs, by kind, of those kinds of which the design needs more."""
        if not self.pair_counts:
            return {}
        counts = {kind: self.available_count(accepted_pairs, kind) for kind in accepted_pairs.by_kind}
        return {kind: count for kind, count in counts.items() if count < self.pair_counts[kind]}

    def is_enough(self, accepted_pairs: AcceptedPairs) -> bool:
        """Return whether pairs were drawn, as many of each kind as the design needs."""
        return any(accepted_pairs.by_kind.values()) and not self.shortages_of(accepted_pairs)

    def refuse_too_few(self, accepted_pairs: AcceptedPairs, min_references: int) -> None:
        """Raise DesignError if too few pairs were drawn, and suggest numbers that are possible.

        The caller reports datasets without any suitable pair.
        """
        if self.is_enough(accepted_pairs):
            return
        possible_references = self._most_references(min_references) if accepted_pairs.skipped_pairs else 0
        if possible_references:
            raise self._reference_error(accepted_pairs, min_references, possible_references)
        shortages = self.shortages_of(accepted_pairs)
        if not shortages:
            return
        kind = min(shortages, key=PAIR_KINDS.index)
        if accepted_pairs.skipped_pairs:
            sentence = gettext(
                "Dataset %(name)r has too few %(kind)s pairs with enough references (%(least)s each) for the design. "
                "Pairs needed: %(wanted)s; in the dataset: %(n)s (items: %(n2)s)."
            )
        else:
            sentence = gettext(
                "Dataset %(name)r has too few %(kind)s pairs for the design. Pairs needed: %(wanted)s; in the "
                "dataset: %(n)s (items: %(n2)s)."
            )
        raise DesignError(
            sentence
            % {
                "wanted": self.pair_counts[kind],
                "kind": kind,
                "least": min_references,
                "name": self.material.name,
                "n": len(accepted_pairs.by_kind[kind]),
                "n2": len(self.images),
            },
            field=f"sampling.pairs.{kind}",
        )

    def _reference_error(
        self, accepted_pairs: AcceptedPairs, min_references: int, possible_references: int
    ) -> DesignError:
        shortages = self.shortages_of(accepted_pairs)
        if not shortages:
            return DesignError(
                gettext(
                    "No candidate pair of dataset %(name)r has as many references as the design needs (%(least)s); "
                    "expected at most %(fitting)s."
                )
                % {"least": min_references, "name": self.material.name, "fitting": possible_references},
                field="sampling.references",
            )
        counts = ", ".join(f"{kind} = {count}" for kind, count in shortages.items())
        missing_count = sum(self.pair_counts[kind] - count for kind, count in shortages.items())
        return DesignError(
            ngettext(
                "Too few candidate pairs of dataset %(name)r have the %(least)s references that "
                "the design needs for each pair. Ask for at most %(fitting)s references for each "
                "pair, or for %(lost)s pair fewer. Numbers of pairs that have enough references: %(listed)s.",
                "Too few candidate pairs of dataset %(name)r have the %(least)s references that "
                "the design needs for each pair. Ask for at most %(fitting)s references for each "
                "pair, or for %(lost)s pairs fewer. Numbers of pairs that have enough references: %(listed)s.",
                missing_count,
            )
            % {
                "least": min_references,
                "name": self.material.name,
                "fitting": possible_references,
                "lost": thousands(missing_count),
                "listed": counts,
            },
            field="sampling.references",
        )

    def _most_references(self, min_references: int) -> int:
        """Return the largest number of references below ``min_references`` with enough pairs; 0 if there is none."""
        # binary search: with fewer references, at least as many pairs have enough of them
        low, high = 0, min_references - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.is_enough(self.draw(middle)):
                low = middle
            else:
                high = middle - 1
        return low
