"""A panel's list of submissions as a requester downloads it, beside the people it tells of."""

from typing import Any

from django.db.models import QuerySet

from annotation.crowds.panel.backend import code_for
from annotation.crowds.panel.reconciling import Compared, Submission, compare, read_submissions
from annotation.models import Assignment, CrowdSession, LedgerEntry
from judgments.models import Study, StudyEvent
from judgments.studies.studies import design_of
from tests.annotation.crowds.panels import do_page, start

HEADER = "Submission id,Participant id,Status,Started at,Completed at,Time taken,Completion code,Age"


def line(ids: dict[str, str], status: str, code: str = "") -> str:
    """A line of Prolific's export."""
    return f"{ids['SESSION_ID']},{ids['PROLIFIC_PID']},{status},2026-11-20T12:00:00Z,,61,{code},33"


def submissions(study: Study, *lines: str) -> list[Submission]:
    return read_submissions("\n".join((HEADER, *lines)), design_of(study).panel)


def found(study: Study, *lines: str) -> dict[str, Compared]:
    """What is said of each, by the panel's id."""
    return {one.raw: one for one in compare(study=study, submissions=submissions(study, *lines))}


def completed(study: Study) -> str:
    return code_for(study, design_of(study), "completed")


def at_work(study: Study, *people: dict[str, str]) -> None:
    for ids in people:
        start(study, ids)


def done(study: Study, *people: dict[str, str]) -> None:
    for ids in people:
        client, _ = start(study, ids)
        do_page(study, client)


def rows_of(*tables: QuerySet[Any]) -> list[list[Any]]:
    return [list(table.order_by("pk").values()) for table in tables]


def everything() -> list[list[Any]]:
    """All rows that a booking could touch."""
    return rows_of(
        CrowdSession.objects.all(),
        Assignment.objects.all(),
        LedgerEntry.objects.all(),
        StudyEvent.objects.all(),
    )
