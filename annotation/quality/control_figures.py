"""The figures of a study's control items: workers' results, and the items that careful workers miss."""

from __future__ import annotations

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
    item_of = {row[0]: _item_key(kind, row) for row in rows}
    by_kind: dict[str, list[int]] = {}
    by_item: dict[Hashable, list[int]] = {}
    known_answers: list[tuple[Hashable, int, bool]] = []
    for answer in answers:
        right = kind.is_right(answer.answer, answer.expected)
        for counts in (
            by_kind.setdefault(answer.control_kind, [0, 0]),
            by_item.setdefault(item_of[answer.unit], [0, 0]),
        ):
            counts[0] += 1
            counts[1] += right
        if answer.control_kind != REPEATED:  # a repeated unit has no right answer that is known
            known_answers.append((item_of[answer.unit], answer.worker, right))
    tests = check_control_items(known_answers, threshold=design_of(study).controls.threshold)
    return ControlFigures(
        by_unit={unit: AnswerCounts(*by_item[item]) for unit, item in item_of.items() if item in by_item},
        by_kind=[(name or "control", AnswerCounts(*counts)) for name, counts in sorted(by_kind.items())],
        suspects=_suspect_rows(kind, item_of, {item: test for item, test in tests.items() if test.suspect}),
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
    kind: Kind, item_of: dict[int, Hashable], tests: dict[Hashable, ControlItemTest]
) -> list[SuspectRow]:
    pks = [pk for pk, item in item_of.items() if item in tests]
    units: dict[Hashable, list[Unit]] = {}
    texts = ("item", "reference", "first", "second")
    for unit in Unit.objects.filter(pk__in=pks).select_related(*texts).order_by("position"):
        units.setdefault(item_of[unit.pk], []).append(unit)
    suspects = [
        SuspectRow(units[item], describe_control_item(kind, units[item][0]), test)
        for item, test in tests.items()
    ]
    return sorted(suspects, key=lambda test: (test.test.p, test.units[0].position))


def describe_control_item(kind: Kind, unit: Unit) -> dict[str, Any]:
    """Return the texts that workers read, with the right one marked, or else the right answer in words."""
    if unit.control_kind == REPEATED:
        return {
            "reference": unit.reference,
            "texts": _texts_of(kind, unit),
            "right_answer": _("the same answer as the first time"),
        }
    if kind.two_sided:
        options_and_rights = [(unit.first, unit.expected == 1), (unit.second, unit.expected == 2)]
        return {"reference": unit.reference, "texts": options_and_rights, "right_answer": ""}
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


def sum_used_up_alarms(study: Study) -> dict[str, Any]:
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
