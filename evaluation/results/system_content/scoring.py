"""Score the boxes or keywords that systems name for images against people's, and compare with people and baselines.

Images for which people name nothing do not count. A system that names nothing for an image has the score 0. Boxes are
scored by precision, recall and F of content selection (Wang, Gaizauskas 2015: eq. 1-3), keywords by best, oot (out of
ten) and their mode variants (Mason, Charniak 2012: section 6.2), and by precision, recall and F1 of the first ten.
Intervals of means cluster by document (or image) and by person.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from evaluation.results.consensus.clusters import scope_of
from evaluation.results.outputs import Outputs
from evaluation.results.standings import MEAN, rater_count_of
from evaluation.results.system_content.baselines import PEOPLE, ROLES, SYSTEM, People, SelectionSource
from evaluation.results.system_content.measures import MODES, BoxMeasures, KeywordMeasures
from evaluation.results.systems import SystemsVerdict, verdict_on_systems
from judgments.kinds import IncludedJudgment, Kind
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import RaterDeletions, renumber_codes

ContentMeasures = BoxMeasures | KeywordMeasures
MEASURES: dict[str, ContentMeasures] = {"boxes": BoxMeasures(), "keywords": KeywordMeasures()}


@dataclass(frozen=True, slots=True)
class PeoplesSelections:
    """What people select, which is boxes or keywords, for N images for which they select anything.

    Attributes:
        units: (N,) a unit of each image.
        cluster: (N,) codes of the documents, or of the images.
        by_all: (N,) the selections of all people: for each image, a list for each description, or for each person.
        image, rater, without_rater: (V,) further versions: of image ``image[v]``, without the rater with the row id
            ``rater[v]``, the selections are ``without_rater[v]``.
        empty_images: number of further images, for which nobody selects anything.
    """

    units: Sequence[Any]
    cluster: Ints
    by_all: People
    image: Ints
    rater: Ints
    without_rater: People
    empty_images: int


def score_selections(
    kind: Kind,
    judgments: Sequence[IncludedJudgment],
    selections: Iterable[tuple[str, int, Sequence[str]]],
    documents: Mapping[int, Hashable],
    *,
    anonymous: bool,
    seed: int,
) -> tuple[dict[str, Any], SystemsVerdict | None]:
    """Return figures as JSON, and the verdict on systems by the deciding measure, or None for fewer than two systems.

    Figures are {} if no system names anything for a judged item.

    Args:
        selections: (system, row id of an item, the boxes or keywords that the system names for the item).
        documents: any name of each item's document, by row id of the item; a missing item is its own document.
        anonymous: whether people cannot be distinguished.
    """
    selections_by_system: defaultdict[str, dict[int, Sequence[str]]] = defaultdict(dict)
    items = {judgment.unit.item_id for judgment in judgments}
    for system, item, selection in selections:
        if item in items:
            selections_by_system[system][item] = selection
    if not selections_by_system:
        return {}, None
    measures = MEASURES[kind.system_content]
    reference = _selections_of_people(kind, measures, judgments, documents, anonymous=anonymous)
    if not reference.units:
        return {}, None
    sources = list(_sources(measures, reference, selections_by_system, seed))
    scores = [_scores_of(measures, reference, source) for source in sources]
    outputs_by_measure = {
        name: _outputs(measures, reference, scores, index) for index, name in enumerate(measures.names)
    }
    # Modes are shares, which get the interval of a share (see `Outputs.figures`).
    figures = {
        name: outputs.figures(name if name in MODES else MEAN) for name, outputs in outputs_by_measure.items()
    }
    rows: list[dict[str, Any]] = [
        {
            "who": source.role,
            "name": source.name,
            # By the position of the source, as text (see `_outputs`).
            "figures": {name: figures[name][str(position)] for name in measures.names},
            "signature": source.signature,
        }
        for position, source in enumerate(sources)
    ]
    deciding_measure = measures.deciding_measure
    rows.sort(key=lambda row: (ROLES.index(row["who"]), -(row["figures"][deciding_measure]["value"] or 0.0)))
    verdict = None
    if len(selections_by_system) > 1:
        # The first sources are the systems, sorted by name.
        system_scores = scores[: len(selections_by_system)]
        system_outputs = _outputs(measures, reference, system_scores, measures.names.index(deciding_measure))
        standings = replace(system_outputs, names=sorted(selections_by_system)).standings(MEAN)
        verdict = verdict_on_systems(replace(standings, measure=deciding_measure))
    return {
        "kind": kind.system_content,
        "measures": list(measures.names),
        "decides": deciding_measure,
        "images": len(reference.units),
        "left_out": reference.empty_images,
        "scope": scope_of(rater_count_of(outputs_by_measure[deciding_measure].deletions)),
        "rows": rows,
        "signatures": measures.signatures(),
    }, verdict


def _selections_of_people(
    kind: Kind,
    measures: ContentMeasures,
    judgments: Sequence[IncludedJudgment],
    documents: Mapping[int, Hashable],
    *,
    anonymous: bool,
) -> PeoplesSelections:
    # The judgments of each unit, by row id of the image and of the unit.
    units_by_item: dict[int, dict[int, list[IncludedJudgment]]] = {}
    # In the order of a release, so that `verify` computes equal results.
    for judgment in sorted(judgments, key=lambda row: (row.unit.position, row.unit.pk)):
        units = units_by_item.setdefault(judgment.unit.item_id, {})
        units.setdefault(judgment.unit.pk, []).append(judgment)

    def selections_of(item: int, without_rater: int | None = None) -> list[list[Any]]:
        """Return what people select for the units of an image."""
        answers = [
            (rows[0].unit, [row.answer for row in rows if row.worker != without_rater])
            for rows in units_by_item[item].values()
        ]
        return measures.selections_of_people(kind, answers)

    items = [item for item in units_by_item if any(selections_of(item))]
    codes_by_document: dict[Hashable, int] = {}
    cluster = [
        codes_by_document.setdefault(documents.get(item, item), len(codes_by_document)) for item in items
    ]
    images: list[int] = []
    raters: list[int] = []
    selections_without_rater: list[list[list[Any]]] = []
    if not anonymous:
        for image, item in enumerate(items):
            item_judgments = chain.from_iterable(units_by_item[item].values())
            for rater in sorted({judgment.worker for judgment in item_judgments}):
                images.append(image)
                raters.append(rater)
                selections_without_rater.append(selections_of(item, rater))
    first_judgments = [next(iter(units_by_item[item].values()))[0] for item in items]
    return PeoplesSelections(
        units=[judgment.unit for judgment in first_judgments],
        cluster=np.array(cluster, dtype=np.int64),
        by_all=[selections_of(item) for item in items],
        image=np.array(images, dtype=np.int64),
        rater=np.array(raters, dtype=np.int64),
        without_rater=selections_without_rater,
        empty_images=len(units_by_item) - len(items),
    )


def _sources(
    measures: ContentMeasures,
    reference: PeoplesSelections,
    selections_by_system: Mapping[str, Mapping[int, Sequence[str]]],
    seed: int,
) -> Iterator[SelectionSource]:
    """Yield the systems, sorted by name, people, and the baselines."""
    for system in sorted(selections_by_system):
        selection_by_item = selections_by_system[system]
        selections = [
            measures.selection_of_system(unit, selection_by_item.get(unit.item_id, ()))
            for unit in reference.units
        ]
        yield SelectionSource(SYSTEM, system, [selections])
    yield SelectionSource(PEOPLE, gettext_noop("one person against the others"), ())
    yield from measures.baselines(reference.units, reference.by_all, reference.cluster, seed)


def _scores_of(measures: ContentMeasures, reference: PeoplesSelections, source: SelectionSource) -> Floats:
    """Return the scores of a source by measure: (N,) scores against all people, then (V,) scores without a rater."""
    people = [*reference.by_all, *reference.without_rater]
    images = [*range(len(reference.by_all)), *reference.image.tolist()]
    if source.role == PEOPLE:
        return np.array(measures.scores_of_people(people))
    draws = [measures.scores([draw[image] for image in images], people) for draw in source.draws]
    return np.asarray(np.mean(draws, axis=0))  # only random baselines have several draws


def _outputs(
    measures: ContentMeasures, reference: PeoplesSelections, scores: Sequence[Floats], measure: int
) -> Outputs:
    """Return the scores by a measure as outputs of systems, whose names are the positions of the sources as text.

    ``scores`` are results of ``_scores_of`` for each source. ``measure`` is the position of the measure.
    """
    # Systems, people and baselines may have equal names, but positions are unique.
    image_count = len(reference.units)
    measure_scores = np.array([score[measure] for score in scores])
    system, item = np.nonzero(~np.isnan(measure_scores[:, :image_count]))
    # (sources, N) the position of each score in the output; -1 for undefined scores.
    row = np.full((len(scores), image_count), -1)
    row[system, item] = np.arange(len(item))
    deletions = None
    if len(reference.rater):
        # (D,) positions of sources and of versions without a rater, for images with a defined score.
        source, version = np.nonzero(row[:, reference.image] >= 0)
        deletions = RaterDeletions(
            row[source, reference.image[version]],
            renumber_codes(reference.rater[version]),
            measure_scores[source, image_count + version],
            measures.averages_people,
        )
    return Outputs(
        names=list(map(str, range(len(scores)))),
        item=item,
        system=system,
        cluster=reference.cluster,
        score=measure_scores[system, item],
        deletions=deletions,
        scale_ends=(0.0, 1.0),
    )
