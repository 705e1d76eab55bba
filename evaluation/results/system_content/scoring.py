"""Score the boxes or keywords that systems name for images against people's, and compare with people and baselines.

Images for which people name nothing do not count. A system that names nothing for an image has the score 0. Boxes are
scored by precision, recall and F of content selection (WG15 eq. 1-3), keywords by best, oot and their mode variants
(MC12 section 6.2), and by precision, recall and F1 of the first ten. Intervals of means cluster by document (or
image) and by person.
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
from evaluation.results.standings import MEAN, Outputs, raters_of
from evaluation.results.system_content.baselines import PEOPLE, ROLES, SYSTEM, People, SelectionSource
from evaluation.results.system_content.measures import MODES, BoxMeasures, KeywordMeasures
from evaluation.results.systems import SystemsVerdict, verdict_on_systems
from judgments.kinds import IncludedJudgment, Kind
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import RaterDeletions, renumber_codes

Content = BoxMeasures | KeywordMeasures
CONTENTS: dict[str, Content] = {"boxes": BoxMeasures(), "keywords": KeywordMeasures()}


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
    judged: Sequence[IncludedJudgment],
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
    names: defaultdict[str, dict[int, Sequence[str]]] = defaultdict(dict)
    items = {judgment.unit.item_id for judgment in judged}
    for system, item, item_names in contents:
        if item in items:
            names[system][item] = item_names
    content = CONTENTS[kind.system_content]
    reference = _content_of_people(kind, content, judged, documents, anonymous=anonymous) if names else None
    if reference is None or not reference.units:
        return {}, None
    sources = list(_sources(content, reference, names, seed))
    scores = [_scores_of(content, reference, source) for source in sources]
    outputs = [_outputs(content, reference, scores, measure) for measure in range(len(content.measures))]
    figures = [
        measure_outputs.figures(name if name in MODES else MEAN)
        for measure_outputs, name in zip(outputs, content.measures, strict=True)
    ]
    rows: list[dict[str, Any]] = [
        {
            "who": source.source_name,
            "name": source.name,
            "figures": {name: figures[index][str(number)] for index, name in enumerate(content.measures)},
            "signature": source.signature,
        }
        for number, source in enumerate(sources)
    ]
    rows.sort(key=lambda row: (ROLES.index(row["who"]), -(row["figures"][content.decides]["value"] or 0.0)))
    deciding_index = content.measures.index(content.decides)
    verdict = None
    if len(names) > 1:
        system_scores = scores[: len(names)]
        system_outputs = replace(
            _outputs(content, reference, system_scores, deciding_index), names=sorted(names)
        )
        verdict = verdict_on_systems(replace(system_outputs.standings(MEAN), measure=content.decides))
    return {
        "kind": kind.system_content,
        "measures": list(content.measures),
        "decides": content.decides,
        "images": len(reference.units),
        "left_out": reference.left_out,
        "scope": scope_of(raters_of(outputs[deciding_index].deletions)),
        "rows": rows,
        "signatures": content.signatures(),
    }, verdict


def _content_of_people(
    kind: Kind,
    content: Content,
    judged: Sequence[IncludedJudgment],
    documents: Mapping[int, Hashable],
    *,
    anonymous: bool,
) -> ContentOfPeople:
    by_image: dict[int, dict[int, list[IncludedJudgment]]] = {}
    for judgment in sorted(judged, key=lambda row: (row.unit.position, row.unit.pk)):  # as in a release
        by_image.setdefault(judgment.unit.item_id, {}).setdefault(judgment.unit.pk, []).append(judgment)

    def content_of(units: Iterable[list[IncludedJudgment]], rater: int | None = None) -> list[list[Any]]:
        """Return the content that people name for each unit, without the answers of ``rater``."""
        answers = ((rows[0].unit, [row.answer for row in rows if row.worker != rater]) for rows in units)
        return content.people(kind, answers)

    units_by_image = {item: units for item, units in by_image.items() if any(content_of(units.values()))}
    numbers: dict[Hashable, int] = {}  # numbers of documents
    left_out_rows = [
        (image, rater, content_of(units.values(), rater))
        for image, units in enumerate(units_by_image.values())
        for rater in sorted({row.worker for row in chain.from_iterable(units.values())})
        if not anonymous
    ]
    return ContentOfPeople(
        units=[next(iter(units.values()))[0].unit for units in units_by_image.values()],
        cluster=np.array(
            [numbers.setdefault(documents.get(item, item), len(numbers)) for item in units_by_image],
            dtype=np.int64,
        ),
        people=[content_of(units.values()) for units in units_by_image.values()],
        image=np.array([row[0] for row in left_out_rows], dtype=np.int64),
        rater=np.array([row[1] for row in left_out_rows], dtype=np.int64),
        leave_one_out=[row[2] for row in left_out_rows],
        left_out=len(by_image) - len(units_by_image),
    )


def _sources(
    content: Content, reference: ContentOfPeople, names: Mapping[str, Mapping[int, Sequence[str]]], seed: int
) -> Iterator[SelectionSource]:
    for system in sorted(names):
        selections = [content.choices(unit, names[system].get(unit.item_id, ())) for unit in reference.units]
        yield SelectionSource(SYSTEM, system, [selections])
    yield SelectionSource(PEOPLE, gettext_noop("one person against the others"), ())
    yield from content.baselines(reference.units, reference.people, reference.cluster, seed)


def _scores_of(content: Content, reference: ContentOfPeople, source: SelectionSource) -> Floats:
    """Return (measures, N + V) scores of a source, first against all people, then with one person left out."""
    people = [*reference.people, *reference.leave_one_out]
    image = [*range(len(reference.people)), *reference.image.tolist()]
    if source.source_name == PEOPLE:
        return np.array(content.scores_of_people(people))
    draws = [content.scores([draw[index] for index in image], people) for draw in source.draws]
    return np.asarray(np.mean(draws, axis=0))


def _outputs(content: Content, reference: ContentOfPeople, scores: Sequence[Floats], measure: int) -> Outputs:
    """Return the scores by a measure as outputs of systems, whose names are the positions of the sources."""
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
            content.means,
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
