"""Template tags for pages of HIT templates."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.safestring import SafeString

from judgments.design.study_design import StudyDesign
from judgments.hit_templates import checked_answer, fill_page, filled_questions, first_answer, read_template

register = template.Library()


@register.simple_tag
def filled_page(design: StudyDesign, row: Any) -> SafeString:
    held = row.unfinished if isinstance(row.unfinished, dict) else row.value
    return fill_page(
        read_template(design.template.html),
        row.shown["fields"],
        position=row.position,
        held=held,
        picture=row.shown.get("picture", ""),
    )


@register.simple_tag
def first_of(design: StudyDesign, row: Any) -> dict[str, Any]:
    """Return the page's default ``answer``, whether that is ``enough`` to submit, and whether it was ``left``
    unchanged.

    Only this tells an accepted default from a page that nobody looked at.
    """
    questions = filled_questions(read_template(design.template.html).questions, row.shown["fields"])
    first = first_answer(questions)
    asked = {question.name for question in questions if question.shape != "fixed"}
    try:
        checked_answer(questions, first)
    except ValueError:
        enough = False
    else:
        enough = True
    given = {name: value for name, value in (row.value or {}).items() if name in asked}
    return {"answer": first, "enough": enough, "left": row.value is not None and given == first}
