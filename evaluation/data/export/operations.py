"""The operation that exports a study."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from rest_framework import serializers

from common.audit import acting_person
from common.parameters import Parameters
from evaluation.data.export.downloads import JOB_KIND, why_personal
from evaluation.data.export.formats import FORMATS, TASKS, check_fits, format_named
from evaluation.errors import ExportError
from judgments.access.rights import has_right
from judgments.models import Study
from judgments.operations import background_operation


class ExportFormatField(serializers.ChoiceField):
    """The name of a format. If it is unknown, the error suggests the nearest known name."""

    def to_internal_value(self, data: Any) -> str:
        try:
            return format_named(str(data)).name
        except ExportError as error:
            raise serializers.ValidationError(str(error)) from None


class ExportRequest(Parameters):
    """The format and the options of an export."""

    format = ExportFormatField(choices=sorted(FORMATS))
    if any(file_format.has_task for file_format in FORMATS.values()):
        task = serializers.ChoiceField(
            choices=sorted(TASKS),
            required=False,
            help_text="Only for the format qrels. “annotation”: captions are ranked for an item. “search”: "
            "items are ranked for a caption.",
        )


@background_operation(  # once="never": several exports of a study may run at the same time
    "export", "Export a study", parameters=ExportRequest, job=JOB_KIND, scope="exports", once="never"
)
def start_export(*, study: Study, format: str, **task: str) -> dict[str, Any]:
    """Start to write a study's judgments to a file. Follow `state` until the job is done, then download the file."""
    file_format, person = format_named(format), acting_person()
    if person is not None and not has_right(person, file_format.right, study):
        raise PermissionDenied(why_personal(file_format))
    check_fits(study, file_format)
    return {"format": format, **task}  # the job's arguments; ``task`` is {} unless the request has a task
