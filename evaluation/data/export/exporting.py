"""Export a study's judgments to a file, with a manifest, which describes the content of the file and its making.

A long file is written in parts, so that a stopped export can be resumed (``parts``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils import timezone

from common.files import FileProblem, HashedFile, check_writable_path, write_json
from evaluation.data.export.formats import TASKS, check_fits, format_named
from evaluation.data.export.formats.judgment_rows import timestamp
from evaluation.data.export.parts import (
    StartedExport,
    begin_parts,
    lock_output,
    make_request,
    remove_parts,
    write_in_parts,
)
from evaluation.data.judgment_sets.signatures import AS_IMPORTED
from evaluation.data.judgment_sets.tallies import VoteCounts
from evaluation.errors import ExportError
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.generation.progress import Progress, no_progress
from quorum.numeric.signatures import signature, versions

# Progress, from 0 to 1, when writing of the parts starts, and when the file is signed.
START_SHARE, SIGNING_SHARE = 0.02, 0.95


@dataclass(frozen=True, slots=True)
class ExportedFile:
    path: Path
    manifest_path: Path
    manifest: dict[str, Any]


def manifest_path_of(path: Path) -> Path:
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
) -> ExportedFile:
    """Write the judgments of ``study`` to ``output``, and a manifest to a file beside it (``manifest_path_of``).

    The file has the state of the study at the start of the export.

    Args:
        task: ``annotation`` or ``search``, for formats with a task (``Format.has_task``).
        revisions: whether to include answers that were revised later. They are marked as not used.
        resume: whether to continue a stopped export of the same file, with the snapshot that it took.

    Raises:
        ExportError: the format or task is unknown, the study is unsuitable, or a long transaction stores judgments.
        ServiceBusy: another export is writing the file.
        FileProblem: the path cannot be written.
    """
    export_format = format_named(format)
    if task not in TASKS:
        raise ExportError(f"There is no task {task!r}; expected one of {', '.join(TASKS)}.")
    check_fits(study, export_format)
    check_writable_path(output)
    progress(START_SHARE, f"writing {export_format.name}")
    encoding = export_format.encoding()
    request = make_request(study, format=export_format.name, task=task, revisions=revisions)
    with lock_output(output):
        started_export = begin_parts(study, output, encoding, request=request, resume=resume)

        def report(share: float, sentence: str) -> None:
            progress(START_SHARE + (SIGNING_SHARE - START_SHARE) * share, sentence)

        try:
            hashed_file, vote_counts = write_in_parts(started_export, encoding, output, progress=report)
        except (ExportError, FileProblem):  # remove the parts, because the disk may be full
            remove_parts(output)
            raise
        progress(SIGNING_SHARE, "signing")
        manifest = _manifest_of(study, request, started_export, output, hashed_file, vote_counts)
        write_json(manifest_path_of(output), manifest)
        remove_parts(output)
    sentence = f"The judgments were exported as {export_format.name}."
    note_event(
        study=study, what="exported", sentence=sentence, format=export_format.name, sha256=manifest["sha256"]
    )
    progress(1.0, "done")
    return ExportedFile(output, manifest_path_of(output), manifest)


def _manifest_of(
    study: Study,
    request: Mapping[str, Any],
    started_export: StartedExport,
    output: Path,
    hashed_file: HashedFile,
    vote_counts: VoteCounts,
) -> dict[str, Any]:
    """Return the manifest of a file that was written. ``request`` is that of ``make_request``."""
    design, snapshot = design_of(study), started_export.snapshot
    # Options that do not apply, or are not used, are left out, so that they do not change the signature.
    settings: dict[str, Any] = {"format": request["format"], "protocol": study.protocol}
    if format_named(request["format"]).has_task:
        settings["task"] = request["task"]
    if request["revisions"]:
        settings["revisions"] = "all"
    settings["controls"] = AS_IMPORTED if study.source == Study.Source.IMPORTED else design.controls.threshold
    access = design.access.model_copy(update={"code": ""})  # participants' code to join is secret
    return {
        "study": study.slug,
        "protocol": study.protocol,
        "dataset": design.dataset,
        "simulated": study.simulated,
        "format": request["format"],
        "file": output.name,
        "bytes": hashed_file.size,
        "sha256": hashed_file.hexdigest(),
        "judgments_sha256": vote_counts.data_hash,
        "counts": started_export.work.counts,
        "seed": design.seed,
        "design": design.model_copy(update={"access": access}).model_dump(mode="json"),
        "texts_read": snapshot.texts_read,  # the versions of consent and instructions that participants read
        "versions": versions(),
        "signature": signature("export", settings),
        "judgment_signature": str(snapshot.signature(vote_counts)),
        "as_of": timestamp(snapshot.moment.time),
        "created_at": timestamp(timezone.now()),
    }
