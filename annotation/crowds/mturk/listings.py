"""The texts of a HIT at Mechanical Turk: title, description, question, and annotation.

The annotation is a text that only the requester sees. By it, Quorum recognises the HITs that it has created.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import override

from annotation.crowds.mturk.client import SANDBOX
from annotation.crowds.mturk.frames import sites_of
from annotation.crowds.mturk.pages import html_question, language_of
from annotation.crowds.mturk.questions import external_question
from annotation.crowds.people import installation_id
from annotation.work.sheet.examples import worked_examples
from annotation.work.sheet.units import units_of_hit
from common.http.addresses import THIS_MACHINE
from common.markup import plain_text
from judgments.design.quiz import asks_anything
from judgments.design.study_design import StudyDesign, translate_design
from judgments.models import HIT, Study

ENTRY_PATH = "/s/{slug}/mturk/"


def annotation_of(token: str, study: Study) -> str:
    """Return the annotation of a HIT, such as "publish-3f2a 90c1d4e5b687 birds".

    ``token`` is the key of the outbox message that creates the HIT.
    """
    return f"{token} {installation_id()} {study.slug}"


def token_in_annotation(annotation: str, study: Study) -> str:
    """Return the token in a HIT's annotation; "" if another installation created the HIT, or for another study."""
    token, _space, owner = annotation.partition(" ")
    return token if owner == f"{installation_id()} {study.slug}" else ""


def title_of(design: StudyDesign) -> str:
    return (design.crowd.title or design.name)[:128]  # the service allows no more characters


def description_of(design: StudyDesign) -> str:
    return (design.crowd.description or plain_text(design.question))[:2000]  # as many as the service allows


def has_qualification_test(design: StudyDesign) -> bool:
    """Return whether the quiz is a qualification test of the service: it has questions, but no known items."""
    return bool(asks_anything(design.quiz)) and not design.quiz.items


def question_of_hit(study: Study, design: StudyDesign, hit: HIT) -> str:
    """Return the XML of the HIT's question: the whole page if ``crowd.question`` is "html", else Quorum's address."""
    if design.crowd.question == "html":
        language = language_of(design)
        design = translate_design(design, language)
        with override(language):
            examples = worked_examples(study, design)
        return html_question(
            design=design,
            hit=hit,
            units=units_of_hit(hit.pk),
            hosts=sites_of(study.platform or SANDBOX),  # a study that was never opened has no platform
            examples=examples,
            language=language,
        )
    return external_question(
        url=settings.PUBLIC_URL + ENTRY_PATH.format(slug=study.slug),
        hit=hit.key,
        # an emulator on this machine shows pages of this machine, which need no https
        loopback=urlsplit(settings.MTURK_ENDPOINT).hostname in THIS_MACHINE,
    )
