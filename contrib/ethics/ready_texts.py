"""Ready texts for common cases: a consent text, and answers to a board's questions, filled in from the design."""

from __future__ import annotations

import re

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.utils.translation import gettext_noop, override
from rest_framework import serializers

from annotation.crowds import backend_for
from annotation.launch.pass_mark import items_in_groups
from annotation.privacy.consent import change_consent
from annotation.work.sheet.texts import spell_duration
from common.amounts import spell_money
from common.errors import WrongState
from common.parameters import Parameters
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign, translate_design
from judgments.design.tables.translations import StudyTexts
from judgments.drawing.keys import content_key
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.operations import CommandHelp, Outcome, operation
from judgments.studies.designs import design_of
from judgments.studies.studies import change_design

TEXT_CASES = {
    "eu": gettext_noop("European Union (GDPR)"),
    "us": gettext_noop("United States (likely exempt from full review)"),
    "course": gettext_noop("Students of a course"),
    "panel": gettext_noop("A panel or a crowd"),
}
BASE_LANGUAGE = "en"  # the language of a ready consent text; the others are translations of it
USUAL_RETENTION_DAYS, USUAL_MINIMUM_AGE = 90, 18  # days after a study closes, and years
READY_TEXTS = "ready-texts"
# The key in ``Study.notes`` of {"case": "eu", "text": HASH_OF_THE_CONSENT_TEXT}, which describes the ready text.
NOTE_KEY = "ready_texts"


class ReadyTextsRequest(Parameters):
    """The case for which texts are filled in, and whether an existing consent text is replaced."""

    case = serializers.ChoiceField(
        choices=[(case, _lazy(title)) for case, title in TEXT_CASES.items()], label="Participants"
    )
    replace = serializers.BooleanField(default=False, label="Replace the existing consent text")


def write_consent(design: StudyDesign, case: str, language: str) -> str:
    """Return the ready consent text of a case in a language: Markdown, filled in from the design."""
    items = items_in_groups(design, KINDS[design.protocol].hit_size(design))  # on a page of work
    currency = design.named_currency
    with override(language):
        context = {
            "case": case,
            "design": translate_design(design, language),
            "duration": spell_duration(items * design.seconds_per_unit),
            "pay": spell_money(design.crowd.reward_cents, currency),
            "floor": spell_money(design.crowd.floor_cents_per_hour, currency),
            "sent": backend_for(design).sends_people,
        }
        text = render_to_string("annotation/ready_consent.html", context)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _fill_in_usual_answers(design: StudyDesign, case: str, by: User | None) -> StudyDesign:
    """Return the design with usual answers in its empty fields: contact, retention, and those of an ethics board."""
    contact = f"{by.get_full_name() or by.get_username()}, {by.email}" if by is not None and by.email else ""
    course_answer = _(
        "Students depend on their teachers. Nobody who grades the students sees who takes part or "
        "what they answer. Students can earn the same credit in another way."
    )
    usual_answers = {
        "minimum_age": USUAL_MINIMUM_AGE,
        "vulnerable": course_answer
        if case == "course"
        else _("No vulnerable groups are recruited. All participants confirm that they are of age."),
        "risks": _(
            "There are no risks beyond those of everyday work at a screen. Participants can stop "
            "at any time without a disadvantage, and they can report an item."
        ),
        "benefits": _("Participants have no direct benefit. The results can help others."),
    }
    missing_answers = {key: value for key, value in usual_answers.items() if not getattr(design.ethics, key)}
    days = design.retention.identities_days or USUAL_RETENTION_DAYS
    return design.model_copy(
        update={
            "contact": design.contact.strip() or contact,
            "retention": design.retention.model_copy(update={"identities_days": days}),
            "ethics": design.ethics.model_copy(update=missing_answers),
        }
    )


@operation(
    READY_TEXTS,
    "Fill in ready texts",
    parameters=ReadyTextsRequest,
    command=CommandHelp(
        "Write consent and ethics texts of a usual case from the design.", "triplets-50 --case eu"
    ),
)
@transaction.atomic
def fill_in_ready_texts(*, study: Study, by: User | None, case: str, replace: bool = False) -> Outcome:
    """Write the consent text in all languages of the workers' pages, and answer the board's open questions.

    If the study is no longer a draft, only the consent text changes, as a new version.
    """
    design = design_of(study)
    if design.consent.strip() and not replace:
        raise WrongState(
            _(
                "Nothing was changed, because the study already has a consent text. Tick “replace” to "
                "overwrite it."
            )
        )
    is_draft = study.state == Study.State.DRAFT
    # `case` is a key of TEXT_CASES.
    design = _fill_in_usual_answers(design, case, by) if is_draft else design
    text = write_consent(design, case, BASE_LANGUAGE)
    consents = {
        language: write_consent(design, case, language)
        for language, _name in settings.LANGUAGES
        if language != BASE_LANGUAGE
    }
    if is_draft:
        translations = {
            language: design.translations.get(language, StudyTexts()).model_copy(update={"consent": consent})
            for language, consent in consents.items()
        }
        filled_design = design.model_copy(update={"consent": text, "translations": translations})
        change_design(study=study, design=make_design(filled_design.model_dump(mode="json")), user=by)
    else:
        change_consent(
            study=study, text=text, translations=consents, why=_("Filled in from a ready text."), by=by
        )
    study.notes = study.notes | {NOTE_KEY: {"case": case, "text": content_key(text)}}
    study.save(update_fields=["notes"])
    return Outcome(_("The texts are filled in from the design. Read them and change what does not apply."))


def is_outdated(study: Study, design: StudyDesign) -> bool:
    """Return whether the consent text is an unedited ready text that no longer fits the design."""
    note = study.notes.get(NOTE_KEY, {})
    is_unedited = note.get("text") == content_key(design.consent)
    return is_unedited and write_consent(design, note["case"], BASE_LANGUAGE) != design.consent
