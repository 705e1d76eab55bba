"""Exports that were stopped and go on: the finished file is that of an export that was not."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from evaluation.errors import ExportError
from evaluation.export import parts
from evaluation.services import export_judgments
from evaluation.services.exports import export_for_download
from judgments.services.generation import Progress
from tests.evaluation.studies import StudyOf, make_dataset
from tests.installations import Installation

pytestmark = pytest.mark.django_db
FORMS = ["jsonl", "csv", "parquet", "qrels", "flickr8k"]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> StudyOf:
    """Nine units, three workers, of whom one revised an answer; two units a part."""
    monkeypatch.setattr(parts, "UNITS_A_PART", 2)
    made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog runs"], "b.jpg": ["a cat"]}), "relevance")
    hit = made.hit("h1", [made.unit(f"u{place}", "a.jpg", first=f"text {place}") for place in range(9)])
    for number, worker in enumerate(("zoe", "bela", "Ärni")):
        made.answer(hit, worker, [(place + number) % 2 for place in range(9)])
    return made


class Stopped(BaseException):
    """What stops an export in the middle, as a signal does."""


def stop_after(times: int) -> Progress:
    """A progress report that stops the work after so many calls."""
    calls = iter(range(times))

    def report(share: float, words: str = "") -> None:
        if next(calls, None) is None:
            raise Stopped

    return report


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("calls", [1, 2, 4, 6])
def test_a_stopped_export_goes_on_and_gives_the_same_file(
    form: str, calls: int, study: StudyOf, tmp_path: Path
) -> None:
    whole = export_judgments(study=study.study, format=form, output=tmp_path / "whole")
    path = tmp_path / "stopped"
    with pytest.raises(Stopped):
        export_judgments(study=study.study, format=form, output=path, progress=stop_after(calls))
    assert not path.exists()
    before = sorted(part.name for part in parts.parts_folder(path).iterdir())
    made = export_judgments(study=study.study, format=form, output=path, resume=True)
    assert len(before) == 1 + 2 * min(calls, 5)  # the state, and a part with what is said of it for each call
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    times = {"as_of": "", "created_at": "", "file": ""}
    assert made.manifest | times == whole.manifest | times
    assert not parts.parts_folder(path).exists()


def test_parts_that_are_there_are_not_read_from_the_database_again(study: StudyOf, tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        export_judgments(study=study.study, format="jsonl", output=path, progress=stop_after(3))
    part = parts.parts_folder(path) / "000001.jsonl"
    part.write_text('{"kept": true}\n', encoding="utf-8")
    export_judgments(study=study.study, format="jsonl", output=path, resume=True)
    assert path.read_text(encoding="utf-8").startswith('{"kept": true}\n')


def test_a_part_that_nothing_is_said_of_is_written_again(study: StudyOf, tmp_path: Path) -> None:
    whole = export_judgments(study=study.study, format="jsonl", output=tmp_path / "whole")
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        export_judgments(study=study.study, format="jsonl", output=path, progress=stop_after(3))
    (parts.parts_folder(path) / "000003.jsonl").write_text("half", encoding="utf-8")
    (parts.parts_folder(path) / "000003.json").unlink()
    made = export_judgments(study=study.study, format="jsonl", output=path, resume=True)
    assert made.manifest["sha256"] == whole.manifest["sha256"]


def test_parts_made_for_something_else_are_refused_and_written_anew_without_resume(
    study: StudyOf, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        export_judgments(study=study.study, format="jsonl", output=path, progress=stop_after(3))
    for other in ({"format": "csv"}, {"format": "jsonl", "revisions": True}):
        with pytest.raises(ExportError, match="of another study, format or version; export without --resume"):
            export_judgments(study=study.study, output=path, resume=True, **other)
    made = export_judgments(study=study.study, format="csv", output=path)
    assert made.manifest["counts"]["judgments"] == 27


def test_with_nothing_to_go_on_with_the_command_begins(study: StudyOf, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    call_command("export_judgments", study.study.slug, "--format", "jsonl", "--output", str(path), "--resume")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 27
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.jsonl", "out.jsonl.manifest.json"]


def test_a_job_goes_on_where_a_killed_worker_was(study: StudyOf, tmp_path: Path, settings: Settings) -> None:
    settings.EXPORT_ROOT = tmp_path
    again = partial(export_for_download, study=study.study, format="csv", job_id=7)
    with pytest.raises(Stopped):
        again(progress=stop_after(3))
    folder = parts.parts_folder(tmp_path / f"{study.study.slug}-7.csv")
    written = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    seen: list[float] = []

    def report(share: float, words: str = "") -> None:
        seen.append(share)

    again(progress=report)
    assert len(written) == 7
    assert len(seen) == 1 + 2 + 3  # begun, the two parts that were missing, joined, signed, done
    whole = export_judgments(study=study.study, format="csv", output=tmp_path / "whole")
    assert (tmp_path / f"{study.study.slug}-7.csv").read_bytes() == whole.path.read_bytes()


def test_counts_go_on_as_well(study: StudyOf, tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        export_judgments(study=study.study, format="jsonl", output=path, progress=stop_after(2))
    said = json.loads((parts.parts_folder(path) / "000002.json").read_text(encoding="utf-8"))
    assert said["counts"]["judgments"] == 12
    made = export_judgments(study=study.study, format="jsonl", output=path, resume=True)
    assert made.manifest["counts"]["judgments"] == 27


KILLED = """
import os, signal, sys
from pathlib import Path
from evaluation.export import parts
from evaluation.services import export_judgments
from judgments.services.studies import find_study
parts.UNITS_A_PART = 2
calls = iter(range(int({calls})))
def report(share, words=""):
    if next(calls, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
export_judgments(
    study=find_study("toy-relevance"), format="{form}", output=Path("{path}"), resume={resume}, progress=report
)
"""
MADE = """
from tests.evaluation.studies import StudyOf, make_dataset
made = StudyOf(make_dataset("toy", {"a.jpg": ["a dog runs"]}), "relevance")
hit = made.hit("h1", [made.unit(f"u{place}", "a.jpg", first=f"text {place}") for place in range(9)])
for worker in ("zoe", "bela"):
    made.answer(hit, worker, [1] * 9)
"""


@pytest.mark.parametrize("form", FORMS)
def test_an_export_that_is_killed_over_and_over_gives_the_same_file(
    form: str, installation_on: Callable[[str], Installation], tmp_path: Path
) -> None:
    installation = installation_on("sqlite")
    installation.python(MADE)
    whole, path = tmp_path / "whole", tmp_path / "killed"
    installation.python(KILLED.format(calls=99, form=form, path=whole, resume=False))
    for calls in (2, 2, 1):
        with pytest.raises(AssertionError):
            installation.python(KILLED.format(calls=calls, form=form, path=path, resume=True))
        assert not path.exists()
    installation.python(KILLED.format(calls=99, form=form, path=path, resume=True))
    assert path.read_bytes() == whole.read_bytes()
