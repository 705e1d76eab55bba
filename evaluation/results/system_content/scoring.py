"""Score the boxes or keywords that systems name for images against people's, and compare with people and baselines.

Images for which people name nothing do not count. A system that names nothing for an image has the score 0. Boxes are
scored by precision, recall and F of content selection (Wang, Gaizauskas 2015: eq. 1-3), keywords by best, oot and
their mode variants (Mason, Charniak 2012: section 6.2), and by precision, recall and F1 of the first ten. Intervals of
means cluster by document (or image) and by person.
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
from evaluation.results.standings import MEAN, Outputs, rater_count_of
from evaluation.results.system_content.baselines import PEOPLE, ROLES, SYSTEM, People, SelectionSource
from evaluation.results.system_content.measures import MODES, BoxMeasures, KeywordMeasures
from evaluation.results.systems import SystemsVerdict, verdict_on_systems
from judgments.kinds import IncludedJudgment, Kind
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import RaterDeletions, renumber_codes

ContentMeasures = BoxMeasures | KeywordMeasures
MEASURES: dict[str, ContentMeasures] = {"boxes": BoxMeasures(), "keywords": KeywordMeasures()}


@dataclass(frozen=True, slots=True)
class ContentOfPeople:
    """Boxes or keywords that people name for N images, and those that the other people name if one person is left out.

    Attributes:
        units: (N,) a unit of each image.
        cluster: (N,) codes of the documents, or of the images.
        people: (N,) boxes or keywords that people name.
        image, rater: (V,) positions of images, and row ids of people to leave out.
        leave_one_out: (V,) boxes or keywords that the other people name.
        left_out: number of images for which nobody names anything.
    """

    units: Sequence[Any]
    cluster: Ints
    people: People
    image: Ints
    rater: Ints
    leave_one_out: People
    left_out: int


def content_of_systems(
    kind: Kind,
    judgments: Sequence[IncludedJudgment],
    contents: Iterable[tuple[str, int, Sequence[str]]],
    documents: Mapping[int, Hashable],
    *,
    anonymous: bool,
    seed: int,
) -> tuple[dict[str, Any], SystemsVerdict | None]:
    """Return figures as JSON, and the verdict on systems by the deciding measure, or None for fewer than two systems.

    Figures are {} if no system names anything for a judged item.

    Args:
        contents: (system, row id of an item, boxes or keywords that the system names for it).
        documents: row id of the first item of each item's document; items alone in their document are left out.
        anonymous: whether people cannot be distinguished.
    """
    names_by_system: defaultdict[str, dict[int, Sequence[str]]] = defaultdict(dict)
    items = {judgment.unit.item_id for judgment in judgments}
    for system, item, item_names in contents:
        if item in items:
            names_by_system[system][item] = item_names
    measures = MEASURES[kind.system_content]
    reference = (
        _content_of_people(kind, measures, judgments, documents, anonymous=anonymous)
        if names_by_system
        else None
    )
    if reference is None or not reference.units:
        return {}, None
    sources = list(_sources(measures, reference, names_by_system, seed))
    scores = [_scores_of(measures, reference, source) for source in sources]
    outputs = [_outputs(measures, reference, scores, measure) for measure in range(len(measures.names))]
    figures = [
        measure_outputs.figures(name if name in MODES else MEAN)
        for measure_outputs, name in zip(outputs, measures.names, strict=True)
    ]
    rows: list[dict[str, Any]] = [
        {
            "who": source.source_name,
            "name": source.name,
            "figures": {name: figures[index][str(position)] for index, name in enumerate(measures.names)},
            "signature": source.signature,
        }
        for position, source in enumerate(sources)
    ]
    rows.sort(key=lambda row: (ROLES.index(row["who"]), -(row["figures"][measures.decides]["value"] or 0.0)))
    deciding_index = measures.names.index(measures.decides)
    verdict = None
    if len(names_by_system) > 1:
        system_scores = scores[: len(names_by_system)]  # the first sources are the systems, sorted by name
        system_outputs = replace(
            _outputs(measures, reference, system_scores, deciding_index), names=sorted(names_by_system)
        )
        verdict = verdict_on_systems(replace(system_outputs.standings(MEAN), measure=measures.decides))
    return {
        "kind": kind.system_content,
        "measures": list(measures.names),
        "decides": measures.decides,
        "images": len(reference.units),
        "left_out": reference.left_out,
        "scope": scope_of(rater_count_of(outputs[deciding_index].deletions)),
        "rows": rows,
        "signatures": measures.signatures(),
    }, verdict


def _content_of_people(
    kind: Kind,
    measures: ContentMeasures,
    judgments: Sequence[IncludedJudgment],
    documents: Mapping[int, Hashable],
    *,
    anonymous: bool,
) -> ContentOfPeople:
    by_image: dict[int, dict[int, list[IncludedJudgment]]] = {}
    for judgment in sorted(judgments, key=lambda row: (row.unit.position, row.unit.pk)):  # as in a release
        by_image.setdefault(judgment.unit.item_id, {}).setdefault(judgment.unit.pk, []).append(judgment)

    def content_of(units: Iterable[list[IncludedJudgment]], rater: int | None = None) -> list[list[Any]]:
        """Return the content that people name for each unit, without the answers of ``rater``."""
        answers = ((rows[0].unit, [row.answer for row in rows if row.worker != rater]) for rows in units)
        return measures.content_of_people(kind, answers)

    units_by_image = {item: units for item, units in by_image.items() if any(content_of(units.values()))}
    codes_by_document: dict[Hashable, int] = {}
    # (image, rater, content without the rater)
    left_out_rows = [
        (image, rater, content_of(units.values(), rater))
        for image, units in enumerate(units_by_image.values())
        for rater in sorted({row.worker for row in chain.from_iterable(units.values())})
        if not anonymous
    ]
    return ContentOfPeople(
        units=[next(iter(units.values()))[0].unit for units in units_by_image.values()],
        cluster=np.array(
            [
                codes_by_document.setdefault(documents.get(item, item), len(codes_by_document))
                for item in units_by_image
            ],
            dtype=np.int64,
        ),
        people=[content_of(units.values()) for units in units_by_image.values()],
        image=np.array([row[0] for row in left_out_rows], dtype=np.int64),
        rater=np.array([row[1] for row in left_out_rows], dtype=np.int64),
        leave_one_out=[row[2] for row in left_out_rows],
        left_out=len(by_image) - len(units_by_image),
    )


def _sources(
    measures: ContentMeasures,
    reference: ContentOfPeople,
    names_by_system: Mapping[str, Mapping[int, Sequence[str]]],
    seed: int,
) -> Iterator[SelectionSource]:
    """Yield the systems, sorted by name, people, and the baselines."""
    for system in sorted(names_by_system):
        names = names_by_system[system]
        selections = [
            measures.content_of_system(unit, names.get(unit.item_id, ())) for unit in reference.units
        ]
        yield SelectionSource(SYSTEM, system, [selections])
    yield SelectionSource(PEOPLE, gettext_noop("one person against the others"), ())
    yield from measures.baselines(reference.units, reference.people, reference.cluster, seed)


def _scores_of(measures: ContentMeasures, reference: ContentOfPeople, source: SelectionSource) -> Floats:
    """Return (measures, N + V) scores of a source: against all people, then with one person left out."""
    people = [*reference.people, *reference.leave_one_out]
    images = [*range(len(reference.people)), *reference.image.tolist()]
    if source.source_name == PEOPLE:
        return np.array(measures.scores_of_people(people))
    draws = [measures.scores([draw[image] for image in images], people) for draw in source.draws]
    return np.asarray(np.mean(draws, axis=0))


def _outputs(
    measures: ContentMeasures, reference: ContentOfPeople, scores: Sequence[Floats], measure: int
) -> Outputs:
    """Return the scores by a measure as outputs of systems, whose names are the positions of the sources.

    ``scores`` are results of ``_scores_of`` for each source. ``measure`` is the position of the measure.
    """
    image_count = len(reference.units)
    measure_scores = np.array([score[measure] for score in scores])
    system, item = np.nonzero(~np.isnan(measure_scores[:, :image_count]))
    row = np.full((len(scores), image_count), -1)
    row[system, item] = np.arange(len(item))
    deletions = None
    if len(reference.rater):
        source, answer = np.nonzero(row[:, reference.image] >= 0)
        deletions = RaterDeletions(
            row[source, reference.image[answer]],
            renumber_codes(reference.rater[answer]),
            measure_scores[source, image_count + answer],
            measures.means,
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
