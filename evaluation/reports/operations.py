"""The operation of making a report."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from common.errors import WrongState
from common.parameters import Parameters
from judgments.models import Study
from judgments.study_operations import background_operation


class MakeReportRequest(Parameters):
    multiverse = serializers.BooleanField(
        required=False,
        label="Under other choices too",
        help_text="Also repeat the analysis under all other defensible choices, and draw how far conclusions move.",
    )


@background_operation("report", "Make the report", job="report", once="always", parameters=MakeReportRequest)
def make_report(*, study: Study, multiverse: bool = False) -> dict[str, Any]:
    """Make a report in the background; it is then a report of `what` = `report`, whose files can be downloaded."""
    if study.state in (Study.State.DRAFT, Study.State.GENERATED):
        raise WrongState(
            _("Study %(slug)r is %(state)s; there is nothing to report before it is open.")
            % {"slug": study.slug, "state": study.state}
        )
    return {"multiverse": True} if multiverse else {}
