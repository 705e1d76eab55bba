"""Template tags for the page of a HIT template."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.safestring import SafeString

from contrib.hit_templates.answers import checked_answer, first_answer
from contrib.hit_templates.filling import fill_page, filled_questions
from contrib.hit_templates.reading import read_template
from judgments.design.study_design import StudyDesign

register = template.Library()


@register.simple_tag
def filled_page(design: StudyDesign, row: Any) -> SafeString:
    answer = row.unfinished if isinstance(row.unfinished, dict) else row.value
    return fill_page(
        read_template(design.template.html),
        row.shown["fields"],
        position=row.position,
        answer=answer,
        picture=row.shown.get("picture", ""),
    )


@register.simple_tag
def default_answer(design: StudyDesign, row: Any) -> dict[str, Any]:
    """Return the default answer, whether it is ``enough`` to submit, and whether the worker ``left`` it unchanged."""
    questions = filled_questions(read_template(design.template.html).questions, row.shown["fields"])
    first = first_answer(questions)
    names = {question.name for question in questions if question.shape != "fixed"}
    try:
        checked_answer(questions, first)
    except ValueError:
        enough = False
    else:
        enough = True
    answer = {name: value for name, value in (row.value or {}).items() if name in names}
    return {"answer": first, "enough": enough, "left": row.value is not None and answer == first}
