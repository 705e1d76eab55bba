"""The job that imports an uploaded HIT template whose files are too large for a request."""

from __future__ import annotations

from common.audit import acting_person
from common.errors import WrongState
from contrib.hit_templates import importing
from judgments.datasets import uploads
from judgments.jobs.runs import JobRun


def import_template_upload(run: JobRun, *, upload: str, source: str, slug: str, name: str) -> None:
    """Import a template with its uploaded inputs and pictures as a draft. ``source`` is the HTML of the template."""
    user = acting_person()
    if user is None:
        raise WrongState("Nothing was imported, because the account that started the job no longer exists.")
    with uploads.open_upload(upload, run.progress) as files, run.commit() as result:
        study, checked_template = importing.import_template(
            slug=slug,
            source=source,
            inputs=files.path,
            name=name,
            images=files.pictures,
            user=user,
            progress=run.progress,
        )
        result |= {"study": study.slug, "rows": checked_template.row_count}
    uploads.discard_upload(upload)
