"""Score what systems name of images against what people name, beside people and baselines.

An image counts where people name something there; a system that names nothing for it has 0. Boxes are scored by
precision, recall and F of content selection (WG15 eq. 1-3), keywords by best, oot and their modes (MC12 section 6.2)
and by precision, recall and F1 of the first ten. Means have intervals by image, else document, and by person.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from evaluation.results.consensus import scope_of
from evaluation.results.standings import F1, MEAN, OOT, Outputs, raters_of
from evaluation.results.system_content.baselines import (
    PEOPLE,
    ROLES,
    SYSTEM,
    People,
    Selections,
    Source,
    box_baselines,
    keyword_baselines,
)
from evaluation.results.systems import SystemsVerdict, decide
from judgments.drawing.phrases import normalise_phrase
from judgments.kinds import IncludedJudgment, Kind
from judgments.kinds.grounding import box_numbers
from quorum.metrics.content import ZERO, ContentScore, content_selection, content_upper_bound
from quorum.metrics.keywords import (
    ONCE,
    KeywordOverlap,
    KeywordScore,
    keyword_best,
    keyword_best_mode,
    keyword_f1,
    keyword_forms,
    keyword_oot,
    keyword_oot_mode,
)
from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.statistics.crossed import RaterDeletions, renumbered

Answers = Iterable[tuple[Any, Sequence[Any]]]  # units with the answers of people
Scores = list[Floats]  # (images,) of each measure, nan where undefined


MODES = BEST_MODE, OOT_MODE = "best-mode", "oot-mode"  # shares of the images whose most frequent tag is named


class Boxes:
    measures, decides = ("precision", "recall", F1), F1
    means = False  # a description is the majority of its raters
    baselines = staticmethod(box_baselines)

    def people(self, kind: Kind, answers: Answers) -> list[list[int]]:
        """Return the boxes that each description of an image names."""
        return [
            box_numbers(kind.aggregation.consensus([0] * len(rated), rated)[0].answer, unit.content["boxes"])
            for unit, rated in answers
            if rated
        ]

    def choices(self, unit: Any, names: Sequence[str]) -> list[int]:
        number = {box["id"]: index for index, box in enumerate(unit.content["boxes"])}
        return [number[name] for name in names if name in number]

    def scores(self, selections: Selections, people: People) -> Scores:
        return self._figures(content_selection(selections, people, empty=ZERO))

    def scores_of_people(self, people: People) -> Scores:
        return self._figures(content_upper_bound(people))

    def _figures(self, score: ContentScore) -> Scores:
        undefined = np.isnan(score.recall.images)
        figures = (score.precision, score.recall, score.f1)
        return [np.where(undefined, np.nan, figure.images) for figure in figures]

    def signatures(self) -> list[str]:
        return [
            content_selection([[0]], [[[0]]], empty=ZERO).signature,
            content_upper_bound([[[0]]]).signature,
        ]


class _Keywords:
    measures, decides = ("best", OOT, BEST_MODE, OOT_MODE, "precision", "recall", F1), OOT
    means = True
    baselines = staticmethod(keyword_baselines)

    def people(self, kind: Kind, answers: Answers) -> list[list[str]]:
        """Return the keywords that each person gives an image."""
        answered = chain.from_iterable(rated for _, rated in answers)
        return [keyword_forms(list(dict.fromkeys(map(normalise_phrase, answer)))) for answer in answered]

    def choices(self, unit: Any, names: Sequence[str]) -> list[str]:
        return keyword_forms(names)

    def scores(self, selections: Selections, people: People) -> Scores:
        credits, overlap = self._measured(selections, people)
        # A list without keywords has no precision, and here 0.
        silent = ~np.isnan(overlap.image_recall) & np.isnan(overlap.image_precision)
        shares = (overlap.image_precision, overlap.image_recall, overlap.image_f1)
        return [*(score.images for score in credits), *(np.where(silent, 0.0, share) for share in shares)]

    def _measured(
        self, selections: Selections, people: People
    ) -> tuple[tuple[KeywordScore, ...], KeywordOverlap]:
        tags = [Counter(chain.from_iterable(image)) for image in people]
        first = [keywords[:1] for keywords in selections]
        credits = (
            keyword_best(first, tags, duplicates=ONCE),
            keyword_oot(selections, tags, duplicates=ONCE),
            keyword_best_mode(first, tags),
            keyword_oot_mode(selections, tags),
        )
        return credits, keyword_f1(selections, tags)

    def scores_of_people(self, people: People) -> Scores:
        """Score each person's keywords against the others', and take the mean over the people of an image."""
        rows = [
            (image, keywords, [*lists[:number], *lists[number + 1 :]])
            for image, lists in enumerate(people)
            for number, keywords in enumerate(lists)
            if keywords
        ]
        scores = self.scores([row[1] for row in rows], [row[2] for row in rows])
        return [_mean_by(np.array([row[0] for row in rows]), score, len(people)) for score in scores]

    def signatures(self) -> list[str]:
        credits, overlap = self._measured([["a"]], [[["a"]]])
        return [*(score.signature for score in credits), overlap.signature]


def _mean_by(image: Ints, scores: Floats, images: int) -> Floats:
    defined = ~np.isnan(scores)
    count = np.bincount(image[defined], minlength=images)
    return ratio(np.bincount(image[defined], scores[defined], minlength=images), count)


Content = Boxes | _Keywords
CONTENTS: dict[str, Content] = {"boxes": Boxes(), "keywords": _Keywords()}


@dataclass(frozen=True, slots=True)
class Gold:
    """What people name of N images, and what is left of it without one of them.

    units: a unit of each image. cluster: (N,) codes of their documents, or of themselves. image, rater: (V,) positions
    and row ids. without: (V,) what the others name. left_out: number of images where nobody names anything.
    """

    units: Sequence[Any]
    cluster: Ints
    people: People
    image: Ints
    rater: Ints
    without: People
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
    """Return figures as JSON, and which system is best by the measure that decides, if there are two.

    Both are empty where no system names anything of an item that people judged.

    Args:
        contents: system, row id of the item, and what it names there.
        documents: ``first_of_documents`` of the items.
        anonymous: whether people are not told apart.
    """
    names: defaultdict[str, dict[int, Sequence[str]]] = defaultdict(dict)
    items = {judgment.unit.item_id for judgment in judged}
    for system, item, listed in contents:
        if item in items:
            names[system][item] = listed
    content = CONTENTS[kind.system_content]
    gold = _gold_of(kind, content, judged, documents, anonymous=anonymous) if names else None
    if gold is None or not gold.units:
        return {}, None
    sources = list(_sources(content, gold, names, seed))
    scores = [_scores_of(content, gold, source) for source in sources]
    outputs = [_outputs(content, gold, scores, measure) for measure in range(len(content.measures))]
    figures = [
        each.figures(name if name in MODES else MEAN)
        for each, name in zip(outputs, content.measures, strict=True)
    ]
    rows: list[dict[str, Any]] = [
        {
            "who": source.who,
            "name": source.name,
            "figures": {name: figures[at][str(number)] for at, name in enumerate(content.measures)},
            "signature": source.signature,
        }
        for number, source in enumerate(sources)
    ]
    rows.sort(key=lambda row: (ROLES.index(row["who"]), -(row["figures"][content.decides]["value"] or 0.0)))
    decides = content.measures.index(content.decides)
    verdict = None
    if len(names) > 1:
        of_systems = replace(_outputs(content, gold, scores[: len(names)], decides), names=sorted(names))
        verdict = decide(replace(of_systems.standings(MEAN), measure=content.decides))
    return {
        "kind": kind.system_content,
        "measures": list(content.measures),
        "decides": content.decides,
        "images": len(gold.units),
        "left_out": gold.left_out,
        "scope": scope_of(raters_of(outputs[decides].deletions)),
        "rows": rows,
        "signatures": content.signatures(),
    }, verdict


def _gold_of(
    kind: Kind,
    content: Content,
    judged: Sequence[IncludedJudgment],
    documents: Mapping[int, Hashable],
    *,
    anonymous: bool,
) -> Gold:
    by_image: dict[int, dict[int, list[IncludedJudgment]]] = {}
    for judgment in sorted(judged, key=lambda row: (row.unit.position, row.unit.pk)):  # as a release has them
        by_image.setdefault(judgment.unit.item_id, {}).setdefault(judgment.unit.pk, []).append(judgment)

    def people(units: Iterable[list[IncludedJudgment]], leave: int | None = None) -> list[list[Any]]:
        rated = ((rows[0].unit, [row.answer for row in rows if row.worker != leave]) for rows in units)
        return content.people(kind, rated)

    named = {item: units for item, units in by_image.items() if any(people(units.values()))}
    numbers: dict[Hashable, int] = {}  # of documents
    left = [
        (image, rater, people(units.values(), rater))
        for image, units in enumerate(named.values())
        for rater in sorted({row.worker for row in chain.from_iterable(units.values())})
        if not anonymous
    ]
    return Gold(
        units=[next(iter(units.values()))[0].unit for units in named.values()],
        cluster=np.array(
            [numbers.setdefault(documents.get(item, item), len(numbers)) for item in named], dtype=np.int64
        ),
        people=[people(units.values()) for units in named.values()],
        image=np.array([row[0] for row in left], dtype=np.int64),
        rater=np.array([row[1] for row in left], dtype=np.int64),
        without=[row[2] for row in left],
        left_out=len(by_image) - len(named),
    )


def _sources(
    content: Content, gold: Gold, names: Mapping[str, Mapping[int, Sequence[str]]], seed: int
) -> Iterator[Source]:
    for system in sorted(names):
        selections = [content.choices(unit, names[system].get(unit.item_id, ())) for unit in gold.units]
        yield Source(SYSTEM, system, [selections])
    yield Source(PEOPLE, gettext_noop("one person against the others"), ())
    yield from content.baselines(gold.units, gold.people, gold.cluster, seed)


def _scores_of(content: Content, gold: Gold, source: Source) -> Floats:
    """Return (measures, N + V) scores, those without one person behind the others."""
    people, image = [*gold.people, *gold.without], [*range(len(gold.people)), *gold.image.tolist()]
    if source.who == PEOPLE:
        return np.array(content.scores_of_people(people))
    draws = [content.scores([draw[index] for index in image], people) for draw in source.draws]
    return np.asarray(np.mean(draws, axis=0))


def _outputs(content: Content, gold: Gold, scores: Sequence[Floats], measure: int) -> Outputs:
    """Return the scores of a measure as outputs of sources, which are named by their positions."""
    images = len(gold.units)
    of_measure = np.array([score[measure] for score in scores])
    system, item = np.nonzero(~np.isnan(of_measure[:, :images]))
    row = np.full((len(scores), images), -1)
    row[system, item] = np.arange(len(item))
    deletions = None
    if len(gold.rater):
        source, answer = np.nonzero(row[:, gold.image] >= 0)
        deletions = RaterDeletions(
            row[source, gold.image[answer]],
            renumbered(gold.rater[answer]),
            of_measure[source, images + answer],
            content.means,
        )
    return Outputs(
        names=list(map(str, range(len(scores)))),
        item=item,
        system=system,
        cluster=gold.cluster,
        score=of_measure[system, item],
        deletions=deletions,
        ends=(0.0, 1.0),
    )
