"""Small judged studies, their reports as the command and the page make them, and the files of release bundles."""

import hashlib
import html
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from common.files import indented_json
from evaluation.data.export.exporting import export_judgments
from evaluation.data.releases.bundle import CHECKSUMS, MANIFEST
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.reports.releases.making import release_study
from judgments.jobs.claims import run_job
from judgments.models import Job, Study
from tests.evaluation.studies import StudyOf, make_dataset, pets_judged

IMAGES = {
    "a.jpg": ["A dog runs on grass .", "A brown dog is running .", "The dog runs ."],
    "b.jpg": ["A cat sleeps on a chair .", "A sleeping cat .", "The cat is on a chair ."],
}

PETS = {"a.jpg": "dog", "b.jpg": "cat"}


def pairwise() -> StudyOf:
    """Two pairs judged by three people each: metrics are right on the first and wrong on the second."""
    return pets_judged(IMAGES, [1, 2, 1])


def graded() -> StudyOf:
    """Four captions with three grades each."""
    made = StudyOf(make_dataset("pets", IMAGES), "graded")
    units = [
        made.unit("u1", "a.jpg", first="A dog runs on the grass"),
        made.unit("u2", "a.jpg", first="Blue cars ahead"),
        made.unit("u3", "b.jpg", first="A cat sleeps on the chair"),
        made.unit("u4", "b.jpg", first="A chair"),
    ]
    hit = made.hit("h1", units)
    for name, values in (("w-1", [4, 1, 4, 2]), ("w-2", [4, 1, 3, 2]), ("w-3", [3, 1, 4, 3])):
        made.answer(hit, name, values)
    return made


@contextmanager
def rolled_back(blocker: Any) -> Iterator[None]:
    """A transaction for a module's fixture, of which nothing stays in the database: what it made is files."""
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def written(study: Study, folder: Path, **options: Any) -> dict[str, bytes]:
    """Name -> bytes of what the command writes."""
    call_command("report", study.slug, "--output", str(folder), **options)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def words(response: Any) -> str:
    text = re.sub(r"<(script|style|svg).*?</\1>|<[^>]+>", " ", response.content.decode(), flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(text))


def address(study: Study, name: str = "report") -> str:
    return reverse(f"admin:judgments_study_{name}", args=[study.pk])


def make_report(client: Client, study: Study) -> None:
    """As the page does it."""
    client.post(reverse("admin:judgments_study_do", args=[study.pk, "make-report"]))
    run_report_job()


def run_report_job() -> None:
    job = Job.objects.get(kind="report")
    assert run_job(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error


def contents(path: Path) -> dict[str, bytes]:
    """File of a bundle -> its bytes."""
    with ZipFile(path) as bundle:
        return {name: bundle.read(name) for name in bundle.namelist()}


def lines(data: bytes) -> list[dict[str, Any]]:
    """Rows of a file of JSON lines."""
    return [json.loads(line) for line in data.splitlines()]


def exported(study: Study, path: Path, form: str = "jsonl", **options: Any) -> list[dict[str, Any]]:
    """The rows of an export; of another format than JSON lines none."""
    export_judgments(study=study, format=form, output=path, **options)
    return lines(path.read_bytes()) if form == "jsonl" else []


def sum_again(files: dict[str, bytes]) -> None:
    """Make the checksums of a bundle's files again."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != CHECKSUMS}
    files[CHECKSUMS] = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())).encode()


def rewrite(path: Path, change: Callable[[dict[str, bytes]], Any], *, hashed: bool = False) -> None:
    """Change the files of a bundle; ``hashed``: make their hashes again, in the manifest, too."""
    files = contents(path)
    change(files)
    if hashed:
        manifest = json.loads(files[MANIFEST])
        stated = manifest["files"]
        for name in stated.keys() & files.keys():
            digest = hashlib.sha256(files[name]).hexdigest()
            stated[name] |= {"sha256": digest, "bytes": len(files[name])}
        manifest["files"] = {name: file for name, file in stated.items() if name in files}
        files[MANIFEST] = f"{indented_json(manifest)}\n".encode()
        sum_again(files)
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=1) as bundle:
        for name, data in files.items():
            bundle.writestr(name, data)


def released(study: Study, path: Path, version: str = "1.0") -> Path:
    release_study(study=study, terms=ReleaseTerms(version, "CC0-1.0"), output=path, salt=b"not a secret here")
    return path


def rewritten(path: Path, name: str, value: Any, *, without: tuple[str, ...] = ()) -> None:
    """The bundle with another content of one file and without some, whose hashes fit again."""

    def change(files: dict[str, bytes]) -> None:
        files[name] = json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"
        for gone in without:
            del files[gone]

    rewrite(path, change, hashed=True)
