"""A panel's lists of submissions."""

from contrib.panel_lists.comparison import ComparedSubmission, compare_panel_list
from contrib.panel_lists.submission_list import PanelListLine, read_submissions
from judgments.models import Study
from judgments.studies.designs import design_of

HEADER = "Submission id,Participant id,Status,Started at,Completed at,Time taken,Completion code,Age"


def line(ids: dict[str, str], status: str, code: str = "") -> str:
    """A line of Prolific's export."""
    return f"{ids['SESSION_ID']},{ids['PROLIFIC_PID']},{status},2026-11-20T12:00:00Z,,61,{code},33"


def submissions(study: Study, *lines: str) -> list[PanelListLine]:
    return read_submissions("\n".join((HEADER, *lines)), design_of(study).panel)


def found(study: Study, *lines: str) -> dict[str, ComparedSubmission]:
    """What is said of each, by the panel's id."""
    return {
        one.panel_worker_id: one
        for one in compare_panel_list(study=study, submissions=submissions(study, *lines))
    }
