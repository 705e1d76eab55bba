"""Fit strengths of systems to people's choices of the best of several captions."""

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
from judgments.models import Output, Study, System, Unit
from judgments.models.credits import credited_systems
from quorum.numeric.arrays import Ints
from quorum.statistics.aggregation import LuceResult, luce_choice
from quorum.statistics.crossed import CONFIDENCE, NAIVE, share_of_rows

PEOPLE = "people"  # name of the "system" that stands for captions by people
NO_CAPTIONS_OF_TWO = gettext_noop(
    "No judgment of study %(slug)r that results use compares captions of two different systems."
)


class OfferedCaption(NamedTuple):
    """A caption of an image that people could choose, and the systems credited if it is chosen."""

    item: int
    text: str
    systems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """People's choices of the best of several captions, and the strengths of systems.

    Attributes:
        winners: for each choice, the systems of the best caption.
        shown_captions: for each choice, the captions that were shown.
        owners: systems of each caption.
        clusters: for each choice, the codes of its image and its rater.
        items: number of images.
    """

    strengths: LuceResult
    winners: list[list[str]]
    shown_captions: list[list[OfferedCaption]]
    owners: dict[OfferedCaption, list[str]]
    clusters: Mapping[str, Ints]
    items: int

    def shares(self) -> dict[str, dict[str, Any]]:
        """Return, by system, the number of lists with one of its captions, and the share in which that was the best."""
        shares = {}
        systems_of_rows = [
            {name for option in row for name in self.owners[option]} for row in self.shown_captions
        ]
        for name in self.strengths.items.tolist():
            keep = np.array([name in systems for systems in systems_of_rows])
            is_best = np.array([float(name in systems) for systems in self.winners])
            low = high = float("nan")
            if self.clusters:
                interval = share_of_rows(is_best, self.clusters, CONFIDENCE, keep=keep)
                low, high = interval.low, interval.high
            shares[str(name)] = {
                "shown": int(keep.sum()),
                "best": json_float(is_best[keep].mean()),
                "best_low": json_float(low),
                "best_high": json_float(high),
            }
        return shares


def fit_choices(study: Study) -> Choices:
    """Fit Luce's choice model to a study's choices of the best of several captions.

    Raises:
        NothingToRank: no choice was between captions of two systems.
    """
    table, units = loaders.load_judgments(study), loaders.unit_rows(study)
    is_counted = table.is_counted
    owners, options = _options_of(study)
    shown_options = [options[unit] for unit in table.unit[is_counted].tolist()]
    best_options = [
        row[answer["best"] - 1]
        for row, answer in zip(shown_options, table.answers_of(is_counted), strict=True)
    ]
    if len({name for option in {*chain.from_iterable(shown_options)} for name in owners[option]}) < 2:
        raise NothingToRank(NO_CAPTIONS_OF_TWO, study.slug)
    images, anonymous = loaders.clusters_of_units(study, units), loaders.is_anonymous(study)
    clusters = judgment_clusters(
        units, images, table.unit[is_counted], table.worker[is_counted], anonymous=anonymous
    )
    return Choices(
        strengths=luce_choice(shown_options, best_options, owners=owners, clusters=clusters or NAIVE),
        winners=[owners[option] for option in best_options],
        shown_captions=shown_options,
        owners=owners,
        clusters=clusters,
        items=len({option.item for option in chain.from_iterable(shown_options)}),
    )


def _options_of(study: Study) -> tuple[dict[OfferedCaption, list[str]], dict[int, list[OfferedCaption]]]:
    """Return the systems of each option (caption), and the options of each unit by row id."""
    judged_units = Unit.objects.filter(study=study, control=False)
    outputs = Output.objects.annotations().filter(
        system__in=System.objects.of_study(study), item__in=judged_units.values("item")
    )
    systems_by_text: dict[tuple[int, str], list[int]] = {}
    for item, text, system in outputs.order_by("system__name").values_list("item", "caption__text", "system"):
        systems_by_text.setdefault((item, one_text(text)), []).append(system)
    names = dict(System.objects.of_study(study).values_list("pk", "name"))
    owners: dict[OfferedCaption, list[str]] = {}
    options: dict[int, list[OfferedCaption]] = {}
    for pk, item, content, systems in judged_units.values_list("pk", "item", "content", "systems"):
        texts = [one_text(option["text"]) for option in content["options"]]
        options[pk] = []
        for text, file_systems in zip(texts, systems or [()] * len(texts), strict=True):
            option_systems = dict.fromkeys(
                names[pk]
                for pk in credited_systems(file_systems, systems_by_text.get((item, text), ()))
                if pk in names
            )
            option = OfferedCaption(item, text, tuple(option_systems) or (PEOPLE,))
            owners[option] = list(option.systems)
            options[pk].append(option)
    return owners, options
