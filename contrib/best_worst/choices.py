"""Rank and compare systems by people's choices of the best of several captions, by Luce's choice model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from django.utils.translation import gettext_noop

from common.amounts import json_float
from common.texts import one_text
from evaluation.data.judgment_sets import loaders
from evaluation.errors import NothingToRank
from evaluation.results.agreement import judgment_clusters
from evaluation.results.standings import (
    BEST,
    PEOPLE,
    Standings,
    contrasts_of_fit,
    contrasts_where_compared,
    divide_variances,
    figures_of,
)
from judgments.models import Output, Study, System, Unit
from judgments.models.credits import credited_systems
from judgments.studies.designs import kind_of
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation import LuceResult, luce_choice
from quorum.statistics.crossed import CONFIDENCE, NAIVE, NO_CONTRAST, RATER, Contrast, share_of_rows
from quorum.statistics.meta import PeoplesWinners

NO_CAPTIONS_OF_TWO = gettext_noop(
    "No judgment of study %(slug)r that results use compares captions of two different systems."
)


class OfferedCaption(NamedTuple):
    """A caption that people could choose as the best of an image, and the systems credited if it is chosen."""

    item: int
    text: str
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """People's choices of the best of several captions.

    Attributes:
        strengths: the fitted strengths. Their ``items`` are the names of the systems.
        winners: for each choice, the systems of the best caption.
        shown_systems: for each choice, the systems whose captions were shown.
        clusters: codes of each choice's image (ITEM) and, unless anonymous, rater (RATER); {} if images are unknown.
        items: number of images.
    """

    strengths: LuceResult
    winners: list[list[str]]
    shown_systems: list[set[str]]
    clusters: Mapping[str, Ints]
    items: int

    def shares(self) -> dict[str, dict[str, Any]]:
        """Return, by system, the number of lists with its captions, and the share in which one of them was the best."""
        shares = {}
        for name in self.strengths.items.tolist():
            is_shown = np.array([name in systems for systems in self.shown_systems])
            is_best = np.array([float(name in systems) for systems in self.winners])
            low = high = float("nan")
            if self.clusters:  # they are empty if images are unknown
                interval = share_of_rows(is_best, self.clusters, CONFIDENCE, keep=is_shown)
                low, high = interval.low, interval.high
            shares[str(name)] = {
                "shown": int(is_shown.sum()),
                "best": json_float(is_best[is_shown].mean()),
                "best_low": json_float(low),
                "best_high": json_float(high),
            }
        return shares

    def standings(self) -> Standings:
        """Compare systems by the strengths fitted to choices; if these are unknown, by how often each is the best."""
        fit, shares = self.strengths, self.shares()
        names = [str(name) for name in fit.items.tolist()]
        figures = {
            name: figures_of(row["best"], row["best_low"], row["best_high"], row["shown"])
            for name, row in shares.items()
        }

        def compare(first: int, second: int) -> Contrast:
            return self._compare_two(names[first], names[second])

        strength = fit.log_strength
        # The direct comparison of two systems tells how the variance of their contrast divides among items and raters.
        contrasts = divide_variances(contrasts_of_fit(strength, fit.covariance, fit.freedom), compare)
        # Strengths are unknown if they are infinite, since a system is always the best, or have no standard errors.
        if fit.reason:
            strength = np.array([figures[name]["value"] for name in names])
            contrasts = contrasts_where_compared(strength, compare)
        return Standings(
            measure=BEST,
            names=names,
            figures=figures,
            strength=strength,
            contrast=contrasts,
            items=self.items,
            raters=fit.clusters.get(RATER),
        )

    def _compare_two(self, first: str, second: str) -> Contrast:
        """Compare two systems on the lists that show both, and of which the best caption is of one of them only.

        The difference is the share of these lists that the first system wins, minus a half. Its spread is that of a
        score test: what the spread would be if both systems won equally often.
        """
        is_won_by_one = np.array(
            [
                {first, second} <= shown_systems and (first in best_systems) != (second in best_systems)
                for shown_systems, best_systems in zip(self.shown_systems, self.winners, strict=True)
            ]
        )
        if not is_won_by_one.any() or not self.clusters:
            return NO_CONTRAST
        winners = np.array([1 if first in systems else 2 for systems in self.winners])[is_won_by_one]
        clusters = {name: column[is_won_by_one] for name, column in self.clusters.items()}
        people = PeoplesWinners.from_winners(winners, clusters=clusters)

        def credit(_lists: Ints, list_winners: Floats) -> Floats:
            return (list_winners == 1) * 1.0

        share, spread = people.spread_if_even(credit, winners > 0)
        return Contrast(share - 0.5, spread)


def standings_of_study(study: Study) -> Standings | None:
    """Return the comparison of systems by choices of the best; None if the study has no such answers.

    The verdict on systems calls this function, which is the ``standings`` of the feature (apps.py).
    """
    if not kind_of(study).names_best:
        return None
    try:
        return fit_choices(study).standings()
    except NothingToRank:
        return None


def fit_choices(study: Study) -> Choices:
    """Fit Luce's choice model to a study's choices of the best of several captions.

    Raises:
        NothingToRank: no choice was between captions of two systems.
    """
    table, units = loaders.load_judgments(study), loaders.judged_units_of(study)
    is_counted = table.is_counted
    owners, captions_by_unit = _offered_captions(study)
    shown_captions = [captions_by_unit[unit] for unit in table.unit[is_counted].tolist()]
    best_captions = [
        captions[answer["best"] - 1]  # answers count captions from 1
        for captions, answer in zip(shown_captions, table.answers_of(is_counted), strict=True)
    ]
    distinct_captions = set(chain.from_iterable(shown_captions))
    if len(set(chain.from_iterable(owners[caption] for caption in distinct_captions))) < 2:
        raise NothingToRank(NO_CAPTIONS_OF_TWO, study.slug)
    images, anonymous = loaders.clusters_of_units(study, units), loaders.is_anonymous(study)
    clusters = judgment_clusters(
        units, images, table.unit[is_counted], table.worker[is_counted], anonymous=anonymous
    )
    return Choices(
        strengths=luce_choice(shown_captions, best_captions, owners=owners, clusters=clusters or NAIVE),
        winners=[owners[caption] for caption in best_captions],
        shown_systems=[
            set(chain.from_iterable(owners[caption] for caption in captions)) for captions in shown_captions
        ],
        clusters=clusters,
        items=len({caption.item for caption in distinct_captions}),
    )


def _offered_captions(
    study: Study,
) -> tuple[dict[OfferedCaption, list[str]], dict[int, list[OfferedCaption]]]:
    """Return the systems of each caption, and the captions of each unit by row id."""
    judged_units = Unit.objects.filter(study=study, control=False)
    outputs = Output.objects.annotations().filter(  # without results of image search
        system__in=System.objects.of_study(study), item__in=judged_units.values("item")
    )
    systems_by_text: dict[tuple[int, str], list[int]] = {}
    for item, text, system in outputs.order_by("system__name").values_list("item", "caption__text", "system"):
        systems_by_text.setdefault((item, one_text(text)), []).append(system)
    names = dict(System.objects.of_study(study).values_list("pk", "name"))
    owners: dict[OfferedCaption, list[str]] = {}
    captions_by_unit: dict[int, list[OfferedCaption]] = {}
    unit_rows = judged_units.values_list("pk", "item", "content", "systems")
    for unit, item, content, systems_in_file in unit_rows:
        texts = [one_text(option["text"]) for option in content["options"]]
        captions_by_unit[unit] = []
        # A file may credit each caption with systems. Otherwise it is of the systems that gave this text for the image.
        for text, file_systems in zip(texts, systems_in_file or [()] * len(texts), strict=True):
            system_names = dict.fromkeys(
                names[system]
                for system in credited_systems(file_systems, systems_by_text.get((item, text), ()))
                if system in names
            )
            # Texts of no system are by people.
            caption = OfferedCaption(item, text, tuple(system_names) or (PEOPLE,))
            owners[caption] = list(caption.systems)
            captions_by_unit[unit].append(caption)
    return owners, captions_by_unit
