"""Load the questions and known items of an attempt at a quiz, as they were drawn for the worker.

A known item is an item of the study's kind whose right answer is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.translation import get_language

from annotation.models import QuizAttempt
from annotation.work.answers.checks import answer_key
from annotation.work.sheet.units import PageUnit
from annotation.work.worksheet import shown_unit
from contrib.quiz.questions import Question, questions_of, questions_of_design
from judgments.design.study_design import StudyDesign, translate_design
from judgments.drawing.material import screen_of
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from judgments.studies.designs import design_of


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question of an attempt, with its options in the order in which they were shown.

    Attributes:
        position: position in the attempt, from 1.
        order: the index in ``question.options`` of each shown option.
    """

    position: int
    question: Question
    order: tuple[int, ...]

    @property
    def options(self) -> list[str]:
        """The texts of the options in the order shown."""
        return [self.question.options[index] for index in self.order]

    @property
    def right_value(self) -> int:
        """The right answer: the number, from 1, of the right option in the order shown."""
        return self.order.index(self.question.right_option) + 1


@dataclass(frozen=True, slots=True)
class AttemptContent:
    """An attempt with its questions and known items, each by its position, from 1.

    ``attempt.answers`` has stored answers by position as text, since it is JSON: ``{"1": {"value": 2}}``.
    ``page_units`` are the known items, as units of a page of work.
    """

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
        """Return the positions on each screen: one question, one known item, or the items of one picture.

        Items of a picture are on one screen if the kind groups captions by image, or if they share a screen on pages.
        """
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
        """Return whether the answer at a position is right; None without an answer, or if its item is left out.

        ``contents_for_current_quiz`` leaves out items that the quiz no longer has.
        """
        answer = self.attempt.answers.get(str(position))
        if answer is None or (position not in self.questions and position not in self.page_units):
            return None
        if position in self.questions:
            return bool(answer["value"] == self.questions[position].right_value)
        page_unit, kind = self.page_units[position], KINDS[self.design.protocol].for_design(self.design)
        # the answer to the stored order of the candidates, whichever was shown first
        stored_answer = kind.sides.to_canonical(answer[answer_key(kind)], side=page_unit.side)
        return kind.is_right(stored_answer, page_unit.unit.expected)


def translate_content(content: AttemptContent) -> AttemptContent:
    """Return the attempt with the texts of the study in the language in use, as far as they are translated."""
    language = get_language() or ""
    if language not in content.design.translations:
        return content
    translations = content.design.translations[language].questions
    texts = {
        question.key: translation.filled_texts
        # only the design's own questions; a translation may have fewer of them
        for question, translation in zip(questions_of_design(content.design.quiz), translations, strict=False)
    }
    questions = {}
    for position, shown_question in content.questions.items():
        question = replace(shown_question.question, **texts.get(shown_question.question.key, {}))
        questions[position] = replace(shown_question, question=question)
    return replace(content, design=translate_design(content.design, language), questions=questions)


def quiz_picture_url(study: Study, attempt: QuizAttempt, page_unit: PageUnit) -> str:
    item = page_unit.unit.item
    if not item.picture:
        return item.url
    return reverse("quiz:picture", args=[study.slug, attempt.number, page_unit.position])


def quiz_units(study: Study) -> list[Unit]:
    """Return the known items of a study's quiz, without those that were withdrawn."""
    rows = Unit.objects.filter(study=study, control_kind=Unit.ControlKind.QUIZ, withdrawn=False)
    return list(rows.select_related("item", "reference", "first", "second").order_by("position"))


def content_of(attempt: QuizAttempt) -> AttemptContent:
    """Return the attempt with its questions and known items, also with those that were withdrawn later."""
    design = design_of(attempt.study)
    questions_by_key = questions_of(design.quiz)
    questions: dict[int, ShownQuestion] = {}
    keys_and_sides: dict[int, tuple[str, Any]] = {}  # of known items, by position
    for position, item in enumerate(attempt.items, start=1):  # items as ``taking._draw_items`` returns them
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
    return AttemptContent(attempt=attempt, design=design, questions=questions, page_units=page_units)


def contents_for_current_quiz(attempts: Sequence[QuizAttempt], *, study: Study) -> list[AttemptContent]:
    """Return the attempts with those of their questions and known items that this study's quiz has now.

    An attempt may have been made in another study's quiz for the same qualification, or before an item was withdrawn.
    """
    design = design_of(study)
    questions_by_key = questions_of(design.quiz)
    units = {unit.key: unit for unit in quiz_units(study)}
    contents = []
    for attempt in attempts:
        questions, page_units = {}, {}
        for position, item in enumerate(attempt.items, start=1):
            question, unit = questions_by_key.get(item.get("question", "")), units.get(item.get("unit", ""))
            # A question of a built-in test keeps its key, even if a later release gives it more or fewer options.
            if question is not None and len(item["order"]) == len(question.options):
                questions[position] = ShownQuestion(position, question, tuple(item["order"]))
            elif unit is not None:
                page_units[position] = PageUnit(position=position, unit=unit, side=item["side"])
        contents.append(
            AttemptContent(attempt=attempt, design=design, questions=questions, page_units=page_units)
        )
    return contents


def question_at(
    content: AttemptContent, position: int, picture_url: Callable[[PageUnit], str]
) -> dict[str, Any]:
    """Return the question or the known item at a position, as the HTTP interface shows it."""
    if position in content.questions:
        row = content.questions[position]
        return {
            "position": position,
            "question": row.question.text,
            "options": [{"value": value, "text": text} for value, text in enumerate(row.options, start=1)],
        }
    return shown_unit(content.page_units[position], design=content.design, picture_url=picture_url)
