"""Start, answer and end attempts at the quiz.

The items of an attempt, questions and known items (units of the study with a right answer), are drawn by the study's
seed, the worker's name and the attempt's number. An answer cannot be changed: the right one may be explained after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AlreadyEnded, AnswerProblem, NotJoined
from annotation.models import Participation, QuizAttempt, Worker
from annotation.work.answers.checks import abbreviate, answer_key, check_answers
from common.errors import ObjectNotFound
from contrib.quiz.attempts.content import AttemptContent, content_of, quiz_units
from contrib.quiz.errors import QuizFailed
from contrib.quiz.questions import draw_keys, questions_of, reaches_pass_mark
from judgments.design.quiz import asks_anything
from judgments.design.study_design import StudyDesign
from judgments.drawing.draws import rng_for, shuffle
from judgments.kinds import KINDS
from judgments.models import Study, Unit
from judgments.studies.designs import design_of


def qualification_of(study: Study, design: StudyDesign) -> str:
    """Return the name of the qualification: a shared one, or one of this study only."""
    return design.quiz.qualification or f"study {study.pk}"


@dataclass(frozen=True, slots=True)
class QuizStatus:
    """A worker's status in a study's quiz.

    Attributes:
        is_needed: whether the study has a quiz.
        is_passed: whether the worker passed it, in this study or in another one with the same qualification.
        last_attempt: the latest attempt, in progress or finished.
        attempts_left: number of attempts that the worker can still start.
    """

    is_needed: bool
    is_passed: bool
    last_attempt: QuizAttempt | None
    attempts_left: int

    @property
    def open_attempt(self) -> QuizAttempt | None:
        attempt = self.last_attempt
        return attempt if attempt is not None and attempt.finished_at is None else None


def quiz_status(*, study: Study, worker: Worker) -> QuizStatus:
    """Return the worker's status in a study's quiz. A study without a quiz counts as passed."""
    design = design_of(study)
    if not asks_anything(design.quiz):
        return QuizStatus(is_needed=False, is_passed=True, last_attempt=None, attempts_left=0)
    rows = QuizAttempt.objects.filter(worker=worker, qualification=qualification_of(study, design))
    attempts = list(rows.select_related("study__dataset").order_by("number"))
    is_passed = any(attempt.passed for attempt in attempts)
    return QuizStatus(
        is_needed=True,
        is_passed=is_passed,
        last_attempt=attempts[-1] if attempts else None,
        attempts_left=0 if is_passed else max(0, design.quiz.attempts - len(attempts)),
    )


def start_attempt(*, study: Study, worker: Worker) -> QuizAttempt:
    """Return the attempt in progress, or start the next attempt.

    Raises:
        ObjectNotFound, NotJoined, AlreadyEnded, QuizFailed: no attempt can be started.
    """
    if not Participation.objects.filter(study=study, worker=worker).exists():
        raise NotJoined(_("You have not joined this study."))
    status = quiz_status(study=study, worker=worker)
    if not status.is_needed:
        raise ObjectNotFound(_("This study has no test."))
    if status.open_attempt is not None:
        return status.open_attempt
    if status.is_passed:
        raise AlreadyEnded(_("You have already passed this test. You do not need to do it again."))
    if not status.attempts_left:
        raise QuizFailed(study.slug)
    number = status.last_attempt.number + 1 if status.last_attempt is not None else 1
    design = design_of(study)
    qualification = qualification_of(study, design)
    earlier_attempts = QuizAttempt.objects.filter(worker=worker, qualification=qualification)
    seen_keys: set[str] = set()
    for items_of_attempt in earlier_attempts.values_list("items", flat=True):
        seen_keys.update(str(item.get("question") or item["unit"]) for item in items_of_attempt)
    items = _draw_items(study, design, worker, number, seen_keys)
    # if all items are withdrawn, the worker passes
    end_fields: dict[str, Any] = {} if items else {"right": 0, "passed": True, "finished_at": timezone.now()}
    try:
        with transaction.atomic():
            return QuizAttempt.objects.create(
                worker=worker,
                study=study,
                qualification=qualification,
                number=number,
                items=items,
                simulated=worker.source == Worker.Source.REHEARSAL,
                **end_fields,
            )
    except IntegrityError:  # another window started the attempt
        return QuizAttempt.objects.get(worker=worker, qualification=qualification, number=number)


def _draw_items(
    study: Study, design: StudyDesign, worker: Worker, number: int, seen_keys: set[str]
) -> list[dict[str, Any]]:
    """Draw the items of an attempt, in the order shown. The known items of an image are adjacent.

    An item is ``{"question": KEY, "order": [2, 0, 1]}``, with the indices of the options in the order shown, or
    ``{"unit": KEY, "side": SIDE}``, with the side on which the first candidate is shown (None without sides).
    """
    rng = rng_for(design.seed, f"quiz {qualification_of(study, design)} {worker.name} {number}")
    questions = questions_of(design.quiz)
    groups: list[list[dict[str, Any]]] = []
    for key in draw_keys(sorted(questions), design.quiz.ask, seen=seen_keys, rng=rng):
        order = rng.permutation(len(questions[key].options)).tolist()
        groups.append([{"question": key, "order": order}])
    units_by_image: dict[int, list[Unit]] = {}
    for unit in quiz_units(study):
        units_by_image.setdefault(unit.item_id, []).append(unit)
    # all units of an image are asked together; the key of the first one stands for them
    units_by_first_key = {units[0].key: units for units in units_by_image.values()}
    for key in draw_keys(sorted(units_by_first_key), design.quiz.items, seen=seen_keys, rng=rng):
        units = shuffle(units_by_first_key[key], rng)
        sides = KINDS[design.protocol].sides.draw(units, rng)
        groups.append(
            [{"unit": unit.key, "side": sides[index] if sides else None} for index, unit in enumerate(units)]
        )
    return list(chain.from_iterable(shuffle(groups, rng)))


def find_attempt(*, study: Study, worker: Worker, number: int | None = None) -> QuizAttempt:
    """Return the worker's attempt with this number, or the one in progress. Raise ObjectNotFound if there is none."""
    name = qualification_of(study, design_of(study))
    rows = QuizAttempt.objects.filter(worker=worker, qualification=name).select_related("study__dataset")
    attempt = (rows.filter(number=number) if number is not None else rows.filter(finished_at=None)).last()
    if attempt is None:
        raise ObjectNotFound(_("You have not started the test, or you have already finished it."))
    return attempt


def answer_attempt(*, attempt: QuizAttempt, answers: Sequence[Mapping[str, Any]]) -> QuizAttempt:
    """Store answers, and end the attempt if all its items are answered.

    A repeated call changes nothing. If an answer is invalid, or differs from an earlier one, nothing is stored.

    Answers are such as ``[{"position": 1, "value": 2}]``; an answer that is a text is in ``answer`` instead.
    """
    content = content_of(attempt)
    new_answers = _clean_answers(content, answers)
    with transaction.atomic():
        row = QuizAttempt.objects.select_for_update().get(pk=attempt.pk)
        row.study = attempt.study  # which is loaded already
        contradicted_positions = [
            position
            for position in new_answers
            if position in row.answers and row.answers[position] != new_answers[position]
        ]
        if contradicted_positions:
            raise AlreadyEnded(
                _(
                    "Nothing was changed: you have already answered question %(position)s, and that answer stays."
                )
                % {"position": contradicted_positions[0]}
            )
        if row.finished_at is not None or set(new_answers) <= set(row.answers):
            return row
        row.answers = {**row.answers, **new_answers}
        if len(row.answers) == len(row.items):
            _finish_attempt(row, content)
        row.save(update_fields=["answers", "right", "passed", "finished_at"])
    return row


def _finish_attempt(attempt: QuizAttempt, content: AttemptContent) -> None:
    """Set the result of an attempt with all answers, without saving it."""
    finished_content = replace(content, attempt=attempt)
    positions = range(1, finished_content.size + 1)
    right_count = sum(finished_content.is_right(position) is True for position in positions)
    attempt.right = right_count
    attempt.passed = reaches_pass_mark(right_count, finished_content.size, content.design.quiz.pass_mark)
    attempt.finished_at = timezone.now()


def _clean_answers(
    content: AttemptContent, answers: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the answers in their stored form: ``{"1": {"value": 2}}``, by position as text.

    Raises:
        AnswerProblem: an answer is invalid.
    """
    if not isinstance(answers, Sequence) or isinstance(answers, str):
        raise AnswerProblem(
            _(
                "Nothing was saved: “answers” must be a list of objects with the fields “position” and “value”."
            )
        )
    answer_by_position: dict[str, dict[str, Any]] = {}
    unit_answers: list[Mapping[str, Any]] = []
    for answer in answers:
        position = answer.get("position") if isinstance(answer, Mapping) else None
        if type(position) is not int or not 1 <= position <= content.size:
            raise AnswerProblem(
                _("Nothing was saved: “position” is %(position)s; expected a number from 1 to %(most)d.")
                % {"position": abbreviate(position), "most": content.size}
            )
        if position in content.page_units:
            unit_answers.append(answer)
            continue
        value, option_count = answer.get("value"), len(content.questions[position].order)
        if type(value) is not int or not 1 <= value <= option_count:
            raise AnswerProblem(
                _(
                    "Nothing was saved: the field “value” at position %(position)d is %(value)s; "
                    "expected a number from 1 to %(most)d."
                )
                % {"position": position, "value": abbreviate(value), "most": option_count}
            )
        if answer_by_position.get(str(position), {"value": value}) != {"value": value}:
            raise AnswerProblem(
                _("Nothing was saved: position %(position)d is answered twice.") % {"position": position}
            )
        answer_by_position[str(position)] = {"value": value}
    if unit_answers:
        key = answer_key(KINDS[content.design.protocol])
        page_units = list(content.page_units.values())
        stored_answers = check_answers(unit_answers, design=content.design, page_units=page_units)
        answer_by_position |= {
            position: {key: unit_answer[key]} for position, unit_answer in stored_answers.items()
        }
    return answer_by_position
