"""The rows about a person in a study, and the words that identify the person.

An erasure deletes the rows of DELETED_MODELS. It moves those of MOVED_MODELS to a substitute worker, and those of
PAYMENT_MODELS to another one. It removes the person from those of UNLINKED_MODELS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext_noop

from annotation.models import (
    AppealNote,
    Assignment,
    Case,
    CrowdCall,
    CrowdSession,
    Demographics,
    ErasureRequest,
    Exclusion,
    Invitation,
    Judgment,
    MoneyRequest,
    Participation,
    ProblemReport,
    Qualification,
    QuizAttempt,
    RawId,
    SpendingRequest,
    StudyAlarm,
    Worker,
    WrittenCaption,
)
from annotation.models.privacy import identifying_word_wanted
from annotation.privacy.names import name_replacer
from judgments.models import Study, StudyEvent
from judgments.studies.designs import installed_kind_of

ERASED_TEXT = "…"  # replaces an erased text or word
ERASED_PREFIX, PAID_PREFIX = "erased", "paid"  # prefixes of the names of substitute workers
# Models whose rows are deleted, with their label on pages. A test checks that no model about people is forgotten.
DELETED_MODELS: Mapping[type[Model], str] = {
    RawId: gettext_noop("ids at the crowd"),
    Demographics: gettext_noop("demographics"),
    QuizAttempt: gettext_noop("quiz attempts"),
    Qualification: gettext_noop("qualifications"),
    ErasureRequest: gettext_noop("erasure requests"),
}
MOVED_MODELS: Mapping[type[Model], str] = {
    Participation: gettext_noop("participation in the study"),
    Assignment: gettext_noop("pages of work"),
    Exclusion: gettext_noop("exclusions"),
    Case: gettext_noop("flags"),
    StudyAlarm: gettext_noop("warnings of the study"),
    WrittenCaption: gettext_noop("captions that other participants judge"),
}
# Rows about pay. They get a substitute worker of their own, so that payments do not show for which answers they were.
PAYMENT_MODELS: Mapping[type[Model], str] = {
    CrowdSession: gettext_noop("paid sessions"),
    CrowdCall: gettext_noop("requests to the crowd"),
}
# Models whose rows stay, without their link to the person.
UNLINKED_MODELS: Mapping[type[Model], str] = {Invitation: gettext_noop("invitation")}
# Fields with texts about people. All rows of a study are searched, since a text about others may name the person.
TEXT_FIELDS: Mapping[type[Model], list[str]] = {
    Exclusion: ["why", "lifted_why", "evidence"],
    Case: ["evidence", "decision"],
    ErasureRequest: ["answer"],
    MoneyRequest: ["answer"],
    SpendingRequest: ["values", "words"],
}


def rows_of(model: type[Model], study: Study, worker: Worker) -> QuerySet[Any]:
    """Return a person's rows of a model that belong to a study.

    Rows of no study, such as the person's own ids, are included only if the person takes part in no other study.
    """
    rows = model._default_manager.filter(worker=worker)
    if model is CrowdCall:
        return CrowdCall.objects.filter(about_worker(worker), study=study)
    if model is Qualification:  # its rows belong to no study
        return rows.none() if is_in_another_study(study, worker) else rows
    if model is RawId:
        is_of_study, is_of_no_study = Q(session__study=study), Q(session=None)
    elif model is WrittenCaption:
        is_of_study, is_of_no_study = Q(judgment__assignment__study=study), Q(judgment=None)
    else:
        return rows.filter(study=study)
    return rows.filter(is_of_study if is_in_another_study(study, worker) else is_of_study | is_of_no_study)


def about_worker(worker: Worker) -> Q:
    """Return a filter for calls to the crowd that are about a worker, or about one of their sessions."""
    return Q(worker=worker) | Q(session__worker=worker)


def judgments_of(study: Study, worker: Worker) -> Any:
    return Judgment.objects.of_study(study).filter(assignment__worker=worker)


def texts_only(study: Study, judgments: Any) -> Any:
    """Return the judgments if the study's answers are texts that people write, else none of them."""
    return judgments if installed_kind_of(study).writes_captions else judgments.none()


def reports_of(study: Study, worker: Worker) -> QuerySet[ProblemReport]:
    return ProblemReport.objects.filter(assignment__study=study, assignment__worker=worker)


def appeals_of(study: Study, worker: Worker) -> QuerySet[AppealNote]:
    return AppealNote.objects.filter(assignment__study=study, assignment__worker=worker)


def is_in_another_study(study: Study, worker: Worker) -> bool:
    """Return whether the person takes part in another study."""
    models = (Participation, CrowdSession, Assignment, CrowdCall)
    return any(model._default_manager.filter(worker=worker).exclude(study=study).exists() for model in models)


def identifying_words(study: Study, worker: Worker) -> list[str]:
    """Return the words that identify the person besides ``worker.name``: ids, codes, and words that features add."""
    replies = identifying_word_wanted.send(Study, study=study, worker=worker)
    words = {worker.shown_name, *(word for _receiver, word in replies if word)} - {worker.name}
    words |= set(RawId.objects.filter(worker=worker).values_list("value", flat=True))
    participations = Participation.objects.filter(study=study, worker=worker)
    words |= set(participations.values_list("completion_code", flat=True))
    return sorted(words - {""})


def find_log_entries(study: Study, replacements: Mapping[str, str]) -> list[StudyEvent]:
    """Return the entries of the study's log that contain a key of ``replacements``."""
    replace_names = name_replacer(replacements)
    entries = []
    for event in StudyEvent.objects.filter(study=study).iterator():
        texts = [event.words, event.why, event.details]
        if replace_names(texts) != texts:
            entries.append(event)
    return entries
