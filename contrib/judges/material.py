"""The answers of people and judges to the same units, as arrays."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contrib.judges.models import Judge, JudgeAnswer
from contrib.judges.prompts import has_orders
from evaluation.data.judgment_sets.loaders import ROWS_PER_BATCH, clusters_of_units, is_anonymous, study_units
from judgments.drawing.keys import text_key
from judgments.kinds import Kind
from judgments.kinds.best_worst import BEST
from judgments.models import Output, Study, Unit
from judgments.models.credits import credited_systems
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.statistics.aggregation.pair_answers import FIRST, MUCH, NEITHER, NO_DIFFERENCE

UNDECIDED_CODE = -1  # also the code for a judge whose answers differ between the two orders


@dataclass(frozen=True, slots=True)
class Summary:
    """The N answers of people, or of a judge, to U units with up to S texts and L labels.

    Attributes:
        unit: (N,) index of the unit.
        value: (N,) answers as numbers: side, position of the best, grade, points, or score of marked errors.
        marks: N answers that mark errors; () for other kinds.
        n: (U,) number of answers.
        mean: (U,) mean answer or, with two texts, share of votes for the first, counting ties as half; nan without
            answers.
        shares: (U, S) share of votes for each text; nan without answers. (U, 0) if units show a single text.
        counts: (U, L) number of answers by label; (U, 0) if answers are not labels.
        label: (U,) most frequent label, UNDECIDED_CODE on a tie; the mean if answers are numbers; nan without
            answers.
    """

    unit: Ints
    value: Floats
    marks: Sequence[Any]
    n: Ints
    mean: Floats
    shares: Floats
    counts: Floats
    label: Floats


@dataclass(frozen=True, slots=True)
class JudgeMaterial:
    """A study's U judged units, in order, and people's N answers.

    Attributes:
        pk, image: (U,) row ids of the units and their images.
        people: the included judgments; `people.unit` has the index of the unit of each.
        worker: (N,) row id of the worker of each answer.
        lengths: (U, S) number of words of the texts; nan where a unit has fewer than S texts.
        systems: (U, S) whether the system made the text, by name of the system.
        anonymous: whether `worker` has places in published totals instead of persons.
    """

    kind: Kind
    pk: Ints
    image: Ints
    people: Summary
    worker: Ints
    lengths: Floats
    systems: Mapping[str, Flags]
    anonymous: bool
    data_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswers(Summary):
    """A judge's N answers. `is_swapped` is (N,): whether the reverse order was shown."""

    is_swapped: Flags


def load_material(study: Study, kind: Kind, table: Any) -> JudgeMaterial:
    units = study_units(study).judged_units
    is_counted = table.is_counted
    unit = places_in(units.pk, table.unit[is_counted])
    answers = table.answers_of(is_counted) if kind.is_open else table.value[is_counted]
    lengths, systems = _lengths_and_systems(study, kind, units.pk)
    return JudgeMaterial(
        kind=kind,
        pk=units.pk,
        image=clusters_of_units(study, units),
        people=Summary(**_summarise_answers(kind, unit, answers, lengths.shape)),
        worker=table.worker[is_counted],
        lengths=lengths,
        systems=systems,
        anonymous=is_anonymous(study),
        data_hash=table.data_hash,
    )


def _summarise_answers(
    kind: Kind, unit: Ints, answers: Sequence[Any], shape: tuple[int, ...]
) -> dict[str, Any]:
    """Return the fields of a ``Summary`` of N answers.

    Args:
        shape: the shape of the texts, (U, S).
    """
    unit_count, text_count = shape
    numbers = [_number_of(kind, answer) for answer in answers] if kind.is_open else answers
    value = np.array(numbers, dtype=np.float64)
    value = value % MUCH if kind.two_sided else value  # the side, without strength and confidence
    n = np.bincount(unit, minlength=unit_count)
    total = np.where(n, n, np.nan)
    label = mean = np.bincount(unit, weights=value, minlength=unit_count) / total
    shares = counts = np.empty((unit_count, 0))
    if is_nominal(kind):
        # labels are codes up to NEITHER, or positions of texts
        counts = np.zeros((unit_count, 1 + max(NEITHER, text_count)))
        np.add.at(counts, (unit, value.astype(np.int64)), 1.0)
        has_single_mode = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
        label = np.where(n == 0, np.nan, np.where(has_single_mode, counts.argmax(axis=1), UNDECIDED_CODE))
    if has_orders(kind):
        votes = counts[:, FIRST : FIRST + text_count]
        if kind.two_sided:
            votes = votes + counts[:, [NO_DIFFERENCE, NEITHER]].sum(axis=1, keepdims=True) / 2
        shares = votes / total[:, np.newaxis]
        mean = shares[:, 0]
    marks = () if kind.marks is None else answers
    return {
        "unit": unit, "value": value, "marks": marks, "n": n, "mean": mean, "shares": shares, "counts": counts,
        "label": label,
    }  # fmt: skip


def is_nominal(kind: Kind) -> bool:
    """Return whether answers are labels. In a list, the label is the position of the best text."""
    return kind.aggregation.level == "nominal" or kind.names_best


def _number_of(kind: Kind, answer: Any) -> float:
    return float(answer[BEST] if kind.names_best else kind.aggregation.codes(None, answer)[""])


@dataclass(frozen=True, slots=True)
class _Place:
    """A text's place in the (U, S) table of texts, and the row ids of systems that a file credits with it."""

    index: int
    side: int
    file_credits: Sequence[int]


def _lengths_and_systems(study: Study, kind: Kind, pks: Ints) -> tuple[Floats, dict[str, Flags]]:
    """Return ``lengths`` and ``systems`` of a ``JudgeMaterial``.

    The systems of a pair are in its row. Those of other texts are found among the outputs of the study.
    """
    rows = Unit.objects.filter(study=study, control=False).order_by()
    sides = 2
    if kind.names_best:
        contents = rows.values_list("content", flat=True)
        sides = max((len(content["options"]) for content in contents), default=sides)
    shape = (len(pks), sides)
    lengths = np.full(shape, np.nan)
    systems: defaultdict[str, Flags] = defaultdict(lambda: np.zeros(shape, dtype=np.bool_))
    places: defaultdict[tuple[int, str], list[_Place]] = defaultdict(list)  # by image and text
    index_by_unit = {pk: index for index, pk in enumerate(pks.tolist())}
    columns = ("pk", "item_id", "content", "systems", "first__text_key", "first__text", "second__text")
    pair_columns = ("pair__first_system__name", "pair__second_system__name")
    for pk, item, content, file_credits, first_key, left, right, *pair_systems in rows.values_list(
        *columns, *pair_columns
    ).iterator(ROWS_PER_BATCH):
        index = index_by_unit[pk]
        options = content["options"] if kind.names_best else ()
        for side, text in enumerate([option["text"] for option in options] or (left, right)):
            if text is not None:
                lengths[index, side] = len(text.split())
        for side, name in enumerate(pair_systems):
            if name:
                systems[name][index, side] = True
        if kind.two_sided:
            continue
        # A list has credits for each option; another unit has them for its only text.
        captions = [text_key(option["text"]) for option in options] or [first_key]
        credits_by_caption = (file_credits or [()] * len(captions)) if options else [file_credits]
        for side, (caption, caption_credits) in enumerate(zip(captions, credits_by_caption, strict=True)):
            places[item, caption].append(_Place(index, side, caption_credits))
    _mark_outputs(study, places, systems)
    return lengths, dict(sorted(systems.items()))


def _mark_outputs(
    study: Study, places: Mapping[tuple[int, str], Sequence[_Place]], systems: Mapping[str, Flags]
) -> None:
    """Mark the texts that the study's systems gave, unless a file credits other systems with them."""
    if not places:
        return
    outputs = Output.objects.of_study(study).annotations().order_by()
    if len(places) < ROWS_PER_BATCH:
        outputs = outputs.filter(item__in={item for item, _ in places})
    rows = outputs.values_list("item_id", "caption__text_key", "system", "system__name")
    for item, caption, system, name in rows.iterator(ROWS_PER_BATCH):
        for place in places.get((item, caption), ()):
            if system in credited_systems(place.file_credits, (system,)):
                systems[name][place.index, place.side] = True


def load_answers(judge: Judge, material: JudgeMaterial) -> tuple[JudgeAnswers, str]:
    """Return a judge's answers, and their hash."""
    rows = JudgeAnswer.objects.filter(judge=judge, state=JudgeAnswer.State.ANSWERED).order_by(
        "unit_id", "rater", "swapped"
    )
    records = list(rows.values_list("unit_id", "swapped", "value", "answer").iterator(ROWS_PER_BATCH))
    unit = places_in(material.pk, np.array([unit for unit, *_ in records], dtype=np.int64))
    answers = [value if answer is None else answer for *_, value, answer in records]
    swapped = np.array([is_swapped for _, is_swapped, *_ in records], dtype=np.bool_)
    content = [unit.tolist(), swapped.tolist(), answers]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return JudgeAnswers(
        **_summarise_answers(material.kind, unit, answers, material.lengths.shape), is_swapped=swapped
    ), digest
