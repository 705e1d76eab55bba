"""The handlers of the platform's jobs about datasets, HITs and figures.

A handler finds rows by their ids, calls one service, and reports progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from common.audit import acting_person
from common.errors import WrongState
from judgments.access.dataset_roles import require_editor
from judgments.cached_figures import FIGURES_JOB, recompute_figures, store_figures
from judgments.datasets import pending_imports, uploads
from judgments.datasets.importing.base import ImportSummary
from judgments.datasets.importing.candidates import import_candidates
from judgments.datasets.importing.datasets import import_dataset
from judgments.datasets.importing.rankings import import_rankings
from judgments.datasets.scaling import is_scaled, scale_picture
from judgments.datasets.upload_parts import UploadPart
from judgments.importers import ColumnMapping
from judgments.jobs.runs import JobRun
from judgments.models import Item, Job
from judgments.studies.generation.hits import draw_hits, store_hits
from judgments.studies.studies import find_dataset, find_study


@contextmanager
def _open_upload_and_commit(
    run: JobRun, upload: str
) -> Iterator[tuple[uploads.UnpackedUpload, dict[str, Any]]]:
    """Open an upload, and the transaction that ends the job. Discard the upload when the job is done."""
    with uploads.open_upload(upload, run.progress) as files, run.commit() as result:
        yield files, result
    uploads.discard_upload(upload)


def import_dataset_upload(
    run: JobRun,
    *,
    upload: str,
    name: str,
    format: str = "",
    images: str = "",
    attribution: str = "",
    parts: Sequence[Mapping[str, Any]] = (),
    pictures: str | None = None,
) -> None:
    """Import an upload: all of its ``parts``, or one file in a format.

    Args:
        format: the format of the file; not used if there are parts.
        images: the base address of pictures that are not in the upload.
        parts: `UploadPart` as dicts. The first has people's captions of the dataset, and each other one a system's.
        pictures: the folder with pictures, relative to the root of the upload; None to use the folder in which the
            upload's pictures were detected.
    """
    user = acting_person()
    if user is None:  # a dataset without an owner would be public
        raise WrongState("Nothing was imported, because the account that started the job no longer exists.")
    with _open_upload_and_commit(run, upload) as (files, result):
        people_part, *system_parts = [UploadPart(**values) for values in parts] or [UploadPart(format=format)]
        job = Job.objects.get(pk=run.job_id)
        folder = files.pictures if pictures is None else str(files.root / pictures)
        path = files.root / people_part.file if people_part.file else files.path
        common_arguments: dict[str, Any] = {"user": user, "progress": run.progress}
        with pending_imports.storing_problems(job, path):
            summary = import_dataset(
                path=path,
                name=name,
                images=folder or images or None,
                attribution=attribution,
                **people_part.import_arguments,
                **common_arguments,
            )
        for part in system_parts:
            path = files.root / part.file
            with pending_imports.storing_problems(job, path):
                added_system = import_candidates(
                    path=path, dataset=name, system=part.system, **part.import_arguments, **common_arguments
                )
            summary = summary.with_system(added_system)
        summary.counts["systems"] = find_dataset(name).systems.count()
        result |= asdict(summary)


def understand_upload(
    run: JobRun,
    *,
    upload: str,
    uploaded: list[str],
    encoding: str,
    maps: dict[str, dict[str, Any]] | None = None,
) -> None:
    """Detect the contents of an upload: ``uploaded`` are the names of its files, ``maps`` column mappings by file."""
    inspection = uploads.inspect_stored_upload(upload, uploaded, encoding, run.progress, maps)
    with run.commit() as result:
        result["understood"] = asdict(inspection)


def _import_into(
    run: JobRun,
    import_file: Callable[..., ImportSummary],
    *,
    upload: str,
    dataset: str,
    **arguments: Any,
) -> None:
    """Import an upload into a dataset that the job's account may edit, by a service such as ``import_candidates``."""
    user = require_editor(acting_person(), find_dataset(dataset))
    job = Job.objects.get(pk=run.job_id)
    with (
        _open_upload_and_commit(run, upload) as (files, result),
        pending_imports.storing_problems(job, files.path),
    ):
        summary = import_file(path=files.path, dataset=dataset, user=user, progress=run.progress, **arguments)
        result |= asdict(summary)


def import_candidate_upload(
    run: JobRun, *, encoding: str = "", mapping: dict[str, Any] | None = None, **arguments: str
) -> None:
    """Import the captions of a system. ``mapping`` is a `ColumnMapping` as a dict.

    ``arguments`` are ``upload``, ``dataset`` and others of ``import_candidates``.
    """
    column_mapping = ColumnMapping.model_validate(mapping) if mapping else None
    _import_into(run, import_candidates, encoding=encoding or None, mapping=column_mapping, **arguments)


def import_ranking_upload(run: JobRun, *, format: str, encoding: str = "", **arguments: str) -> None:
    """Import ranked lists. ``format`` is the task of the lists: "annotation" or "search"."""
    _import_into(run, import_rankings, task=format, encoding=encoding or None, **arguments)


def scale_pictures(run: JobRun, *, dataset: str) -> None:
    """Scale the pictures that are not scaled yet. An interrupted job thus continues where it stopped."""
    items = list(find_dataset(dataset).items.exclude(picture="").only("picture", "scaled"))
    unscaled_items = [item for item in items if not is_scaled(item)]
    for done_count, item in enumerate(unscaled_items):
        run.progress(done_count / len(unscaled_items), f"{done_count:,} of {len(unscaled_items):,} pictures")
        picture = str(item.picture)
        # the filter by picture skips an item whose picture was replaced meanwhile
        Item.objects.filter(pk=item.pk, picture=picture).update(scaled=scale_picture(picture))
    with run.commit() as result:
        result |= {"pictures": len(items), "scaled": len(unscaled_items)}


def draw_hits_of_study(run: JobRun, *, study: str) -> None:
    """Generate the pages of work of the study with this slug."""
    study_row = find_study(study)
    batch = draw_hits(study=study_row, progress=run.progress)
    with run.commit() as result:
        store_hits(study=study_row, batch=batch, progress=run.progress)
        result |= {"HITs": len(batch.hits), "units": batch.unit_count, "control items": batch.control_count}


def compute_figures(run: JobRun, *, study: str, names: list[str]) -> None:
    """Compute the named figures of a large study, and delete the study's earlier jobs of this kind."""
    rows = recompute_figures(find_study(study), names)
    with run.commit():
        store_figures(rows)
        old_jobs = Job.objects.filter(kind=FIGURES_JOB, args__study=study, state=Job.State.DONE)
        old_jobs.exclude(pk=run.job_id).delete()
