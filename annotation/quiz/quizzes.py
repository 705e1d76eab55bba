"""The quiz before the work: start, answer and end an attempt; and the results of workers and questions.

The study's seed, the worker's name and the attempt's number fix the draw of items. An answer is final, since the right
one may be explained after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.errors import AlreadyEnded, AnswerProblem, NotJoined, QuizFailed
from annotation.models import Participation, QuizAttempt, Worker
from annotation.work.worksheet import (
    PageUnit,
    abbreviate,
    answer_key,
    checked_answers,
    shown_unit,
    translated_text,
)
from common.amounts import percent
from common.errors import NotThere
from common.markup import render_markdown
from judgments.design.requirements import (
    Question,
    asks_anything,
    draw_questions,
    own_questions,
    questions_of,
    reaches_pass_mark,
)
from judgments.design.study_design import StudyDesign, design_in
from judgments.drawing.material import rng_for, screen_of, shuffled
from judgments.kinds import KINDS, Kind
from judgments.models import Study, Unit
from judgments.studies.studies import design_of


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question of an attempt; ``order`` are the indices of its options as shown."""

    position: int
    question: Question
    order: tuple[int, ...]

    @property
    def options(self) -> list[str]:
        return [self.question.options[index] for index in self.order]

    @property
    def expected(self) -> int:
        return self.order.index(self.question.right) + 1


@dataclass(frozen=True, slots=True)
class QuizSheet:
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
            page_unit, before = self.page_units.get(position), self.page_units.get(position - 1)
            together = (
                page_unit is not None
                and before is not None
                and page_unit.unit.item_id == before.unit.item_id
                and (kind.grouped or screen_of(page_unit.unit) is not None)
            )
            if together:
                steps[-1].append(position)
            else:
                steps.append([position])
        return steps

    def is_right(self, position: int) -> bool | None:
        """Return whether the answer is right; None without an answer or an expected one."""
        answer = self.attempt.answers.get(str(position))
        if answer is None or (position not in self.questions and position not in self.page_units):
            return None
        if position in self.questions:
            return bool(answer["value"] == self.questions[position].expected)
        page_unit, kind = self.page_units[position], KINDS[self.design.protocol].for_design(self.design)
        canonical = kind.sides.to_canonical(answer[answer_key(kind)], side=page_unit.side)
        return kind.is_right(canonical, page_unit.unit.expected)


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
    """An answer with its explanation.

    ``texts`` are (label, text) of the unit, ``expected`` the right answers in words, several for a range.
    """

    position: int
    question: str
    texts: tuple[tuple[str, str], ...]
    answer: str
    right: bool
    expected: tuple[str, ...]
    why: str

    @property
    def expected_html(self) -> SafeString:
        if len(self.expected) == 1:
            return format_html("{}", *self.expected)
        return format_html_join(_(" or "), "<q>{}</q>", ((answer,) for answer in self.expected))

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
        question.key: translation.filled
        for question, translation in zip(own_questions(sheet.design.quiz), translated, strict=False)
    }
    questions = {
        position: replace(shown, question=replace(shown.question, **texts.get(shown.question.key, {})))
        for position, shown in sheet.questions.items()
    }
    return replace(sheet, design=design_in(sheet.design, language), questions=questions)


def qualification_of(study: Study, design: StudyDesign) -> str:
    """Return the shared qualification, or one for this study alone."""
    return design.quiz.qualification or f"study {study.pk}"


def question_at(sheet: QuizSheet, position: int, picture_url: Callable[[PageUnit], str]) -> dict[str, Any]:
    if position in sheet.questions:
        shown = sheet.questions[position]
        return {
            "position": position,
            "question": shown.question.text,
            "options": [{"value": value, "text": text} for value, text in enumerate(shown.options, start=1)],
        }
    return shown_unit(sheet.page_units[position], design=sheet.design, picture_url=picture_url)


def explain_answer(sheet: QuizSheet, position: int) -> ExplainedAnswer | None:
    right = sheet.is_right(position)
    if right is None:
        return None
    answer = sheet.attempt.answers[str(position)]
    if position in sheet.questions:
        shown = sheet.questions[position]
        return ExplainedAnswer(
            position=position,
            question=translated_text(shown.question.text),
            texts=(),
            answer=shown.options[answer["value"] - 1],
            right=right,
            expected=(shown.options[shown.expected - 1],),
            why=translated_text(shown.question.why),
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
        right=right,
        expected=_expected_words(kind, page_unit),
        why=str(page_unit.unit.content.get("why", "")),
    )


def may_explain(sheet: QuizSheet, position: int) -> bool:
    """Return whether the study explains the answer now: after each answer, at the end, or never."""
    explain = sheet.design.quiz.explain
    if str(position) not in sheet.attempt.answers:
        return False
    return explain == "after-each" or (explain == "at-the-end" and sheet.attempt.finished_at is not None)


def labelled_texts(shown: dict[str, Any], letters: Sequence[str] = ()) -> list[tuple[str, str]]:
    texts = [
        str(part["text"])
        for value in shown.values()
        for part in (value if isinstance(value, list) else [value])
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    return list(zip_longest(letters[: len(texts)], texts, fillvalue=""))


def _expected_words(kind: Kind, page_unit: PageUnit) -> tuple[str, ...]:
    right = tuple(
        choice.text
        for choice in kind.choices
        if kind.is_right(kind.sides.to_canonical(choice.value, side=page_unit.side), page_unit.unit.expected)
    )
    if right:
        return right
    return (kind.describe_expected(kind.sides.from_canonical(page_unit.unit.expected, side=page_unit.side)),)


# our choice: a question with so many answers and a lower accuracy is suspect
LEAST_ANSWERS, SUSPECT_SHARE = 5, 0.25


@dataclass(frozen=True, slots=True)
class QuizStatus:
    """A worker's status in a study's quiz; ``last`` is the latest attempt."""

    needed: bool
    passed: bool
    last: QuizAttempt | None
    attempts_left: int

    @property
    def running(self) -> QuizAttempt | None:
        return self.last if self.last is not None and self.last.finished_at is None else None


def quiz_status(*, study: Study, worker: Worker) -> QuizStatus:
    design = design_of(study)
    if not asks_anything(design.quiz):
        return QuizStatus(needed=False, passed=True, last=None, attempts_left=0)
    rows = QuizAttempt.objects.filter(worker=worker, qualification=qualification_of(study, design))
    tries = list(rows.select_related("study__dataset").order_by("number"))
    passed = any(attempt.passed for attempt in tries)
    return QuizStatus(
        needed=True,
        passed=passed,
        last=tries[-1] if tries else None,
        attempts_left=0 if passed else max(0, design.quiz.attempts - len(tries)),
    )


def has_passed(*, study: Study, design: StudyDesign, worker: Worker) -> bool:
    """Return whether the worker passed the quiz here or in a study that shares it, or there is none."""
    if not asks_anything(design.quiz):
        return True
    named = qualification_of(study, design)
    return QuizAttempt.objects.filter(worker=worker, qualification=named, passed=True).exists()


def start_attempt(*, study: Study, worker: Worker) -> QuizAttempt:
    """Return the running attempt or start the next one.

    Raises:
        NotThere, NotJoined, AlreadyEnded, QuizFailed: no attempt can be started.
    """
    if not Participation.objects.filter(study=study, worker=worker).exists():
        raise NotJoined(_("You have not joined this study."))
    status = quiz_status(study=study, worker=worker)
    if not status.needed:
        raise NotThere(_("This study has no test."))
    if status.running is not None:
        return status.running
    if status.passed:
        raise AlreadyEnded(_("You passed this test before; there is nothing more to do for it."))
    if not status.attempts_left:
        raise QuizFailed(study.slug)
    number = status.last.number + 1 if status.last is not None else 1
    design = design_of(study)
    qualification = qualification_of(study, design)
    before = QuizAttempt.objects.filter(worker=worker, qualification=qualification)
    seen = {
        str(item.get("question") or item["unit"])
        for items in before.values_list("items", flat=True)
        for item in items
    }
    items = _draw_items(study, design, worker, number, seen)
    # if all items were withdrawn, the worker passes
    ended: dict[str, Any] = {} if items else {"right": 0, "passed": True, "finished_at": timezone.now()}
    try:
        with transaction.atomic():
            return QuizAttempt.objects.create(
                worker=worker,
                study=study,
                qualification=qualification,
                number=number,
                items=items,
                simulated=worker.source == Worker.Source.REHEARSAL,
                **ended,
            )
    except IntegrityError:  # another window started it
        return QuizAttempt.objects.get(worker=worker, qualification=qualification, number=number)


def _draw_items(
    study: Study, design: StudyDesign, worker: Worker, number: int, seen: set[str]
) -> list[dict[str, Any]]:
    """Draw the items in the order shown. Units of one image stay together if the kind groups them."""
    rng = rng_for(design.seed, f"quiz {qualification_of(study, design)} {worker.name} {number}")
    questions = questions_of(design.quiz)
    groups: list[list[dict[str, Any]]] = [
        [{"question": key, "order": [int(index) for index in rng.permutation(len(questions[key].options))]}]
        for key in draw_questions(sorted(questions), design.quiz.ask, seen=seen, rng=rng)
    ]
    pool: dict[int, list[Unit]] = {}
    for unit in quiz_units(study):
        pool.setdefault(unit.item_id, []).append(unit)
    firsts = {units[0].key: units for units in pool.values()}
    for key in draw_questions(sorted(firsts), design.quiz.items, seen=seen, rng=rng):
        units = shuffled(firsts[key], rng)
        sides = KINDS[design.protocol].sides.draw(units, rng)
        groups.append(
            [{"unit": unit.key, "side": sides[index] if sides else None} for index, unit in enumerate(units)]
        )
    return [item for group in shuffled(groups, rng) for item in group]


def quiz_units(study: Study) -> list[Unit]:
    rows = Unit.objects.filter(study=study, control_kind=Unit.ControlKind.QUIZ, withdrawn=False)
    return list(rows.select_related("item", "reference", "first", "second").order_by("position"))


def sheet_of(attempt: QuizAttempt) -> QuizSheet:
    design = design_of(attempt.study)
    known = questions_of(design.quiz)
    questions: dict[int, ShownQuestion] = {}
    sides: dict[int, tuple[str, Any]] = {}
    for position, item in enumerate(attempt.items, start=1):
        if "question" in item:
            questions[position] = ShownQuestion(position, known[item["question"]], tuple(item["order"]))
        else:
            sides[position] = (item["unit"], item["side"])
    units: dict[str, Unit] = {}
    if sides:
        rows = Unit.objects.filter(study=attempt.study, key__in=[key for key, _ in sides.values()])
        units = {unit.key: unit for unit in rows.select_related("item", "reference", "first", "second")}
    page_units = {
        position: PageUnit(position=position, unit=units[key], side=side)
        for position, (key, side) in sides.items()
    }
    return QuizSheet(attempt=attempt, design=design, questions=questions, page_units=page_units)


def sheets_of(attempts: Sequence[QuizAttempt], *, study: Study) -> list[QuizSheet]:
    """Return the attempts as sheets of this study.

    Of another study's attempt with the same qualification, include only questions that both ask.
    """
    design = design_of(study)
    known = questions_of(design.quiz)
    units = {unit.key: unit for unit in quiz_units(study)}
    sheets = []
    for attempt in attempts:
        questions, page_units = {}, {}
        for position, item in enumerate(attempt.items, start=1):
            question, unit = known.get(item.get("question", "")), units.get(item.get("unit", ""))
            if question is not None and len(item["order"]) == len(question.options):
                questions[position] = ShownQuestion(position, question, tuple(item["order"]))
            elif unit is not None:
                page_units[position] = PageUnit(position=position, unit=unit, side=item["side"])
        sheets.append(QuizSheet(attempt=attempt, design=design, questions=questions, page_units=page_units))
    return sheets


def own_attempt(*, study: Study, worker: Worker, number: int | None = None) -> QuizAttempt:
    """Return the worker's attempt of this number, or the running one."""
    named = qualification_of(study, design_of(study))
    rows = QuizAttempt.objects.filter(worker=worker, qualification=named).select_related("study__dataset")
    attempt = (rows.filter(number=number) if number is not None else rows.filter(finished_at=None)).last()
    if attempt is None:
        raise NotThere(_("No attempt at the test is under way."))
    return attempt


def answer_attempt(*, attempt: QuizAttempt, answers: Sequence[Mapping[str, Any]]) -> QuizAttempt:
    """Store ``[{"position", "value" or "answer"}]`` and end a complete attempt.

    A repeated call changes nothing. If an answer is invalid, or differs from an earlier one, store nothing.
    """
    sheet = sheet_of(attempt)
    answers_checked = _check_answers(sheet, answers)
    with transaction.atomic():
        locked = QuizAttempt.objects.select_for_update().get(pk=attempt.pk)
        locked.study = attempt.study
        other = [
            key
            for key in answers_checked
            if key in locked.answers and locked.answers[key] != answers_checked[key]
        ]
        if other:
            raise AlreadyEnded(
                _("Nothing was changed: number %(position)s was answered before, and that answer stays.")
                % {"position": other[0]}
            )
        if locked.finished_at is not None or set(answers_checked) <= set(locked.answers):
            return locked
        locked.answers = {**locked.answers, **answers_checked}
        if len(locked.answers) == len(locked.items):
            _finish(locked, sheet)
        locked.save(update_fields=["answers", "right", "passed", "finished_at"])
    return locked


def _finish(attempt: QuizAttempt, sheet: QuizSheet) -> None:
    complete = replace(sheet, attempt=attempt)
    right = sum(complete.is_right(position) is True for position in range(1, complete.size + 1))
    attempt.right = right
    attempt.passed = reaches_pass_mark(right, complete.size, sheet.design.quiz.pass_mark)
    attempt.finished_at = timezone.now()


def _check_answers(sheet: QuizSheet, answers: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    if not isinstance(answers, Sequence) or isinstance(answers, str):
        raise AnswerProblem(_("Nothing was kept: answers must be a list of objects with position and value."))
    by_position: dict[str, dict[str, Any]] = {}
    of_units: list[Mapping[str, Any]] = []
    for answer in answers:
        position = answer.get("position") if isinstance(answer, Mapping) else None
        if type(position) is not int or not 1 <= position <= sheet.size:
            raise AnswerProblem(
                _("Nothing was kept: position is %(position)s; expected 1 to %(most)d.")
                % {"position": abbreviate(position), "most": sheet.size}
            )
        if position in sheet.page_units:
            of_units.append(answer)
            continue
        value, most = answer.get("value"), len(sheet.questions[position].order)
        if type(value) is not int or not 1 <= value <= most:
            raise AnswerProblem(
                _(
                    "Nothing was kept: the value at position %(position)d is %(value)s; expected 1 to %(most)d."
                )
                % {"position": position, "value": abbreviate(value), "most": most}
            )
        if by_position.get(str(position), {"value": value}) != {"value": value}:
            raise AnswerProblem(
                _("Nothing was kept: position %(position)d is answered twice.") % {"position": position}
            )
        by_position[str(position)] = {"value": value}
    if of_units:
        key = answer_key(KINDS[sheet.design.protocol])
        checked = checked_answers(of_units, design=sheet.design, page_units=list(sheet.page_units.values()))
        by_position |= {position: {key: answer_checked[key]} for position, answer_checked in checked.items()}
    return by_position


@dataclass(slots=True)
class WorkerResult:
    """A worker's attempts; ``best`` is (right, asked) of the best finished one."""

    name: str
    simulated: bool
    attempts: int = 0
    best: tuple[int, int] | None = None
    passed: bool = False
    latest: datetime | None = None


@dataclass(slots=True)
class QuestionResult:
    key: str
    answered: int = 0
    right: int = 0

    @property
    def percent(self) -> str:
        return percent(self.right / self.answered) if self.answered else "–"

    @property
    def suspect(self) -> bool:
        return self.answered >= LEAST_ANSWERS and self.right / self.answered < SUSPECT_SHARE


def worker_results(attempts: Iterable[QuizAttempt]) -> list[WorkerResult]:
    rows: dict[int, WorkerResult] = {}
    for attempt in attempts:
        worker = attempt.worker
        row = rows.setdefault(attempt.worker_id, WorkerResult(worker.name, attempt.simulated))
        row.attempts += 1
        row.passed = row.passed or bool(attempt.passed)
        row.latest = attempt.started_at if row.latest is None else max(row.latest, attempt.started_at)
        if attempt.right is not None and (row.best is None or attempt.right > row.best[0]):
            row.best = (attempt.right, len(attempt.items))
    return sorted(rows.values(), key=lambda row: row.latest.timestamp() if row.latest else 0.0, reverse=True)


def question_results(sheets: Iterable[QuizSheet]) -> dict[str, QuestionResult]:
    """Count answers by question, including those of running attempts."""
    rows: dict[str, QuestionResult] = {}
    for sheet in sheets:
        for position, item in enumerate(sheet.attempt.items, start=1):
            right = sheet.is_right(position)
            if right is None:
                continue
            key = str(item.get("question") or item["unit"])
            row = rows.setdefault(key, QuestionResult(key))
            row.answered += 1
            row.right += right
    return rows
