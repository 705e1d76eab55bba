"""Make control items of HIT templates from rows with expected answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from common.errors import DesignError
from contrib.hit_templates.expected_answers import (
    ExpectedAnswerProblem,
    expected_answer_columns,
    read_expected_answers,
    read_explanation,
)
from contrib.hit_templates.filling import filled_questions
from contrib.hit_templates.reading import TemplateForm
from judgments.drawing.controls.makers import KNOWN_GOOD, REPEATED, ControlSlot, KnownItem
from judgments.drawing.keys import content_key
from judgments.drawing.material import Group, Image, UnitSpec

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


TEMPLATE_CONTROLS = (KNOWN_GOOD, REPEATED)


def control_contradictions(template: TemplateForm, design: StudyDesign) -> Iterator[str]:
    """Yield a clause for each setting of the design's control items that a template does not allow.

    Each clause begins with the key of the setting in a study file.
    """
    if design.controls.known:
        yield (
            gettext(
                "controls.known must be empty. The known items of a template are rows of its "
                "inputs with right answers in columns Expected.NAME"
            )
        )
    if not design.controls.per_hit:
        return
    unavailable_kinds = [kind for kind in design.controls.kinds if kind not in TEMPLATE_CONTROLS]
    if unavailable_kinds:
        yield (
            gettext(
                "controls.kinds contains %(foreign)r, which is not available for templates; expected %(listed)s"
            )
            % {"foreign": unavailable_kinds[0], "listed": " or ".join(map(repr, TEMPLATE_CONTROLS))}
        )
    if REPEATED in design.controls.kinds and all(
        question.shape in ("text", "fixed") for question in template.questions
    ):
        yield (
            gettext(
                "controls.kinds contains 'repeated', but this template asks only for written texts. Nobody "
                "writes the same text twice; expected %(known_good)r"
            )
            % {"known_good": KNOWN_GOOD}
        )


def find_known_items(template: TemplateForm, rows: Sequence[Image], dataset: str) -> list[KnownItem]:
    """Return the rows with expected answers as known items, from which control items are made.

    Args:
        rows: all rows of the inputs; the cells of a row are its ``fields``.
        dataset: the name of the dataset, for error messages.

    Raises:
        DesignError: the page shows a column with expected answers, or a cell is not a possible answer.
    """
    answer_columns = expected_answer_columns((name for name, _ in rows[0].fields), template.questions)
    shown_field = next((name for name in template.fields if name in answer_columns), None)
    if shown_field is not None:
        raise DesignError(
            gettext(
                "template.html shows ${%(shown)s}. This field contains the right answer, so "
                "participants would see the right answer."
            )
            % {"shown": shown_field},
            field="template.html",
        )
    items = (_known_item(template, number, row, dataset) for number, row in enumerate(rows, start=1))
    known_items = [item for item in items if item is not None]
    if not known_items:
        names = [question.name for question in template.questions if question.shape != "fixed"]
        raise DesignError(
            gettext(
                "controls.kinds contains %(known_good)r, but no row of dataset %(dataset)r has a right answer; "
                "expected a column such as Expected.%(names)s with the right answers of some rows, or "
                "controls.per_hit = 0."
            )
            % {"known_good": KNOWN_GOOD, "dataset": dataset, "names": names[0]},
            field="controls.kinds",
        )
    return known_items


def _known_item(template: TemplateForm, number: int, row: Image, dataset: str) -> KnownItem | None:
    """Return the known item of a row; None if the row has no expected answers."""
    cells = dict(row.fields)
    try:
        expected = read_expected_answers(filled_questions(template.questions, cells), cells)
    except ExpectedAnswerProblem as problem:
        raise DesignError(
            gettext(
                "controls.kinds contains %(known_good)r, but the right answer of %(name)s in "
                "column %(column)r of dataset %(dataset)r cannot be used: %(problem)s."
            )
            % {
                "known_good": KNOWN_GOOD,
                "name": row.name,
                "dataset": dataset,
                "column": problem.column,
                "problem": problem,
            },
            field="controls.kinds",
        ) from None
    if not expected:
        return None
    return KnownItem(
        number=number,
        image=row,
        reference=None,
        first=None,
        second=None,
        expected=expected,
        explanation=read_explanation(cells),
    )


def make_known_control(slot: ControlSlot, items: Sequence[KnownItem]) -> Group:
    """Return the control item that shows a known item, of which ``items`` has only one for a template."""
    (item,) = items
    row, fields = item.image, dict(item.image.fields)
    unit = UnitSpec(
        key=content_key("control", slot.design.protocol, slot.design.seed, slot.position, row.name, fields),
        image=row.name,
        control=True,
        control_kind=KNOWN_GOOD,
        expected=item.expected,
        content={"fields": fields},
    )
    return Group(row.name, (unit,))
