"""Explain the answers of an attempt at a quiz: which is right, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.work.answers.checks import answer_key
from annotation.work.sheet.texts import translated_text
from annotation.work.sheet.units import PageUnit
from common.markup import render_markdown
from contrib.quiz.attempts.content import AttemptContent
from judgments.kinds import KINDS, Kind


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
    """An answer with its explanation.

    Attributes:
        texts: the label (such as "B") and the text of each text of the unit.
        expected: the right answers in words. There are several if a range of answers is right.
    """

    position: int
    question: str
    texts: tuple[tuple[str, str], ...]
    answer: str
    is_right: bool
    expected: tuple[str, ...]
    explanation: str

    @property
    def expected_html(self) -> SafeString:
        if len(self.expected) == 1:
            return format_html("{}", *self.expected)
        return format_html_join(_(" or "), "<q>{}</q>", ((answer,) for answer in self.expected))

    @property
    def explanation_html(self) -> SafeString:
        return render_markdown(self.explanation)


def explain_answer(content: AttemptContent, position: int) -> ExplainedAnswer | None:
    """Return the answer at a position with the right answer and an explanation.

    Return None if there is no answer, or no right one (``AttemptContent.is_right``).
    """
    is_right = content.is_right(position)
    if is_right is None:
        return None
    answer = content.attempt.answers[str(position)]
    if position in content.questions:
        shown_question = content.questions[position]
        return ExplainedAnswer(
            position=position,
            question=translated_text(shown_question.question.text),
            texts=(),
            answer=shown_question.options[answer["value"] - 1],
            is_right=is_right,
            expected=(shown_question.options[shown_question.right_value - 1],),
            explanation=translated_text(shown_question.question.explanation),
        )
    page_unit, kind = content.page_units[position], KINDS[content.design.protocol].for_design(content.design)
    presented_unit = kind.present_unit(page_unit.unit, side=page_unit.side, picture_url="")
    return ExplainedAnswer(
        position=position,
        question=translated_text(content.design.question),
        texts=tuple(labelled_texts(presented_unit, kind.page.letters)),
        answer=kind.describe_answer(answer[answer_key(kind)]),
        is_right=is_right,
        expected=_expected_words(kind, page_unit),
        explanation=str(page_unit.unit.content.get("why", "")),
    )


def may_explain(content: AttemptContent, position: int) -> bool:
    """Return whether the worker may see the explanation of the answer at a position.

    The design allows this right after the answer, at the end of the attempt, or never.
    """
    explain = content.design.quiz.explain
    if str(position) not in content.attempt.answers:
        return False
    return explain == "after-each" or (explain == "at-the-end" and content.attempt.finished_at is not None)


def labelled_texts(presented_unit: dict[str, Any], letters: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the label and the text of each text that a unit shows. Without ``letters``, labels are "".

    A unit is such as ``{"b": {"text": "A dog."}, "c": {"text": "A cat."}}`` or ``{"options": [{"text": "A dog."}]}``.
    """
    texts: list[str] = []
    for value in presented_unit.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                texts.append(part["text"])
    return list(zip_longest(letters[: len(texts)], texts, fillvalue=""))


def _expected_words(kind: Kind, page_unit: PageUnit) -> tuple[str, ...]:
    """Return the right answers in words, with the candidates in the order in which the worker saw them."""
    right_texts = tuple(
        choice.text
        for choice in kind.choices
        if kind.is_right(kind.sides.to_canonical(choice.value, side=page_unit.side), page_unit.unit.expected)
    )
    if right_texts:
        return right_texts
    # a kind without choices, such as the slider
    return (kind.describe_expected(kind.sides.from_canonical(page_unit.unit.expected, side=page_unit.side)),)
