"""Compute the figures of a study's control items: workers' results, and the items that careful workers miss.

The figures are cached as JSON (``FIGURES``). The module also describes a control item and its right answer for pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db.models import Count, Sum
from django.utils.translation import gettext as _

from annotation.models import StudyAlarm
from annotation.quality.control_item_check import ControlItemTest, check_control_items
from annotation.quality.controls import control_answers
from annotation.snapshots import has_many_assignments
from judgments.drawing.controls.makers import REPEATED
from judgments.figures import FiguresDefinition, add_figures
from judgments.kinds import Kind
from judgments.models import Study, Unit
from judgments.studies.designs import design_of, kind_of

MAX_CELL_LENGTH = 300  # characters of a cell on the page
ITEM_COLUMNS = ("pk", "item_id", "reference_id", "first_id", "second_id", "expected", "control_kind")


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """The numbers of answers and of right answers to some control items."""

    answers: int
    right_answers: int


@dataclass(frozen=True, slots=True)
class SuspectItem:
    """A control item that may be wrong.

    Attributes:
        units: the units of all HITs that are this item.
        content: the texts and the right answer, as ``describe_control_item`` returns them.
    """

    units: list[Unit]
    content: dict[str, Any]
    test: ControlItemTest

    @property
    def keys(self) -> str:
        """The keys of the units, as a form posts them."""
        return " ".join(unit.key for unit in self.units)


@dataclass(frozen=True, slots=True)
class ControlFigures:
    """The answers to a study's control items.

    Attributes:
        by_unit: the answers to each item, in any HIT, by unit row id.
        by_kind: the kinds of control items, by name, and the answers to each.
        suspects: items that careful workers miss, the most certain first.
    """

    by_unit: dict[int, AnswerCounts]
    by_kind: list[tuple[str, AnswerCounts]]
    suspects: list[SuspectItem]

    @property
    def suspect_units(self) -> list[Unit]:
        """The units of all suspect items."""
        return list(chain.from_iterable(suspect.units for suspect in self.suspects))


# the key in the cached JSON of each field of ControlItemTest
TEST_KEYS = {
    "answers": "seen",
    "right_answers": "right",
    "careful_answers": "vouching",
    "careful_right_answers": "vouching_right",
    "accuracy_elsewhere": "elsewhere",
    "p": "p",
    "is_suspect": "suspect",
}


def _count_answers(figures: ControlFigures) -> int:
    return sum(counts.answers for _, counts in figures.by_kind)


def _test_as_json(test: ControlItemTest) -> dict[str, Any]:
    return {key: getattr(test, name) for name, key in TEST_KEYS.items()}


def _test_from_json(value: dict[str, Any]) -> ControlItemTest:
    return ControlItemTest(**{name: value[key] for name, key in TEST_KEYS.items()})


def _as_json(figures: ControlFigures) -> dict[str, Any]:
    """Return figures as they are cached.

    "fared" has the numbers of answers and of right answers by unit, such as ``{7: [20, 18]}``; "by_kind" the same by
    kind, such as ``[["repeated", 20, 18]]``; "suspects" the row ids of the units of each item, and its test.
    """
    suspects = []
    for row in figures.suspects:
        unit_ids = [unit.pk for unit in row.units]
        suspects.append([unit_ids, _test_as_json(row.test)])
    return {
        "fared": {unit: [counts.answers, counts.right_answers] for unit, counts in figures.by_unit.items()},
        "by_kind": [[name, counts.answers, counts.right_answers] for name, counts in figures.by_kind],
        "suspects": suspects,
    }


def from_json(value: dict[str, Any]) -> ControlFigures:
    """Return figures from the result of ``_as_json``. Suspect units that were withdrawn meanwhile are left out."""
    relations = ("study", "item", "reference", "first", "second")
    unit_ids = list(chain.from_iterable(units for units, _test in value["suspects"]))
    rows = Unit.objects.filter(withdrawn=False).select_related(*relations)
    current_units = rows.in_bulk(unit_ids) if unit_ids else {}
    suspects = []
    for suspect_ids, test in value["suspects"]:
        units = [current_units[unit_id] for unit_id in suspect_ids if unit_id in current_units]
        if units:
            content = describe_control_item(kind_of(units[0].study), units[0])
            suspects.append(SuspectItem(units, content, _test_from_json(test)))
    return ControlFigures(
        by_unit={int(unit): AnswerCounts(*counts) for unit, counts in value["fared"].items()},
        by_kind=[(name, AnswerCounts(*counts)) for name, *counts in value["by_kind"]],
        suspects=suspects,
    )


def compute_control_figures(study: Study) -> ControlFigures:
    """Compute the figures from the answers to all control items of a study."""
    kind = kind_of(study)
    answers = control_answers(study)
    if not answers:
        return ControlFigures({}, [], [])
    rows = Unit.objects.filter(study=study, control=True, withdrawn=False).values_list(*ITEM_COLUMNS)
    item_by_unit = {pk: _item_key(kind, (pk, *columns)) for pk, *columns in rows}
    # whether each answer is right, by kind of control item and by item
    right_flags_by_kind: defaultdict[str, list[bool]] = defaultdict(list)
    right_flags_by_item: defaultdict[Hashable, list[bool]] = defaultdict(list)
    tested_answers: list[tuple[Hashable, int, bool]] = []  # item, worker, whether the answer is right
    for answer in answers:
        item = item_by_unit[answer.unit]
        is_right = kind.is_right(answer.answer, answer.expected)
        right_flags_by_kind[answer.control_kind].append(is_right)
        right_flags_by_item[item].append(is_right)
        # a repeated unit has no right answer, only the worker's first one
        if answer.control_kind != REPEATED:
            tested_answers.append((item, answer.worker, is_right))
    tests = check_control_items(tested_answers, threshold=design_of(study).controls.threshold)
    counts = {item: AnswerCounts(len(flags), sum(flags)) for item, flags in right_flags_by_item.items()}
    return ControlFigures(
        by_unit={unit: counts[item] for unit, item in item_by_unit.items() if item in counts},
        by_kind=[
            # the items of some imports have no kind
            (name or "control", AnswerCounts(len(flags), sum(flags)))
            for name, flags in sorted(right_flags_by_kind.items())
        ],
        suspects=_suspect_items(kind, item_by_unit, tests),
    )


def _item_key(kind: Kind, row: Sequence[Any]) -> Hashable:
    """Return a key of a control item that is the same in any HIT, from a row of ``ITEM_COLUMNS``.

    It consists of the image, the texts with the right one first, and the right answer. A repeated unit is an item of
    its own.
    """
    pk, item, reference, first, second, expected, control_kind = row
    if control_kind == REPEATED:
        return pk
    if kind.two_sided and expected == 2:
        first, second, expected = second, first, 1
    return item, reference, first, second, str(expected)


def _suspect_items(
    kind: Kind, item_by_unit: dict[int, Hashable], tests: dict[Hashable, ControlItemTest]
) -> list[SuspectItem]:
    """Return the items that careful workers miss, the most certain first."""
    unit_ids = [unit for unit, item in item_by_unit.items() if item in tests and tests[item].is_suspect]
    rows = Unit.objects.filter(pk__in=unit_ids).select_related("item", "reference", "first", "second")
    units_by_item: dict[Hashable, list[Unit]] = {}
    for unit in rows.order_by("position"):
        units_by_item.setdefault(item_by_unit[unit.pk], []).append(unit)
    suspects = [
        SuspectItem(units, describe_control_item(kind, units[0]), tests[item])
        for item, units in units_by_item.items()
    ]
    return sorted(suspects, key=lambda suspect: (suspect.test.p, suspect.units[0].position))


def describe_control_item(kind: Kind, unit: Unit) -> dict[str, Any]:
    """Return the texts that workers read, with the right one marked, or else the right answer in words.

    Returns:
        "reference", a caption or None; "texts", pairs of a text and whether it is right; "right_answer", "" if a text
        is marked.
    """
    if unit.control_kind == REPEATED:
        return {
            "reference": unit.reference,
            "texts": _texts_of(kind, unit),
            "right_answer": _("the same answer as the first time"),
        }
    if kind.two_sided:
        options = [(unit.first, unit.expected == 1), (unit.second, unit.expected == 2)]
        return {"reference": unit.reference, "texts": options, "right_answer": ""}
    return {
        "reference": None,
        "texts": _texts_of(kind, unit),
        "right_answer": _right_answer(kind, unit.expected),
    }


def _texts_of(kind: Kind, unit: Unit) -> list[tuple[Any, bool]]:
    """Return the captions, options and cells (inputs of a HIT template) of a unit, none of them marked as right."""
    captions = [caption for caption in (unit.first, unit.second) if caption is not None]
    cells = kind.exchange.fields(unit.content).items()
    cell_texts = [{"text": f"{name}: {cell[:MAX_CELL_LENGTH]}"} for name, cell in cells if cell.strip()]
    return [(text, False) for text in [*captions, *unit.content.get("options", ()), *cell_texts]]


def _right_answer(kind: Kind, expected: Any) -> str:
    """Return the expected answer in words: the labels of the value, or of both ends of a range such as "3-4"."""
    labels = {str(choice.value): choice.text for choice in kind.choices if choice.has_label}
    low, _dash, high = expected.partition("-") if isinstance(expected, str) else (str(expected), "", "")
    if low in labels and (high in labels or not high):
        return _(" or ").join(labels[part] for part in (low, high) if part in labels)
    return kind.describe_expected(expected)


def sum_control_alarms(study: Study) -> dict[str, Any]:
    """Return how many workers met every control item, how many of their pages lack some, and how many are missing."""
    alarms = StudyAlarm.objects.filter(study=study, what=StudyAlarm.Kind.CONTROLS_USED_UP)
    return alarms.aggregate(workers=Count("pk"), pages=Sum("pages"), missing=Sum("missing"))


FIGURES = add_figures(
    FiguresDefinition(
        "controls",
        compute_control_figures,
        rows=_count_answers,
        as_json=_as_json,
        from_json=from_json,
        first_needs_job=has_many_assignments,
    )
)
