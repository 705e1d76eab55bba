"""An attempt at a quiz for its pages and the API: the items, and later the right answers. No queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.models import QuizAttempt
from annotation.work.presentation import Place, shown_unit, translated_text
from annotation.work.worksheet import answer_key
from common.markup import render_markdown
from judgments.design.requirements import Question, own_questions
from judgments.design.study_design import StudyDesign, design_in
from judgments.drawing.material import screen_of
from judgments.kinds import KINDS, Kind
from judgments.models import Study


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question of an attempt; ``order`` are the indices of its options as shown."""

    position: int
    question: Question
    order: tuple[int, ...]

    @property
    def options(self) -> list[str]:
        return [self.question.options[place] for place in self.order]

    @property
    def expected(self) -> int:
        return self.order.index(self.question.right) + 1


@dataclass(frozen=True, slots=True)
class QuizSheet:
    attempt: QuizAttempt
    design: StudyDesign
    questions: dict[int, ShownQuestion]
    places: dict[int, Place]

    @property
    def size(self) -> int:
        return len(self.attempt.items)

    @property
    def open_positions(self) -> list[int]:
        return [position for position in range(1, self.size + 1) if str(position) not in self.attempt.answers]

    def steps(self) -> list[list[int]]:
        """Return the positions on each screen: one question, one known item, or the items of one picture."""
        kind = KINDS[self.design.protocol]
        steps: list[list[int]] = []
        for position in range(1, self.size + 1):
            place, before = self.places.get(position), self.places.get(position - 1)
            together = (
                place is not None
                and before is not None
                and place.unit.item_id == before.unit.item_id
                and (kind.grouped or screen_of(place.unit) is not None)
            )
            if together:
                steps[-1].append(position)
            else:
                steps.append([position])
        return steps

    def is_right(self, position: int) -> bool | None:
        """Return whether the answer is right; None without an answer or an expected one."""
        given = self.attempt.answers.get(str(position))
        if given is None or (position not in self.questions and position not in self.places):
            return None
        if position in self.questions:
            return bool(given["value"] == self.questions[position].expected)
        place, kind = self.places[position], KINDS[self.design.protocol]
        canonical = kind.sides.to_canonical(given[answer_key(kind)], side=place.side)
        return kind.is_right(canonical, place.unit.expected)


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
    """An answer with its explanation.

    ``texts`` are (label, text) of the unit, ``expected`` the right answers in words, several for a range.
    """

    position: int
    question: str
    texts: tuple[tuple[str, str], ...]
    given: str
    right: bool
    expected: tuple[str, ...]
    why: str

    @property
    def expected_html(self) -> SafeString:
        if len(self.expected) == 1:
            return format_html("{}", *self.expected)
        return format_html_join(_(" or "), "<q>{}</q>", ((one,) for one in self.expected))

    @property
    def why_html(self) -> SafeString:
        return render_markdown(self.why)


def translate_sheet(sheet: QuizSheet) -> QuizSheet:
    """Return the attempt with the study's texts in the reader's language, as far as available."""
    language = get_language() or ""
    if language not in sheet.design.translations:
        return sheet
    translated = sheet.design.translations[language].questions
    texts = {
        one.key: words.filled
        for one, words in zip(own_questions(sheet.design.quiz), translated, strict=False)
    }
    questions = {
        position: replace(shown, question=replace(shown.question, **texts.get(shown.question.key, {})))
        for position, shown in sheet.questions.items()
    }
    return replace(sheet, design=design_in(sheet.design, language), questions=questions)


def qualification_of(study: Study, design: StudyDesign) -> str:
    """Return the shared qualification, or one for this study alone."""
    return design.quiz.qualification or f"study {study.pk}"


def question_at(sheet: QuizSheet, position: int, picture_url: Callable[[Place], str]) -> dict[str, Any]:
    if position in sheet.questions:
        asked = sheet.questions[position]
        return {
            "position": position,
            "question": asked.question.text,
            "options": [{"value": value, "text": text} for value, text in enumerate(asked.options, start=1)],
        }
    return shown_unit(sheet.places[position], design=sheet.design, picture_url=picture_url)


def explain_answer(sheet: QuizSheet, position: int) -> ExplainedAnswer | None:
    right = sheet.is_right(position)
    if right is None:
        return None
    given = sheet.attempt.answers[str(position)]
    if position in sheet.questions:
        asked = sheet.questions[position]
        return ExplainedAnswer(
            position=position,
            question=translated_text(asked.question.text),
            texts=(),
            given=asked.options[given["value"] - 1],
            right=right,
            expected=(asked.options[asked.expected - 1],),
            why=translated_text(asked.question.why),
        )
    place, kind = sheet.places[position], KINDS[sheet.design.protocol].for_design(sheet.design)
    return ExplainedAnswer(
        position=position,
        question=translated_text(sheet.design.question),
        texts=tuple(
            labelled_texts(kind.present_unit(place.unit, side=place.side, picture_url=""), kind.page.letters)
        ),
        given=kind.in_words(given[answer_key(kind)]),
        right=right,
        expected=_expected_words(kind, place),
        why=str(place.unit.content.get("why", "")),
    )


def may_explain(sheet: QuizSheet, position: int) -> bool:
    """Return whether the study explains the answer now: after each answer, at the end, or never."""
    explain = sheet.design.quiz.explain
    if str(position) not in sheet.attempt.answers:
        return False
    return explain == "after-each" or (explain == "at-the-end" and sheet.attempt.finished_at is not None)


def labelled_texts(shown: dict[str, Any], letters: Sequence[str] = ()) -> list[tuple[str, str]]:
    found = [
        str(one["text"])
        for value in shown.values()
        for one in (value if isinstance(value, list) else [value])
        if isinstance(one, dict) and isinstance(one.get("text"), str)
    ]
    return list(zip_longest(letters[: len(found)], found, fillvalue=""))


def _expected_words(kind: Kind, place: Place) -> tuple[str, ...]:
    right = tuple(
        choice.words
        for choice in kind.choices
        if kind.is_right(kind.sides.to_canonical(choice.value, side=place.side), place.unit.expected)
    )
    if right:
        return right
    expected = place.unit.expected
    if isinstance(expected, str):  # a range
        return (expected,)
    return (kind.in_words(kind.sides.from_canonical(expected, side=place.side)),)
