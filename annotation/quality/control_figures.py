"""The figures of a study's control items: workers' results, and the items that careful workers miss."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Count, Sum
from django.utils.translation import gettext as _

from annotation.models import StudyAlarm
from annotation.quality.controls import ControlItemTest, check_control_items, control_answers
from annotation.snapshots import has_many_assignments
from judgments.drawing.controls.makers import REPEATED
from judgments.figures import Figures, add_figures
from judgments.kinds import Kind
from judgments.models import Study, Unit
from judgments.studies.designs import design_of, kind_of

MAX_CELL_LENGTH = 300  # characters of a cell on the page


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    answers: int
    right_answers: int


@dataclass(frozen=True, slots=True)
class SuspectRow:
    units: list[Unit]
    content: dict[str, Any]
    test: ControlItemTest

    @property
    def keys(self) -> str:
        return " ".join(unit.key for unit in self.units)


@dataclass(frozen=True, slots=True)
class ControlFigures:
    """The answers to a study's control items.

    Attributes:
        by_unit: the answers to each item, in any HIT, by unit row id.
        suspects: items that careful workers miss, the most certain first.
    """

    by_unit: dict[int, AnswerCounts]
    by_kind: list[tuple[str, AnswerCounts]]
    suspects: list[SuspectRow]


def _count_answers(figures: ControlFigures) -> int:
    return sum(counts.answers for _, counts in figures.by_kind)


def _as_json(figures: ControlFigures) -> dict[str, Any]:
    return {
        "fared": {unit: [entry.answers, entry.right_answers] for unit, entry in figures.by_unit.items()},
        "by_kind": [[name, entry.answers, entry.right_answers] for name, entry in figures.by_kind],
        "suspects": [[[unit.pk for unit in entry.units], asdict(entry.test)] for entry in figures.suspects],
    }


def from_json(value: dict[str, Any]) -> ControlFigures:
    """Return figures from the result of ``_as_json``, with the current rows of the suspect items."""
    texts = ("study", "item", "reference", "first", "second")
    pks = [pk for units, _ in value["suspects"] for pk in units]
    units = Unit.objects.filter(withdrawn=False).select_related(*texts).in_bulk(pks) if pks else {}
    suspects = []
    for suspect_units, test in value["suspects"]:
        current = [units[pk] for pk in suspect_units if pk in units]
        if current:
            kind = kind_of(current[0].study)
            suspects.append(
                SuspectRow(current, describe_control_item(kind, current[0]), ControlItemTest(**test))
            )
    return ControlFigures(
        by_unit={int(unit): AnswerCounts(*counts) for unit, counts in value["fared"].items()},
        by_kind=[(name, AnswerCounts(seen_count, right)) for name, seen_count, right in value["by_kind"]],
        suspects=suspects,
    )


def compute_control_figures(study: Study) -> ControlFigures:
    kind = kind_of(study)
    answers = control_answers(study)
    if not answers:
        return ControlFigures({}, [], [])
    names = ("pk", "item_id", "reference_id", "first_id", "second_id", "expected", "control_kind")
    rows = Unit.objects.filter(study=study, control=True, withdrawn=False).values_list(*names)
    item_by_unit = {row[0]: _item_key(kind, row) for row in rows}
    # whether each answer to a kind of control items, and to an item, is right
    by_kind: defaultdict[str, list[bool]] = defaultdict(list)
    by_item: defaultdict[Hashable, list[bool]] = defaultdict(list)
    tested_answers: list[tuple[Hashable, int, bool]] = []
    for answer in answers:
        item, is_right = item_by_unit[answer.unit], kind.is_right(answer.answer, answer.expected)
        by_kind[answer.control_kind].append(is_right)
        by_item[item].append(is_right)
        # a repeated unit has no right answer, only the worker's first one
        if answer.control_kind != REPEATED:
            tested_answers.append((item, answer.worker, is_right))
    tests = check_control_items(tested_answers, threshold=design_of(study).controls.threshold)
    counts = {item: AnswerCounts(len(rights), sum(rights)) for item, rights in by_item.items()}
    return ControlFigures(
        by_unit={unit: counts[item] for unit, item in item_by_unit.items() if item in counts},
        by_kind=[
            (name or "control", AnswerCounts(len(rights), sum(rights)))
            for name, rights in sorted(by_kind.items())
        ],
        suspects=_suspect_rows(kind, item_by_unit, tests),
    )


def _item_key(kind: Kind, row: Sequence[Any]) -> Hashable:
    """Return a key of a control item that is the same in any HIT.

    It consists of the image, the texts with the right one first, and the right answer.
    """
    pk, item, reference, first, second, expected, control_kind = row
    if control_kind == REPEATED:
        return pk
    if kind.two_sided and expected == 2:
        first, second, expected = second, first, 1
    return item, reference, first, second, str(expected)


def _suspect_rows(
    kind: Kind, item_by_unit: dict[int, Hashable], tests: dict[Hashable, ControlItemTest]
) -> list[SuspectRow]:
    pks = [pk for pk, item in item_by_unit.items() if item in tests and tests[item].suspect]
    units: dict[Hashable, list[Unit]] = {}
    texts = ("item", "reference", "first", "second")
    for unit in Unit.objects.filter(pk__in=pks).select_related(*texts).order_by("position"):
        units.setdefault(item_by_unit[unit.pk], []).append(unit)
    suspects = [
        SuspectRow(units[item], describe_control_item(kind, units[item][0]), tests[item]) for item in units
    ]
    return sorted(suspects, key=lambda row: (row.test.p, row.units[0].position))


def describe_control_item(kind: Kind, unit: Unit) -> dict[str, Any]:
    """Return the texts that workers read, with the right one marked, or else the right answer in words."""
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
    rows = [text for text in (unit.first, unit.second) if text is not None]
    cells = kind.exchange.fields(unit.content).items()
    cell_texts = [{"text": f"{name}: {cell[:MAX_CELL_LENGTH]}"} for name, cell in cells if cell.strip()]
    return [(text, False) for text in [*rows, *unit.content.get("options", ()), *cell_texts]]


def _right_answer(kind: Kind, expected: Any) -> str:
    labels = {str(choice.value): choice.text for choice in kind.choices if choice.has_words}
    low, _dash, high = expected.partition("-") if isinstance(expected, str) else (str(expected), "", "")
    if low in labels and (high in labels or not high):
        return _(" or ").join(labels[part] for part in (low, high) if part in labels)
    return kind.describe_expected(expected)


def sum_control_alarms(study: Study) -> dict[str, Any]:
    """Return how many workers met every control item, and the pages and control items that this concerns."""
    alarms = StudyAlarm.objects.filter(study=study, what=StudyAlarm.Kind.CONTROLS_USED_UP)
    return alarms.aggregate(workers=Count("pk"), pages=Sum("pages"), missing=Sum("missing"))


FIGURES = add_figures(
    Figures(
        "controls",
        compute_control_figures,
        rows=_count_answers,
        as_json=_as_json,
        from_json=from_json,
        is_large=has_many_assignments,
    )
)
