"""A HIT of a study as Mechanical Turk states it: title, description, question and unique token."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings

from annotation.crowds.mturk.frames import sites_of
from annotation.crowds.mturk.pages import html_question
from annotation.crowds.mturk.questions import (
    external_question,
)
from annotation.crowds.mturk.shapes import SANDBOX
from annotation.crowds.people import installation_word
from annotation.work.pictures import worked_examples
from annotation.work.presentation import units_of_hit
from common.markup import plain_text
from judgments.design.quizzes import asks_anything
from judgments.design.study_design import StudyDesign
from judgments.models import HIT, Study

if TYPE_CHECKING:
    pass

# MTURK.md 2, Money
FEE, MANY_FEE, MASTERS_FEE = Decimal(20), Decimal(20), Decimal(5)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
ENTRY = "/s/{slug}/mturk/"


def annotation_of(token: str, study: Study) -> str:
    return f"{token} {installation_word()} {study.slug}"


def token_of(annotation: str, study: Study) -> str:
    token, _, rest = annotation.partition(" ")
    return token if rest == f"{installation_word()} {study.slug}" else ""


def title_of(design: StudyDesign) -> str:
    return (design.crowd.title or design.name)[:128]


def description_of(design: StudyDesign) -> str:
    return (design.crowd.description or plain_text(design.question))[:2000]


def is_tested_there(design: StudyDesign) -> bool:
    """Return True if the quiz becomes a qualification test of the service: it has only questions."""
    return bool(asks_anything(design.quiz)) and not design.quiz.items


def question_of(study: Study, design: StudyDesign, hit: HIT) -> str:
    """Return the Question of a HIT; raise QuestionProblem if it cannot be stated there."""
    if design.crowd.question == "html":
        return html_question(
            design=design,
            hit=hit,
            units=units_of_hit(hit.pk),
            hosts=sites_of(study.place or SANDBOX),
            examples=worked_examples(study, design),
        )
    return external_question(
        url=settings.PUBLIC_URL + ENTRY.format(slug=study.slug),
        hit=hit.key,
        loopback=urlsplit(settings.MTURK_ENDPOINT).hostname in LOOPBACK,
    )
