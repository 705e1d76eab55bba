"""Export a study's judgments with a manifest: to any path, or by an operation to a file that is downloaded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers

from common.audit import acting_person
from common.errors import NotThere
from common.files import FileProblem, check_place, remove_stale_files, write_json
from common.parameters import Parameters
from evaluation.data.export.formats import FORMATS, TASKS, Format, check_fits, format_named
from evaluation.data.export.formats.judgment_rows import timestamp
from evaluation.data.export.parts import (
    begin_parts,
    lock_output,
    remove_parts,
    request_of,
    write_in_parts,
)
from evaluation.data.judgment_sets.signatures import AS_IMPORTED
from evaluation.errors import ExportError
from judgments.access.roles import Right, has_right, note_event
from judgments.models import Job, Study
from judgments.operations import background_operation
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress
from judgments.studies.studies import find_study
from quorum.numeric.signatures import signature, versions

JOB_KIND = "export"
# Progress when parts begin, and when the file is signed.
SHARES = (0.02, 0.95)


@dataclass(frozen=True, slots=True)
class Export:
    path: Path
    manifest_path: Path
    manifest: dict[str, Any]


def manifest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.manifest.json")


def export_judgments(
    *,
    study: Study,
    format: str,
    output: Path,
    task: str = "annotation",
    revisions: bool = False,
    resume: bool = False,
    progress: Progress = no_progress,
) -> Export:
    """Write the judgments of ``study`` to ``output``, and ``output``.manifest.json.

    The file is a snapshot as of its start.

    Args:
        task: for qrels: ``annotation`` or ``search``.
        revisions: include revised answers, as unused.
        resume: continue a stopped export with its snapshot.

    Raises:
        ExportError: an unknown format or task, an unsuitable study, or a concurrent export of the file.
        FileProblem: a path that cannot be written.
    """
    chosen = format_named(format)
    if task not in TASKS:
        raise ExportError(f"There is no task {task!r}; expected one of {', '.join(TASKS)}.")
    check_fits(study, chosen)
    check_place(output)
    progress(SHARES[0], f"writing {chosen.name}")
    design = design_of(study)
    encoding = chosen.encoding()
    request = request_of(study, format=chosen.name, task=task, revisions=revisions)
    with lock_output(output):
        begun = begin_parts(study, output, encoding, request=request, resume=resume)
        snapshot = begun.snapshot
        start, end = SHARES

        def report(share: float, sentence: str) -> None:
            progress(start + (end - start) * share, sentence)

        try:
            file, votes = write_in_parts(begun, encoding, output, progress=report)
        except (ExportError, FileProblem):  # a full disk needs the space of the parts
            remove_parts(output)
            raise
        progress(end, "signing")
        how: dict[str, Any] = {"format": chosen.name, "protocol": study.protocol}
        if chosen.name == "qrels":
            how["task"] = task
        if revisions:
            how["revisions"] = "all"
        how["controls"] = AS_IMPORTED if study.source == Study.Source.IMPORTED else design.controls.threshold
        access = design.access.model_copy(update={"code": ""})
        manifest = {
            "study": study.slug,
            "protocol": study.protocol,
            "dataset": design.dataset,
            "simulated": study.simulated,
            "format": chosen.name,
            "file": output.name,
            "bytes": file.size,
            "sha256": file.hexdigest(),
            "judgments_sha256": votes.data_hash,
            "counts": begun.work.counts,
            "seed": design.seed,
            "design": design.model_copy(update={"access": access}).model_dump(mode="json"),
            "texts_read": snapshot.texts_read,
            "versions": versions(),
            "signature": signature("export", how),
            "judgment_signature": str(snapshot.signature(votes)),
            "as_of": timestamp(snapshot.moment.at),
            "created_at": timestamp(timezone.now()),
        }
        write_json(manifest_path(output), manifest)
        remove_parts(output)
    sentence = f"The judgments were exported as {chosen.name}."
    note_event(study=study, what="exported", sentence=sentence, format=chosen.name, sha256=manifest["sha256"])
    progress(1.0, "done")
    return Export(output, manifest_path(output), manifest)


def export_for_download(
    *, study: Study, format: str, job_id: int, task: str = "annotation", progress: Progress = no_progress
) -> dict[str, Any]:
    """Export into the export folder; a rerun writes the same file."""
    chosen = format_named(format)
    path = _download_path(study.slug, job_id, chosen)
    path.parent.mkdir(parents=True, exist_ok=True)
    write = partial(export_judgments, study=study, format=format, output=path, task=task, progress=progress)
    try:
        exported = write(resume=True)  # another worker may have been killed over it
    except ExportError:
        exported = write()  # Quorum was updated meanwhile
    return {"file": path.name, "manifest_file": exported.manifest_path.name, "manifest": exported.manifest}


def remove_personal_files(*, study: Study, **_signal: Any) -> None:
    """Remove files with personal data once the study's raw ids are deleted."""
    personal = [file_format for file_format in FORMATS.values() if file_format.personal]
    jobs = Job.objects.filter(kind=JOB_KIND, args__study=study.slug)
    paths = [
        _download_path(study.slug, pk, file_format)
        for file_format in personal
        for pk in jobs.filter(args__format=file_format.name).values_list("pk", flat=True)
    ]
    transaction.on_commit(partial(_remove_files, paths))


def _remove_files(paths: list[Path]) -> None:
    for path in paths:
        remove_parts(path)
        path.unlink(missing_ok=True)
        manifest_path(path).unlink(missing_ok=True)


def _download_path(slug: str, job_id: int, chosen: Format) -> Path:
    return Path(settings.EXPORT_ROOT) / f"{slug}-{job_id}.{chosen.suffix}"


def remove_stopped_exports() -> list[str]:
    """Remove leftovers of failed or killed exports, reports and releases."""
    return remove_stale_files(Path(settings.EXPORT_ROOT), ".*.parts", ".*.part", ".*.old")


@dataclass(frozen=True, slots=True)
class Download:
    path: Path
    name: str
    content_type: str


def why_personal(chosen: Format) -> str:
    return f"The file format {chosen.name} holds personal data, for those who may change the study."


def exported_file(*, job: Job, by: User, manifest: bool = False) -> Download:
    """Return an export job's file or manifest.

    Raises:
        NotThere: there is none. PermissionDenied: the person may not read this format.
    """
    result = job.result or {}
    name = result.get("manifest_file" if manifest else "file")
    if job.kind != JOB_KIND or job.state != Job.State.DONE or not name:
        raise NotThere(_("Job %(pk)s is not a finished export.") % {"pk": job.pk})
    chosen = FORMATS.get(str(job.args["format"]))  # none: a file from before its format was dropped
    if (
        chosen
        and chosen.right != Right.VIEW
        and not has_right(by, chosen.right, find_study(str(job.args["study"])))
    ):
        raise PermissionDenied(why_personal(chosen))
    path = Path(settings.EXPORT_ROOT) / Path(str(name)).name
    if not path.is_file():
        raise NotThere(
            _("The file of export %(pk)s is not there any more; export the study again.") % {"pk": job.pk}
        )
    kind = "application/json" if manifest else chosen.content_type if chosen else "application/octet-stream"
    return Download(path=path, name=path.name, content_type=kind)


class FormatField(serializers.ChoiceField):
    """Accept a format's name; the error suggests the nearest."""

    def to_internal_value(self, data: Any) -> str:
        try:
            return format_named(str(data)).name
        except ExportError as error:
            raise serializers.ValidationError(str(error)) from None


class ExportRequest(Parameters):
    """What to export."""

    format = FormatField(choices=sorted(FORMATS))
    task = serializers.ChoiceField(
        choices=sorted(TASKS),
        required=False,
        help_text="qrels: an item asks for captions (annotation), or a caption for items (search).",
    )


@background_operation(
    "export", "Write a file", parameters=ExportRequest, job=JOB_KIND, scope="exports", once="never"
)
def start_export(*, study: Study, format: str, **task: str) -> dict[str, Any]:
    """Starts writing a study's judgments to a file; follow `state`, then download."""
    chosen, person = format_named(format), acting_person()
    if person is not None and not has_right(person, chosen.right, study):
        raise PermissionDenied(why_personal(chosen))
    check_fits(study, chosen)
    return {"format": format, **task}
