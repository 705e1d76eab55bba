"""HIT templates of MTurk's requester pages and of Turkle: HTML with ``${field}`` for the cells of a row.

``read_template`` returns clean HTML that needs no scripts, and the questions of its controls; it lists
what was left out. Pure; no database.
"""

from judgments.hit_templates.answers import (
    NoTemplateAnswer,
    answer_of_form,
    checked_answer,
    first_answer,
)
from judgments.hit_templates.expected import (
    ExpectedProblem,
    expected_again,
    expected_columns,
    expected_in_words,
    expected_of,
    meets,
    reason_of,
)
from judgments.hit_templates.filling import fill_page, filled, filled_questions
from judgments.hit_templates.questions import Option, Question
from judgments.hit_templates.reading import MOST_CHARACTERS, Template, TemplateProblem, read_template

__all__ = [
    "MOST_CHARACTERS",
    "ExpectedProblem",
    "NoTemplateAnswer",
    "Option",
    "Question",
    "Template",
    "TemplateProblem",
    "answer_of_form",
    "checked_answer",
    "expected_again",
    "expected_columns",
    "expected_in_words",
    "expected_of",
    "fill_page",
    "filled",
    "filled_questions",
    "first_answer",
    "meets",
    "read_template",
    "reason_of",
]
