"""Fetch demographics from Prolific on request, and store only those that the design names."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import ngettext

from annotation.crowds import backend_of
from annotation.crowds.base import CrowdProblem
from annotation.crowds.people import pseudonym
from annotation.models import CrowdSession, Demographics, Publication, RawId, at_crowd
from common.errors import WrongState
from contrib.prolific.client import open_client
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.operations import CommandHelp, Outcome, operation
from judgments.studies.designs import design_of

# The reference describes the export ("Export demographic data"), but not its columns. These are the columns of
# published exports, by the name that designs use. The first one that exists is read.
PARTICIPANT_COLUMNS, SUBMISSION_COLUMNS = ("participant id",), ("submission id",)
COLUMNS_BY_NAME: dict[str, tuple[str, ...]] = {
    "age": ("age",),
    "sex": ("sex",),
    "ethnicity": ("ethnicity simplified", "ethnicity (simplified)", "ethnicity"),
    "first-language": ("first language", "language"),
    "country": ("current country of residence", "country of residence"),
    "nationality": ("nationality",),
    "country-of-birth": ("country of birth",),
    "student": ("student status",),
    "employment": ("employment status",),
}
MISSING_VALUES = {"", "DATA_EXPIRED", "CONSENT_REVOKED"}
DemographicRow = Mapping[str, str]


def fetch_demographics(*, study: Study, by: User | None = None) -> int:
    """Store the demographics of people who submitted work in this study. Return the number of people.

    Answers that Prolific no longer has are deleted here, too. If a person is missing in Prolific's response, the stored
    answers are kept. People whose raw ids were deleted are left out.
    """
    names = design_of(study).crowd.demographics
    if not names:
        raise WrongState(
            f"Nothing was fetched: the design of study {study.slug!r} names no crowd.demographics."
        )
    publications = at_crowd(Publication, study).exclude(external_id="")
    rows: list[DemographicRow] = []
    try:
        with open_client() as client:
            for publication in publications:
                rows += client.export_demographics(publication.external_id)
    except CrowdProblem as problem:
        raise WrongState(f"Nothing was fetched. {problem}") from problem
    return _store_demographics(study, rows, names, by)


@transaction.atomic
def _store_demographics(
    study: Study, rows: list[DemographicRow], names: tuple[str, ...], by: User | None
) -> int:
    """Store the named demographics in the rows of the export for people of the study. Return the number of people."""
    backend = backend_of(study)
    # The lock waits for a deletion of raw ids at the same time.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    raw_ids = RawId.objects.filter(worker=OuterRef("worker"), session=None)  # ids of people, not of sessions
    sessions = CrowdSession.objects.filter(Exists(raw_ids), study=study, submitted_at__isnull=False)
    sessions = sessions.select_related("worker")
    worker_ids = {(session.external_id, session.worker.name): session.worker_id for session in sessions}
    answers_by_worker: dict[int, dict[str, str]] = {}
    for row in rows:
        ids = (
            backend.session_id(study.platform, _read_cell(row, SUBMISSION_COLUMNS)),
            pseudonym(study.platform, _read_cell(row, PARTICIPANT_COLUMNS)),
        )
        if ids in worker_ids:
            answers = {name: _read_cell(row, COLUMNS_BY_NAME[name]) for name in names}
            answers_by_worker[worker_ids[ids]] = {
                name: answer for name, answer in answers.items() if answer not in MISSING_VALUES
            }
    for worker_id, answers in answers_by_worker.items():
        Demographics.objects.update_or_create(study=study, worker_id=worker_id, defaults={"answers": answers})
    message = f"Demographics of {len(answers_by_worker)} people were fetched: {', '.join(names)}."
    note_event(study=study, what="demographics", sentence=message, by=by, people=len(answers_by_worker))
    return len(answers_by_worker)


def _read_cell(row: DemographicRow, columns: tuple[str, ...]) -> str:
    """Return the cell of the first of the columns that exists; "" if none does."""
    return next((row[name].strip() for name in columns if name in row), "")


@operation(
    "fetch-demographics",
    "Fetch demographics",
    scope="exports",
    command=CommandHelp(
        "Fetch what the design names in crowd.demographics from Prolific, for the export demographics.",
        "triplets-50",
    ),
)
def demographics(*, study: Study, by: User | None) -> Outcome:
    """Fetch from Prolific the demographics named in ``crowd.demographics``, for people who submitted work."""
    people_count = fetch_demographics(study=study, by=by)
    message = ngettext(
        "Prolific sent the demographics of one participant.",
        "Prolific sent the demographics of %(n)s participants.",
        people_count,
    )
    return Outcome(message % {"n": people_count})
