"""A study's judgments as a file with a manifest beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from annotation.models import Assignment
from evaluation.errors import ExportError
from evaluation.export.formats import TASKS, Format, Options, check_fits, format_named
from evaluation.export.parts import drop_parts, state_of, write_in_parts, written_parts
from evaluation.export.rows import JudgmentRows, timestamp
from evaluation.judgment_signature import signature_of_study
from evaluation.loaders import hash_of_judgments
from evaluation.provenance import signature, versions
from judgments.design import StudyDesign
from judgments.errors import NotThere
from judgments.files import HashedFile, check_place, whole_file, write_json
from judgments.models import Job, Study
from judgments.services.events import note_event
from judgments.services.generation import Progress, no_progress
from judgments.services.studies import design_of

JOB_KIND = "export"


@dataclass(frozen=True, slots=True)
class Export:
    """A file that was written, its manifest's path and content."""

    path: Path
    manifest_path: Path
    manifest: dict[str, Any]


def manifest_path(path: Path) -> Path:
    """PATH.manifest.json."""
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
    """Write the judgments of ``study`` to ``output``, and ``output``.manifest.json beside it.

    Args:
        format: one of ``evaluation.export.formats.FORMATS``.
        task: qrels only: ``annotation`` asks with images, ``search`` with captions.
        revisions: jsonl, csv and parquet: answers that their workers revised are written as well, as unused ones.
        resume: jsonl, csv and parquet: go on with what a stopped export of the same judgments left beside the file.

    Raises:
        ExportError: no such format or task, a study that the format cannot hold, a path that cannot be written.
    """
    chosen = format_named(format)
    if task not in TASKS:
        raise ExportError(f"There is no task {task!r}; expected one of {', '.join(TASKS)}.")
    check_fits(study, chosen)
    check_place(output)
    progress(0.05, f"writing {chosen.name}")
    design = design_of(study)
    if chosen.write is None:
        file, counts, data_hash = _in_parts(
            study, output, chosen, revisions=revisions, resume=resume, progress=progress
        )
    else:
        with whole_file(output) as file:
            counts = chosen.write(study, file, Options(task=task, revisions=revisions))
        data_hash = ""
    how: dict[str, Any] = {"format": chosen.name, "protocol": study.protocol}
    if chosen.name == "qrels":
        how["task"] = task
    if revisions:
        how["revisions"] = "all"
    how["controls"] = "as-imported" if study.source == Study.Source.IMPORTED else design.controls.threshold
    manifest = {
        "study": study.slug,
        "protocol": study.protocol,
        "dataset": design.dataset,
        "simulated": study.simulated,
        "format": chosen.name,
        "file": output.name,
        "bytes": file.size,
        "sha256": file.hexdigest(),
        "judgments_sha256": data_hash or hash_of_judgments(study),
        "counts": counts,
        "seed": design.seed,
        "design": _shareable(design),
        "texts_read": _texts_read(study),
        "versions": versions(),
        "signature": signature("export", how),
        "judgment_signature": str(signature_of_study(study)),
        "created_at": timestamp(timezone.now()),
    }
    write_json(manifest_path(output), manifest)
    drop_parts(output)
    words = f"The judgments were exported as {chosen.name}."
    note_event(study=study, what="exported", words=words, format=chosen.name, sha256=manifest["sha256"])
    progress(1.0, "done")
    return Export(output, manifest_path(output), manifest)


def _in_parts(
    study: Study, output: Path, chosen: Format, *, revisions: bool, resume: bool, progress: Progress
) -> tuple[HashedFile, dict[str, int], str]:
    assert chosen.encoding is not None  # a format is written at once or in parts
    encoding = chosen.encoding()
    counts, data_hash = write_in_parts(
        JudgmentRows(study, revisions=revisions),
        output,
        encoding,
        state=state_of(study, format=chosen.name, revisions=revisions),
        resume=resume,
        progress=progress,
    )
    progress(0.92, f"joining {chosen.name}")
    with whole_file(output) as file:
        encoding.join(study, written_parts(output, encoding.suffix), file)
    return file, counts, data_hash


def _texts_read(study: Study) -> list[dict[str, Any]]:
    """Which consent text and which instructions finished work was done by, as hashes; the texts are in the design."""
    work = (
        Assignment.objects.filter(study=study).finished().order_by("consent_version", "instructions_version")
    )
    rows = work.values("consent_version", "instructions_version").annotate(assignments=Count("pk"))
    return [dict(row) for row in rows]


def _shareable(design: StudyDesign) -> dict[str, Any]:
    """The design without the code that lets people join: a manifest goes where the data goes."""
    access = design.access.model_copy(update={"code": ""})
    return design.model_copy(update={"access": access}).model_dump(mode="json")


def export_for_download(
    *, study: Study, format: str, job_id: int, task: str = "annotation", progress: Progress = no_progress
) -> dict[str, Any]:
    """Export into the export folder under a name of the job's own; a job that runs again writes the same file.

    Returns:
        ``{"file", "manifest_file", "manifest"}``: the job's result; ``exported_file`` finds the file from it.
    """
    chosen = format_named(format)
    folder = Path(settings.EXPORT_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{study.slug}-{job_id}.{chosen.suffix}"
    ask = partial(export_judgments, study=study, format=format, output=path, task=task, progress=progress)
    try:
        made = ask(resume=True)  # another worker may have been killed over it
    except ExportError:
        made = ask()  # the judgments are others by now
    return {"file": path.name, "manifest_file": made.manifest_path.name, "manifest": made.manifest}


@dataclass(frozen=True, slots=True)
class Download:
    """A file that staff may download: where it is, what to call it, what it is."""

    path: Path
    name: str
    content_type: str


def exported_file(*, job: Job, manifest: bool = False) -> Download:
    """The file, or the manifest, that an export job wrote.

    Raises:
        NotThere: the job is no finished export, or its file was removed.
    """
    result = job.result or {}
    name = result.get("manifest_file" if manifest else "file")
    if job.kind != JOB_KIND or job.state != Job.State.DONE or not name:
        raise NotThere(f"Job {job.pk} is no finished export.")
    path = Path(settings.EXPORT_ROOT) / Path(str(name)).name
    if not path.is_file():
        raise NotThere(f"The file of export {job.pk} is not there any more; export the study again.")
    kind = "application/json" if manifest else format_named(str(job.args["format"])).content_type
    return Download(path=path, name=path.name, content_type=kind)
