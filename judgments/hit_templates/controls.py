"""Control items of HIT templates: rows with expected answers, and repeated rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.controls import KNOWN_GOOD, REPEATED, Known
from judgments.drawing.material import Group, Image, UnitSpec, content_key, shuffled
from judgments.hit_templates.expected import (
    ExpectedProblem,
    example_of,
    expected_columns,
    expected_of,
    meets,
    reason_of,
)
from judgments.hit_templates.filling import filled_questions
from judgments.hit_templates.questions import Question
from judgments.hit_templates.reading import Template

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

OWN = (KNOWN_GOOD, REPEATED)
TRIES = 20  # draws of a wrong answer
WRITTEN = "An answer of a simulated worker."


def control_contradictions(template: Template, design: StudyDesign) -> Iterator[str]:
    """Yield how control items contradict a template; each clause begins with its key."""
    if design.controls.known:
        yield (
            gettext(
                "controls.known names items, but those of a template are rows of its inputs that say "
                "what is expected in columns Expected.NAME; expected none"
            )
        )
    if not design.controls.per_hit:
        return
    foreign = [one for one in design.controls.kinds if one not in OWN]
    if foreign:
        yield (
            gettext("controls.kinds names %(foreign)r, which a template does not have; expected %(listed)s")
            % {"foreign": foreign[0], "listed": " or ".join(map(repr, OWN))}
        )
    if REPEATED in design.controls.kinds and all(
        one.shape in ("text", "fixed") for one in template.questions
    ):
        yield (
            gettext(
                "controls.kinds names 'repeated', but the template asks for texts alone, and nobody "
                "types the same text twice; expected %(known_good)r"
            )
            % {"known_good": KNOWN_GOOD}
        )


def known_rows(template: Template, rows: Sequence[Image], dataset: str) -> list[Known]:
    """Return the rows with expected answers, which workers must not see."""
    expecting = expected_columns((name for name, _ in rows[0].fields), template.questions)
    shown = next((name for name in template.fields if name in expecting), None)
    if shown is not None:
        raise DesignError(
            gettext(
                "template.html shows ${%(shown)s}, which says what is expected: every worker would read it."
            )
            % {"shown": shown},
            field="template.html",
        )
    found = []
    for number, row in enumerate(rows, start=1):
        cells = dict(row.fields)
        try:
            expected = expected_of(filled_questions(template.questions, cells), cells)
        except ExpectedProblem as problem:
            raise DesignError(
                gettext(
                    "controls.kinds names %(known_good)r, but %(name)s of dataset %(dataset)r has in "
                    "column %(column)r %(problem)s."
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
        if expected:
            found.append(Known(number, row, None, None, None, expected, reason_of(cells)))
    if not found:
        names = [one.name for one in template.questions if one.shape != "fixed"]
        raise DesignError(
            gettext(
                "controls.kinds names %(known_good)r, but no row of dataset %(dataset)r says what is "
                "expected of it; expected a column such as Expected.%(names)s with the right answers "
                "of some rows (or controls.per_hit = 0)."
            )
            % {"known_good": KNOWN_GOOD, "dataset": dataset, "names": names[0]},
            field="controls.kinds",
        )
    return found


def known_control(
    design: StudyDesign,
    place: str,
    items: Sequence[Known],
    images: Sequence[Image],
    rng: np.random.Generator,
) -> Group:
    row, fields = items[0].image, dict(items[0].image.fields)
    unit = UnitSpec(
        key=content_key("control", design.protocol, design.seed, place, row.name, fields),
        image=row.name,
        control=True,
        control_kind=KNOWN_GOOD,
        expected=items[0].expected,
        content={"fields": fields},
    )
    return Group(row.name, (unit,))


def answer_to(
    questions: Sequence[Question],
    expected: Mapping[str, Any],
    drawn: dict[str, Any],
    *,
    right: bool,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return the expected answer, changed in one question if not ``right``."""
    asked = {question.name: question for question in questions}
    given = drawn | {
        name: example_of(asked[name], wanted, drawn.get(name)) for name, wanted in expected.items()
    }
    if right:
        return given
    for name in shuffled(sorted(expected), rng):
        for _try in range(TRIES):
            other = given | {name: drawn_answer(asked[name], rng)}
            if not meets(expected, other):
                return other
    return given


def drawn_answer(question: Question, rng: np.random.Generator) -> Any:
    values = [option.value for option in question.options if option.value]
    if question.shape == "choice":
        return values[int(rng.integers(len(values)))]
    if question.shape == "several":
        return [option.value for option in question.options if bool(rng.random() < 0.4) | option.required]
    if question.shape == "number":
        low = question.low if question.low is not None else 0.0
        high = question.high if question.high is not None else low + 100.0
        step = question.step or 1.0
        return low + step * int(rng.integers(int((high - low) / step + 1e-9) + 1))
    return WRITTEN[: question.longest]
