"""Template tags for the page of a HIT template."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.safestring import SafeString

from contrib.hit_templates.answers import checked_answer, initial_answer
from contrib.hit_templates.filling import fill_page, filled_questions
from contrib.hit_templates.reading import read_template
from judgments.design.study_design import StudyDesign

register = template.Library()


@register.simple_tag
def filled_page(design: StudyDesign, row: Any) -> SafeString:
    """Return the page of a template as HTML, with the answer of ``row``, the unit in a worker's form.

    ``row.unfinished`` is an invalid answer that was sent without scripts, ``row.value`` the stored one.
    """
    answer = row.unfinished if isinstance(row.unfinished, dict) else row.value
    return fill_page(
        read_template(design.template.html),
        row.shown["fields"],
        position=row.position,
        answer=answer,
        picture=row.shown.get("picture", ""),
    )


@register.simple_tag
def default_answer_state(design: StudyDesign, row: Any) -> dict[str, Any]:
    """Return the answer that the page shows at first, with the state of this answer.

    The keys are ``answer``, the answer itself; ``can_submit``, whether it is valid; and ``is_unchanged``, whether the
    worker submitted it as it was.
    """
    questions = filled_questions(read_template(design.template.html).questions, row.shown["fields"])
    default_answer = initial_answer(questions)
    names = {question.name for question in questions if question.shape != "fixed"}
    try:
        checked_answer(questions, default_answer)
    except ValueError:
        can_submit = False
    else:
        can_submit = True
    # without hidden constants, which a stored answer has and an initial one has not
    answer = {name: value for name, value in (row.value or {}).items() if name in names}
    is_unchanged = row.value is not None and answer == default_answer
    return {"answer": default_answer, "can_submit": can_submit, "is_unchanged": is_unchanged}
