"""The versions of a study's consent text, and the record of who agreed to which version.

A version has the hash of its text as its name. Consent is checked only when a HIT is claimed. An assignment that was
claimed under an earlier text can still be saved and submitted, so that no work is lost when the text changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import ValidationError

from annotation.errors import ConsentChanged
from annotation.models import Assignment, ConsentVersion, Participation, Worker
from common.errors import DesignError, WrongState
from judgments.access.study_log import note_event
from judgments.design.study_design import StudyDesign, contradictions_of_translations
from judgments.design.tables.controls import Writing
from judgments.drawing.keys import content_key
from judgments.models import Study
from judgments.studies.designs import design_of

VERSION_LENGTH = 16  # number of hexadecimal digits of a hash
MAX_VERSIONS_SHOWN = 50


def consent_version(design: StudyDesign) -> str:
    """Return the hash of the consent text; "" if the design has none.

    The hash covers the text in all languages, and the settings that record how answers are written.
    """
    if not design.consent:
        return ""
    translations = translated_consent(design)
    # nothing is added for the default settings, so that the hashes of older texts stay the same
    more_content: list[Any] = [translations] if translations else []
    if design.writing != Writing():
        more_content.append(design.writing.model_dump_json())
    return content_key(design.consent, *more_content)[:VERSION_LENGTH]


def translated_consent(design: StudyDesign) -> dict[str, str]:
    """Return the translations of the consent text by language."""
    return {
        language: texts.consent for language, texts in sorted(design.translations.items()) if texts.consent
    }


def refuse_old_consent(*, study: Study, worker: Worker, agreed_to: str) -> None:
    """Raise ConsentChanged if ``agreed_to`` is not the version in force."""
    if not worker.is_person:  # simulated or imported
        return
    current_version = consent_version(design_of(study))
    if current_version and current_version != agreed_to:
        raise ConsentChanged(study.slug)


def needs_consent(*, study: Study, worker: Worker) -> bool:
    """Return whether a participant must agree to the text in force, because they agreed to another one or to none."""
    row = Participation.objects.filter(study=study, worker=worker).first()
    current_version = consent_version(design_of(study))
    return row is not None and bool(current_version) and row.consent_version != current_version


@transaction.atomic
def record_agreement(*, study: Study, worker: Worker) -> None:
    """Record that a participant agrees to the text in force. Repeating changes nothing."""
    version = store_first_version(study)
    rows = Participation.objects.filter(study=study, worker=worker)
    rows.exclude(consent_version=version).update(consent_version=version, consented_at=timezone.now())


def store_first_version(study: Study) -> str:
    """Store the text in force as version 1 if no version is stored yet. Return the hash of the text in force."""
    design = design_of(study)
    version = consent_version(design)
    if version and not ConsentVersion.objects.filter(study=study).exists():
        ConsentVersion.objects.get_or_create(
            study=study,
            number=1,
            defaults={"version": version, "text": design.consent, "translations": translated_consent(design)},
        )
    return version


@transaction.atomic
def change_consent(
    *,
    study: Study,
    text: str,
    translations: Mapping[str, str] | None = None,
    why: str,
    by: User | None = None,
) -> ConsentVersion | None:
    """Replace the consent text of a study that is not a draft. Return None if it is unchanged.

    Args:
        translations: the text by language. Old translations into other languages are removed.

    Raises:
        WrongState: the study is a draft, whose design is edited instead, or has imported judgments.
        DesignError: the text is not valid.
    """
    locked_study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if locked_study.state == Study.State.DRAFT or locked_study.source == Study.Source.IMPORTED:
        raise WrongState(
            _("Nothing was changed: study %(slug)r has no generated pages of work; edit its design instead.")
            % {"slug": study.slug}
        )
    if not text.strip():
        raise DesignError(_("The consent text is empty; expected the new text."), field="consent")
    new_translations = {
        language: translation for language, translation in (translations or {}).items() if translation.strip()
    }
    new_design = _design_with_consent(locked_study, text, new_translations)
    current_version = store_first_version(locked_study)
    if consent_version(new_design) == current_version:
        return None
    locked_study.design = new_design.model_dump(mode="json")
    locked_study.save(update_fields=["design"])
    study.design = locked_study.design
    last_version = ConsentVersion.objects.filter(study=study).order_by("-number").first()
    version = ConsentVersion.objects.create(
        study=study,
        number=last_version.number + 1 if last_version else 1,
        version=consent_version(new_design),
        text=new_design.consent,
        translations=new_translations,
        why=why[:500],
        made_by=by,
    )
    note_event(
        study=study,
        what="consent-changed",
        sentence=f"The consent text has version {version.number}.",
        why=why,
        by=by,
        number=version.number,
        version=version.version,
    )
    return version


def _design_with_consent(study: Study, text: str, translations: Mapping[str, str]) -> StudyDesign:
    """Return the study's design with another consent text. Raise DesignError if it is not valid."""
    values: dict[str, Any] = design_of(study).model_dump(mode="json")
    values["consent"] = text
    old_translations = values.get("translations", {}).items()
    texts_by_language = {language: {**texts, "consent": ""} for language, texts in old_translations}
    for language, translation in translations.items():
        texts_by_language.setdefault(language, {})["consent"] = translation
    if texts_by_language:
        values["translations"] = texts_by_language
    try:
        design = StudyDesign.model_validate(values)
    except ValidationError as error:
        first_error = error.errors(include_url=False)[0]
        setting = ".".join(map(str, first_error["loc"]))
        raise DesignError(f"{setting}: {first_error['msg']}.", field="consent") from None
    for problem in contradictions_of_translations(design):
        raise DesignError(f"{problem}.", field="consent")
    return design


@dataclass(frozen=True, slots=True)
class VersionInUse:
    """A version of the consent text, and how much it was used.

    Attributes:
        people_count: number of people who last agreed to this version.
        page_count: number of assignments that were claimed while this version was in force.
    """

    version: ConsentVersion
    people_count: int
    page_count: int


def versions_in_use(study: Study) -> list[VersionInUse]:
    """Return the newest versions of the consent text, latest first."""
    people_counts = _count_by_version(Participation, study)
    page_counts = _count_by_version(Assignment, study)
    rows = ConsentVersion.objects.filter(study=study).select_related("made_by").order_by("-number")
    return [
        VersionInUse(row, people_counts.get(row.version, 0), page_counts.get(row.version, 0))
        for row in rows[:MAX_VERSIONS_SHOWN]
    ]


def _count_by_version(model: type[Participation] | type[Assignment], study: Study) -> dict[str, int]:
    """Return the number of the study's rows for each version's hash."""
    rows = model._default_manager.filter(study=study).order_by()
    return dict(rows.values_list("consent_version").annotate(n=Count("pk")))


def delete_unread_versions(study: Study) -> None:
    """Delete the versions of the consent text of a study without participants. Its text becomes version 1 again."""
    versions = ConsentVersion.objects.filter(study=study)
    versions._raw_delete(versions.db)  # ``delete`` refuses, since versions that people agreed to are kept
