"""Join an attempt at a quiz with its questions, answers and explanations, for pages and HTTP calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.models import QuizAttempt
from annotation.work.answers.checks import answer_key
from annotation.work.sheet.texts import translated_text
from annotation.work.sheet.units import PageUnit
from annotation.work.worksheet import shown_unit
from common.markup import render_markdown
from contrib.quiz.questions import Question, own_questions, questions_of
from judgments.design.study_design import StudyDesign, translate_design
from judgments.drawing.material import screen_of
from judgments.kinds import KINDS, Kind
from judgments.models import Study, Unit
from judgments.studies.designs import design_of


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question of an attempt.

    Attributes:
        position: position in the attempt, from 1.
        order: the indices of the options in the order shown.
    """

    position: int
    question: Question
    order: tuple[int, ...]

    @property
    def options(self) -> list[str]:
        return [self.question.options[index] for index in self.order]

    @property
    def right_value(self) -> int:
        """The right answer: the number of the option as shown, from 1."""
        return self.order.index(self.question.right_option) + 1


@dataclass(frozen=True, slots=True)
class QuizSheet:
    """An attempt with its questions and known items by position, from 1."""

    attempt: QuizAttempt
    design: StudyDesign
    questions: dict[int, ShownQuestion]
    page_units: dict[int, PageUnit]

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
            page_unit, previous_unit = self.page_units.get(position), self.page_units.get(position - 1)
            is_same_step = (
                page_unit is not None
                and previous_unit is not None
                and page_unit.unit.item_id == previous_unit.unit.item_id
                and (kind.grouped or screen_of(page_unit.unit) is not None)
            )
            if is_same_step:
                steps[-1].append(position)
            else:
                steps.append([position])
        return steps

    def is_right(self, position: int) -> bool | None:
        """Return whether the answer at a position is right; None if there is no answer, or no expected answer."""
        answer = self.attempt.answers.get(str(position))
        if answer is None or (position not in self.questions and position not in self.page_units):
            return None
        if position in self.questions:
            return bool(answer["value"] == self.questions[position].right_value)
        page_unit, kind = self.page_units[position], KINDS[self.design.protocol].for_design(self.design)
        canonical = kind.sides.to_canonical(answer[answer_key(kind)], side=page_unit.side)
        return kind.is_right(canonical, page_unit.unit.expected)


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
    """An answer with its explanation.

    Attributes:
        texts: the label and the text of each text of the unit.
        expected: the right answers in words; several for a range.
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


def translate_sheet(sheet: QuizSheet) -> QuizSheet:
    """Return the attempt with the study's texts in the reader's language, if they are translated."""
    language = get_language() or ""
    if language not in sheet.design.translations:
        return sheet
    translations = sheet.design.translations[language].questions
    texts = {
        question.key: translation.filled_texts
        for question, translation in zip(own_questions(sheet.design.quiz), translations, strict=False)
    }
    questions = {
        position: replace(row, question=replace(row.question, **texts.get(row.question.key, {})))
        for position, row in sheet.questions.items()
    }
    return replace(sheet, design=translate_design(sheet.design, language), questions=questions)


def quiz_picture_url(study: Study, attempt: QuizAttempt, page_unit: PageUnit) -> str:
    item = page_unit.unit.item
    if not item.picture:
        return item.url
    return reverse("quiz:picture", args=[study.slug, attempt.number, page_unit.position])


def quiz_units(study: Study) -> list[Unit]:
    """Return the known items of a study's quiz, without those that were withdrawn."""
    rows = Unit.objects.filter(study=study, control_kind=Unit.ControlKind.QUIZ, withdrawn=False)
    return list(rows.select_related("item", "reference", "first", "second").order_by("position"))


def sheet_of(attempt: QuizAttempt) -> QuizSheet:
    """Return the attempt with its questions and known items, also with those that were withdrawn later."""
    design = design_of(attempt.study)
    questions_by_key = questions_of(design.quiz)
    questions: dict[int, ShownQuestion] = {}
    keys_and_sides: dict[int, tuple[str, Any]] = {}
    for position, item in enumerate(attempt.items, start=1):
        if "question" in item:
            questions[position] = ShownQuestion(
                position, questions_by_key[item["question"]], tuple(item["order"])
            )
        else:
            keys_and_sides[position] = (item["unit"], item["side"])
    units: dict[str, Unit] = {}
    if keys_and_sides:
        rows = Unit.objects.filter(study=attempt.study, key__in=[key for key, _ in keys_and_sides.values()])
        units = {unit.key: unit for unit in rows.select_related("item", "reference", "first", "second")}
    page_units = {
        position: PageUnit(position=position, unit=units[key], side=side)
        for position, (key, side) in keys_and_sides.items()
    }
    return QuizSheet(attempt=attempt, design=design, questions=questions, page_units=page_units)


def sheets_for_current_quiz(attempts: Sequence[QuizAttempt], *, study: Study) -> list[QuizSheet]:
    """Return the attempts with those of their questions and known items that this study's quiz has now.

    An attempt may have been made in another study's quiz for the same qualification, or before an item was withdrawn.
    """
    design = design_of(study)
    questions_by_key = questions_of(design.quiz)
    units = {unit.key: unit for unit in quiz_units(study)}
    sheets = []
    for attempt in attempts:
        questions, page_units = {}, {}
        for position, item in enumerate(attempt.items, start=1):
            question, unit = questions_by_key.get(item.get("question", "")), units.get(item.get("unit", ""))
            if question is not None and len(item["order"]) == len(question.options):
                questions[position] = ShownQuestion(position, question, tuple(item["order"]))
            elif unit is not None:
                page_units[position] = PageUnit(position=position, unit=unit, side=item["side"])
        sheets.append(QuizSheet(attempt=attempt, design=design, questions=questions, page_units=page_units))
    return sheets


def question_at(sheet: QuizSheet, position: int, picture_url: Callable[[PageUnit], str]) -> dict[str, Any]:
    """Return the question or the known item at a position, as the HTTP interface shows it."""
    if position in sheet.questions:
        row = sheet.questions[position]
        return {
            "position": position,
            "question": row.question.text,
            "options": [{"value": value, "text": text} for value, text in enumerate(row.options, start=1)],
        }
    return shown_unit(sheet.page_units[position], design=sheet.design, picture_url=picture_url)


def explain_answer(sheet: QuizSheet, position: int) -> ExplainedAnswer | None:
    """Return an answer with the expected answer and its explanation; None where ``is_right`` is None."""
    is_right = sheet.is_right(position)
    if is_right is None:
        return None
    answer = sheet.attempt.answers[str(position)]
    if position in sheet.questions:
        shown_question = sheet.questions[position]
        return ExplainedAnswer(
            position=position,
            question=translated_text(shown_question.question.text),
            texts=(),
            answer=shown_question.options[answer["value"] - 1],
            is_right=is_right,
            expected=(shown_question.options[shown_question.right_value - 1],),
            explanation=translated_text(shown_question.question.explanation),
        )
    page_unit, kind = sheet.page_units[position], KINDS[sheet.design.protocol].for_design(sheet.design)
    return ExplainedAnswer(
        position=position,
        question=translated_text(sheet.design.question),
        texts=tuple(
            labelled_texts(
                kind.present_unit(page_unit.unit, side=page_unit.side, picture_url=""), kind.page.letters
            )
        ),
        answer=kind.describe_answer(answer[answer_key(kind)]),
        is_right=is_right,
        expected=_expected_words(kind, page_unit),
        explanation=str(page_unit.unit.content.get("why", "")),
    )


def may_explain(sheet: QuizSheet, position: int) -> bool:
    """Return whether the worker may see the explanation of the answer at a position.

    By the design, that is right after the answer, at the end of the attempt, or never.
    """
    explain = sheet.design.quiz.explain
    if str(position) not in sheet.attempt.answers:
        return False
    return explain == "after-each" or (explain == "at-the-end" and sheet.attempt.finished_at is not None)


def labelled_texts(presented_unit: dict[str, Any], letters: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the label and the text of each text that a unit shows. Without ``letters``, labels are ""."""
    texts = [
        str(part["text"])
        for value in presented_unit.values()
        for part in (value if isinstance(value, list) else [value])
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    return list(zip_longest(letters[: len(texts)], texts, fillvalue=""))


def _expected_words(kind: Kind, page_unit: PageUnit) -> tuple[str, ...]:
    """Return the right answers in words, as the worker saw the unit."""
    right_texts = tuple(
        choice.text
        for choice in kind.choices
        if kind.is_right(kind.sides.to_canonical(choice.value, side=page_unit.side), page_unit.unit.expected)
    )
    if right_texts:
        return right_texts
    return (kind.describe_expected(kind.sides.from_canonical(page_unit.unit.expected, side=page_unit.side)),)
