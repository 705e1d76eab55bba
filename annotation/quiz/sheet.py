"""An attempt at a quiz as its pages and the API show it: what is asked, and afterwards what was right. No queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import QuizAttempt
from annotation.work.answers import answer_key
from annotation.work.presentation import Place, shown_unit, worded
from common.markup import render_markdown
from judgments.design.quizzes import Question
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS, Kind
from judgments.models import Study

ONE_LETTER = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of an attempt, as this worker sees it.

    Attributes:
        position: its number in the attempt, from 1.
        question: what is asked.
        order: the places of the options, in the order shown.
    """

    position: int
    question: Question
    order: tuple[int, ...]

    @property
    def options(self) -> list[str]:
        """The answers in the order shown; a worker's answer counts them from 1."""
        return [self.question.options[place] for place in self.order]

    @property
    def expected(self) -> int:
        """The right answer as the worker sees it."""
        return self.order.index(self.question.right) + 1


@dataclass(frozen=True, slots=True)
class Paper:
    """An attempt with what it asks, read from its study.

    Attributes:
        questions: by position.
        places: known items by position.
    """

    attempt: QuizAttempt
    design: StudyDesign
    questions: dict[int, Asked]
    places: dict[int, Place]

    @property
    def size(self) -> int:
        """How many answers it takes."""
        return len(self.attempt.items)

    @property
    def open_positions(self) -> list[int]:
        """What is not answered yet, in the order shown."""
        return [position for position in range(1, self.size + 1) if str(position) not in self.attempt.answers]

    def steps(self) -> list[list[int]]:
        """Positions that are on screen together: one question, one known item, or the items of one picture."""
        kind = KINDS[self.design.protocol]
        steps: list[list[int]] = []
        for position in range(1, self.size + 1):
            place, before = self.places.get(position), self.places.get(position - 1)
            together = (
                kind.grouped
                and place is not None
                and before is not None
                and place.unit.item_id == before.unit.item_id
            )
            if together:
                steps[-1].append(position)
            else:
                steps.append([position])
        return steps

    def is_right(self, position: int) -> bool | None:
        """Whether the answer at ``position`` is the right one; None where there is none yet, or nothing is known of
        what was asked."""
        given = self.attempt.answers.get(str(position))
        if given is None or (position not in self.questions and position not in self.places):
            return None
        if position in self.questions:
            return bool(given["value"] == self.questions[position].expected)
        place, kind = self.places[position], KINDS[self.design.protocol]
        canonical = kind.canonical(given[answer_key(kind)], side=place.side)
        return kind.is_right(canonical, place.unit.expected)


@dataclass(frozen=True, slots=True)
class Explained:
    """One answer and what is right.

    Attributes:
        position: its number in the attempt.
        question: what was asked.
        texts: (label, text) of what stood there; empty for a plain question.
        given: the worker's answer in words.
        right: whether it is the right one.
        expected: the right answers in words; one nearly always, several where a range is right.
        why: the explanation; may be empty.
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
        """The right answer, or each of them in quotation marks: choices are sentences, which run into each other."""
        if len(self.expected) == 1:
            return format_html("{}", *self.expected)
        return format_html_join(_(" or "), "<q>{}</q>", ((one,) for one in self.expected))

    @property
    def why_html(self) -> SafeString:
        """The explanation as HTML."""
        return render_markdown(self.why)


def qualification_of(study: Study, design: StudyDesign) -> str:
    """What passing the study's quiz is good for: the name that studies share, or this study alone."""
    return design.quiz.qualification or f"study {study.pk}"


def asked_at(paper: Paper, position: int, picture_url: Callable[[Place], str]) -> dict[str, Any]:
    """What the API shows at a position: a question with its options, or a unit as in docs/api.md."""
    if position in paper.questions:
        asked = paper.questions[position]
        return {
            "position": position,
            "question": asked.question.text,
            "options": [{"value": value, "text": text} for value, text in enumerate(asked.options, start=1)],
        }
    return shown_unit(paper.places[position], design=paper.design, picture_url=picture_url)


def explained(paper: Paper, position: int) -> Explained | None:
    """What was right at an answered position; None where there is no answer yet."""
    right = paper.is_right(position)
    if right is None:
        return None
    given = paper.attempt.answers[str(position)]
    if position in paper.questions:
        asked = paper.questions[position]
        return Explained(
            position=position,
            question=worded(asked.question.text),
            texts=(),
            given=asked.options[given["value"] - 1],
            right=right,
            expected=(asked.options[asked.expected - 1],),
            why=worded(asked.question.why),
        )
    place, kind = paper.places[position], KINDS[paper.design.protocol].of(paper.design)
    return Explained(
        position=position,
        question=worded(paper.design.question),
        texts=tuple(texts_of(kind.shown(place.unit, side=place.side, picture_url=""))),
        given=kind.in_words(given[answer_key(kind)]),
        right=right,
        expected=_expected(kind, place),
        why=str(place.unit.content.get("why", "")),
    )


def may_explain(paper: Paper, position: int) -> bool:
    """Whether the worker may see now what is right there: after each answer, at the end, or never."""
    explain = paper.design.quiz.explain
    if str(position) not in paper.attempt.answers:
        return False
    return explain == "after-each" or (explain == "at-the-end" and paper.attempt.finished_at is not None)


def texts_of(shown: dict[str, Any]) -> list[tuple[str, str]]:
    """The texts of a shown unit with their letters, where they have one."""
    found: list[tuple[str, str]] = []
    for name, value in shown.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and isinstance(one.get("text"), str):
                found.append((name.upper() if len(name) == ONE_LETTER else "", one["text"]))
    return found


def _expected(kind: Kind, place: Place) -> tuple[str, ...]:
    """The right answers as the worker sees them; what is expected itself where a kind has no list of choices."""
    right = tuple(
        choice.words
        for choice in kind.choices
        if kind.is_right(kind.canonical(choice.value, side=place.side), place.unit.expected)
    )
    return right or (_stated(kind, place),)


def _stated(kind: Kind, place: Place) -> str:
    """What is expected, as the worker sees it where it has the form of an answer; a range, as of a scale, stays."""
    expected = place.unit.expected
    return str(expected) if isinstance(expected, str) else kind.in_words(kind.seen(expected, side=place.side))
