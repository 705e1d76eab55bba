"""The report of a study, asked for."""

from __future__ import annotations

from typing import Any

from common.errors import WrongState
from judgments.models import Study
from judgments.study_operations import background_operation


@background_operation("report", "Make the report", job="report", once="always")
def make_report(*, study: Study) -> dict[str, Any]:
    """Make a report in the background; it is then a report of `what` = `report`, whose files can be downloaded."""
    if study.state in (Study.State.DRAFT, Study.State.GENERATED):
        raise WrongState(
            f"Study {study.slug!r} is {study.state}; there is nothing to report before it is open."
        )
    return {}
