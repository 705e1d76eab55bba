"""Compute alpha among the raters of each source (a study or a file), and among all raters of both sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop
from numpy.typing import NDArray

from contrib.comparing.sources.judgments import SourceJudgments
from contrib.comparing.sources.matching import TWO_SCALES, MatchedSources
from evaluation.results.agreement import FULL_DEPTH_NOTE, alpha_of_ratings, exchange_of
from judgments.drawing.documents import first_of_documents
from judgments.kinds import Kind
from quorum.statistics.agreement import ratings_of_judgments
from quorum.statistics.crossed import ITEM, NAIVE, RATER

STOPPED_EARLY_NOTE = gettext_noop("early stopping ended the judgments of one source")
MERGED_UNITS_NOTE = gettext_noop(
    "several items of one source were merged, so the same participant may have answered a merged item twice"
)


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are computed: clustered, or by a bootstrap of ``resamples`` samples that ignores clusters."""

    resamples: int
    seed: int
    ignores_clusters: bool

    def options(self, **clusters: Any) -> dict[str, Any]:
        """Return the keyword arguments of a statistic with an interval, for data with these clusters."""
        clusters_used = NAIVE if self.ignores_clusters else clusters
        return {"resamples": self.resamples, "seed": self.seed, "clusters": clusters_used}


def figures_of_source(source: SourceJudgments, resampling: Resampling) -> dict[str, Any]:
    """Return the numbers of a source's units and judgments, and the agreement of its raters.

    If the source has early stopping, agreement is over the units that have all their judgments.
    """
    complete_source = source if source.full_depth is None else source.on_units(source.full_depth)

    def alpha(level: str) -> dict[str, Any]:
        return _alpha(
            items=items_of_units(complete_source), unit=complete_source.unit, rater=complete_source.rater,
            value=complete_source.value, level=level, resampling=resampling, anonymous=complete_source.anonymous,
            kind=source.kind, has_control_items=source.has_control_items,
        )  # fmt: skip

    return {
        "name": source.name,
        "protocol": None if source.kind is None else source.kind.name,
        "level": source.level,
        "score": source.score_name,  # what the score of a unit is, such as "mean"
        "units": len(np.unique(source.unit)),
        "judgments": len(source.unit),
        "left_out": dict(source.left_out),
        "alpha": alpha(source.level),
        **({"ordinal": alpha("ordinal")} if source.level == "interval" else {}),
        **({} if source.full_depth is None else {"full_depth": FULL_DEPTH_NOTE}),
    }


def items_of_units(*sources: SourceJudgments) -> NDArray[Any]:
    """Return the cluster of each of U units: the first image of its document, its image, or the unit itself: (U,).

    The image is the cluster if it belongs to no document, and the unit if its image is unknown.

    Args:
        sources: one source, or two matched sources, which have the same units.
    """
    images: list[Any] = list(range(len(sources[0].units)))
    document_by_image: dict[str, str] = {}
    for source in sources:
        for position, content in enumerate(source.contents):
            if content.image is not None:
                images[position] = content.image
                document_by_image[content.image] = document_by_image.get(content.image) or content.document
    documents = first_of_documents(document_by_image.items())
    return np.array([documents.get(image, image) for image in images], dtype=object)


def _alpha(
    *,
    items: NDArray[Any],
    unit: Any,
    rater: Any,
    value: Any,
    level: str,
    resampling: Resampling,
    anonymous: bool,
    kind: Kind | None,
    has_control_items: bool,
) -> dict[str, Any]:
    """Return alpha with its interval, clustered by item and, if raters are known, by rater.

    For choices between two texts, each unit counts in both orders of its texts (``exchange_of``).
    """
    clusters = {ITEM: items[unit]} | ({} if anonymous else {RATER: rater})
    ratings = ratings_of_judgments(unit, rater, value)
    return alpha_of_ratings(
        ratings,
        level=level,
        exchange=exchange_of(kind),
        control_items=has_control_items,  # without these, a note may warn of careless raters
        **resampling.options(**clusters),
    )


def pooled_alpha(sources: MatchedSources, resampling: Resampling) -> dict[str, Any]:
    """Return alpha over shared units among the raters of both sources together, and among those of each source."""
    no_result = {"value": None, "low": None, "high": None, "n": 0}
    if not sources.have_same_scale:
        return no_result | {"reason": TWO_SCALES}
    if any(sources.merged_counts):
        return no_result | {"reason": MERGED_UNITS_NOTE}
    if sources.has_early_stopping:
        return no_result | {"reason": STOPPED_EARLY_NOTE}
    first, second = sources.first.on_units(sources.is_shared), sources.second.on_units(sources.is_shared)
    # The same name in both sources counts as two raters, since these may be different people.
    raters = np.concatenate([first.rater, second.rater + 1 + first.rater.max(initial=0)])
    units, values = np.concatenate([first.unit, second.unit]), np.concatenate([first.value, second.value])
    items = items_of_units(sources.first, sources.second)

    def alpha(unit: Any, rater: Any, value: Any, *, has_control_items: bool) -> dict[str, Any]:
        return _alpha(
            items=items,
            unit=unit,
            rater=rater,
            value=value,
            level=first.level,
            resampling=resampling,
            anonymous=first.anonymous or second.anonymous,
            kind=first.kind,
            has_control_items=has_control_items,
        )

    have_control_items = first.has_control_items and second.has_control_items
    return {
        **alpha(units, raters, values, has_control_items=have_control_items),
        "first": alpha(first.unit, first.rater, first.value, has_control_items=first.has_control_items),
        "second": alpha(second.unit, second.rater, second.value, has_control_items=second.has_control_items),
    }
