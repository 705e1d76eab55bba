"""Load the answers of people and of judges to the same units as arrays, which ``comparison.py`` compares."""

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
from judgments.kinds.base import BEST
from judgments.models import Output, Study, Unit
from judgments.models.credits import credited_systems
from quorum.numeric.arrays import Flags, Floats, Ints, places_in
from quorum.statistics.aggregation.pair_answers import FIRST, MUCH, NEITHER, NO_DIFFERENCE

# The label of a unit whose most frequent answers tie, such as a judge's in the two orders.
UNDECIDED_CODE = -1


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """The N answers of people, or of a judge, to U units with up to S texts and L labels.

    Attributes:
        unit_index: (N,) index of the unit of each answer.
        value: (N,) answers as numbers: side, position of the best, grade, points, or score of marked errors.
        marked_answers: N answers that mark errors; () for other kinds.
        answer_counts: (U,) number of answers.
        mean: (U,) mean answer; if a unit shows several texts, the share of votes for the first, counting ties as
            half; nan without answers.
        shares: (U, S) share of votes for each text; nan without answers. (U, 0) if units show a single text.
        label_counts: (U, L) number of answers by label; (U, 0) if answers are not labels.
        label: (U,) most frequent label, or UNDECIDED_CODE if several are; the mean if answers are not labels; nan
            without answers.
    """

    unit_index: Ints
    value: Floats
    marked_answers: Sequence[Any]
    answer_counts: Ints
    mean: Floats
    shares: Floats
    label_counts: Floats
    label: Floats


@dataclass(frozen=True, slots=True)
class JudgeMaterial:
    """A study's U judged units, in order, and people's N answers.

    Attributes:
        unit_ids: (U,) row ids of the units.
        image_ids: (U,) row ids of their images, or other codes of the clusters to which the units belong.
        people: the included judgments.
        worker_ids: (N,) row id of the worker of each answer.
        lengths: (U, S) number of words of the texts; nan where a unit has fewer than S texts.
        systems: (U, S) whether the system made the text, by name of the system.
        is_anonymous: whether people's answers come from published totals. Then `worker_ids` has positions in the
            totals, which do not identify persons.
        data_hash: hash of the included judgments.
    """

    kind: Kind
    unit_ids: Ints
    image_ids: Ints
    people: AnswerSummary
    worker_ids: Ints
    lengths: Floats
    systems: Mapping[str, Flags]
    is_anonymous: bool
    data_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswers(AnswerSummary):
    """A judge's N answers. An imported judge may be several raters, all of whose answers to a unit count.

    Attributes:
        is_swapped: (N,) whether the reverse order was shown.
    """

    is_swapped: Flags


def load_material(study: Study, kind: Kind, table: Any) -> JudgeMaterial:
    """Load people's included judgments, and what the units show.

    Args:
        table: all judgments of the study, a ``JudgmentTable``.
    """
    units = study_units(study).judged_units
    is_counted = table.is_counted
    unit_index = places_in(units.pk, table.unit[is_counted])
    answers = table.answers_of(is_counted) if kind.is_open else table.value[is_counted]
    lengths, systems = _lengths_and_systems(study, kind, units.pk)
    return JudgeMaterial(
        kind=kind,
        unit_ids=units.pk,
        image_ids=clusters_of_units(study, units),
        people=AnswerSummary(**_summarise_answers(kind, unit_index, answers, lengths.shape)),
        worker_ids=table.worker[is_counted],
        lengths=lengths,
        systems=systems,
        is_anonymous=is_anonymous(study),
        data_hash=table.data_hash,
    )


def _summarise_answers(
    kind: Kind, unit_index: Ints, answers: Sequence[Any], text_shape: tuple[int, ...]
) -> dict[str, Any]:
    """Return the fields of an ``AnswerSummary`` of N answers.

    Args:
        unit_index: (N,) index of the unit of each answer.
        text_shape: the numbers of units and of texts per unit, (U, S).
    """
    unit_count, text_count = text_shape
    numbers = [_number_of(kind, answer) for answer in answers] if kind.is_open else answers
    value = np.array(numbers, dtype=np.float64)
    if kind.two_sided:
        # The last digit of an answer to a pair is the side; the others are strength and confidence.
        value = value % MUCH
    answer_counts = np.bincount(unit_index, minlength=unit_count)
    divisors = np.where(answer_counts, answer_counts, np.nan)
    label = mean = np.bincount(unit_index, weights=value, minlength=unit_count) / divisors
    shares = label_counts = np.empty((unit_count, 0))
    if is_nominal(kind):
        # Labels are codes of sides, of which NEITHER is the largest, or positions of texts.
        label_counts = np.zeros((unit_count, 1 + max(NEITHER, text_count)))
        np.add.at(label_counts, (unit_index, value.astype(np.int64)), 1.0)
        is_mode = label_counts == label_counts.max(axis=1, keepdims=True)
        modes = np.where(is_mode.sum(axis=1) == 1, label_counts.argmax(axis=1), UNDECIDED_CODE)
        label = np.where(answer_counts == 0, np.nan, modes)
    if has_orders(kind):
        # FIRST and SECOND are 1 and 2, as the positions of texts in a list begin with 1.
        votes = label_counts[:, FIRST : FIRST + text_count]
        if kind.two_sided:
            votes = votes + label_counts[:, [NO_DIFFERENCE, NEITHER]].sum(axis=1, keepdims=True) / 2
        shares = votes / divisors[:, np.newaxis]
        mean = shares[:, 0]
    return {
        "unit_index": unit_index, "value": value, "marked_answers": () if kind.marks is None else answers,
        "answer_counts": answer_counts, "mean": mean, "shares": shares, "label_counts": label_counts, "label": label,
    }  # fmt: skip


def is_nominal(kind: Kind) -> bool:
    """Return whether answers are labels. If an answer names the best of several texts, its position is the label."""
    return kind.aggregation.level == "nominal" or kind.names_best


def _number_of(kind: Kind, answer: Any) -> float:
    """Return the answer as a number: the position of the best text, or the score of marked errors."""
    # The key "" of the codes of an answer that marks errors is its score.
    return float(answer[BEST] if kind.names_best else kind.aggregation.codes(None, answer)[""])


@dataclass(frozen=True, slots=True)
class _ShownText:
    """A text that a unit shows.

    Attributes:
        unit_index, text_index: its row and column in the (U, S) arrays of a ``JudgeMaterial``.
        file_credits: row ids of the systems that the study's file credits with the text.
    """

    unit_index: int
    text_index: int
    file_credits: Sequence[int]


def _lengths_and_systems(study: Study, kind: Kind, unit_ids: Ints) -> tuple[Floats, dict[str, Flags]]:
    """Return ``lengths`` and ``systems`` of a ``JudgeMaterial``. S is 2, or the largest number of texts in a list.

    The row of a pair names its two systems. The systems of other texts are found among the outputs of the study.
    """
    rows = Unit.objects.filter(study=study, control=False).order_by()
    text_count = 2
    if kind.names_best:
        contents = rows.values_list("content", flat=True)
        text_count = max((len(content["options"]) for content in contents), default=text_count)
    text_shape = (len(unit_ids), text_count)
    lengths = np.full(text_shape, np.nan)
    systems: defaultdict[str, Flags] = defaultdict(lambda: np.zeros(text_shape, dtype=np.bool_))
    # By row id of the image and key of the text, since several units may show a text.
    shown_texts: defaultdict[tuple[int, str], list[_ShownText]] = defaultdict(list)
    index_by_unit = {pk: index for index, pk in enumerate(unit_ids.tolist())}
    columns = ("pk", "item_id", "content", "systems", "first__text_key", "first__text", "second__text")
    pair_columns = ("pair__first_system__name", "pair__second_system__name")
    for pk, item, content, file_credits, first_key, first, second, *pair_systems in rows.values_list(
        *columns, *pair_columns
    ).iterator(ROWS_PER_BATCH):
        unit_index = index_by_unit[pk]
        options = [option["text"] for option in content["options"]] if kind.names_best else []
        for text_index, text in enumerate(options or (first, second)):
            if text is not None:
                lengths[unit_index, text_index] = len(text.split())
        for text_index, name in enumerate(pair_systems):
            if name:
                systems[name][unit_index, text_index] = True
        if kind.two_sided:
            continue
        if options:
            text_keys = list(map(text_key, options))
            credits_of_texts = file_credits or [()] * len(options)  # a list of systems for each option
        else:
            text_keys, credits_of_texts = [first_key], [file_credits]
        for text_index, (key, text_credits) in enumerate(zip(text_keys, credits_of_texts, strict=True)):
            shown_texts[item, key].append(_ShownText(unit_index, text_index, text_credits))
    _mark_outputs(study, shown_texts, systems)
    return lengths, dict(sorted(systems.items()))


def _mark_outputs(
    study: Study, shown_texts: Mapping[tuple[int, str], Sequence[_ShownText]], systems: Mapping[str, Flags]
) -> None:
    """Mark in ``systems`` the texts that are outputs of each system, unless a file credits other systems with them.

    ``shown_texts`` are the texts by row id of the image and key of the text.
    """
    if not shown_texts:
        return
    outputs = Output.objects.of_study(study).annotations().order_by()
    if len(shown_texts) < ROWS_PER_BATCH:  # few enough images to list in a query
        outputs = outputs.filter(item__in={item for item, _ in shown_texts})
    rows = outputs.values_list("item_id", "caption__text_key", "system", "system__name")
    for item, key, system, name in rows.iterator(ROWS_PER_BATCH):
        for text in shown_texts.get((item, key), ()):
            if system in credited_systems(text.file_credits, (system,)):
                systems[name][text.unit_index, text.text_index] = True


def load_answers(judge: Judge, material: JudgeMaterial) -> tuple[JudgeAnswers, str]:
    """Return the usable answers of a judge, and a hash of them."""
    rows = JudgeAnswer.objects.filter(judge=judge, state=JudgeAnswer.State.ANSWERED).order_by(
        "unit_id", "rater", "swapped"
    )
    records = list(rows.values_list("unit_id", "swapped", "value", "answer").iterator(ROWS_PER_BATCH))
    unit_index = places_in(material.unit_ids, np.array([unit for unit, *_ in records], dtype=np.int64))
    answers = [value if answer is None else answer for *_, value, answer in records]
    is_swapped = np.array([flag for _, flag, *_ in records], dtype=np.bool_)
    content = [unit_index.tolist(), is_swapped.tolist(), answers]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return JudgeAnswers(
        **_summarise_answers(material.kind, unit_index, answers, material.lengths.shape),
        is_swapped=is_swapped,
    ), digest
