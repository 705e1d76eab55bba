"""Exports that were stopped and go on: the finished file is that of an export that was not."""

import io
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from annotation.models import Judgment
from common import commands
from common.errors import ServiceBusy
from common.files import FileProblem
from evaluation.data.export import parts
from evaluation.data.export.downloads import export_for_download, remove_stopped_exports
from evaluation.data.export.exporting import export_judgments, manifest_path_of
from evaluation.data.releases.erasure import remove_written_files
from evaluation.errors import ExportError
from judgments.models import Job
from judgments.studies.generation.progress import Progress
from tests.evaluation.each_format import FORMS, PARTS, UNITS_PER_PART, study_for
from tests.evaluation.studies import StudyOf, make_dataset
from tests.installations import Installation, Installations
from tests.marks import long_except
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
WRITTEN = {"as_of": "", "created_at": "", "file": ""}
# Those that join their parts in a way of their own; all others join them as jsonl does.
JOINED_DIFFERENTLY = ("jsonl", "csv", "parquet", "captions", "reliability", "mtme")


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> StudyOf:
    """One that the format of the test can hold, in several parts."""
    monkeypatch.setattr(parts, "UNITS_PER_PART", UNITS_PER_PART)
    return study_for(
        request.node.callspec.params.get("form", "jsonl") if hasattr(request.node, "callspec") else "jsonl"
    )


class Stopped(BaseException):
    """What stops an export in the middle, as a signal does."""


def stop_after(times: int) -> Progress:
    """A progress report that stops the work after so many calls."""
    calls = iter(range(times))

    def report(share: float, words: str = "") -> None:
        if next(calls, None) is None:
            raise Stopped

    return report


def written(path: Path) -> list[Path]:
    """The files that a stopped export left: parts, what is hashed of them, and their counts."""
    (folder,) = (one for one in parts.parts_folder(path).iterdir() if one.is_dir())
    return sorted(folder.iterdir())


def part_of(path: Path, name: str) -> Path:
    return written(path)[0].with_name(name)


@pytest.mark.long
@pytest.mark.parametrize(
    "form",
    long_except(FORMS, *JOINED_DIFFERENTLY),
)
def test_a_stopped_export_goes_on_and_gives_the_same_file(form: str, study: StudyOf, tmp_path: Path) -> None:
    told: list[tuple[float, str]] = []

    def report(share: float, words: str = "") -> None:
        told.append((share, words))

    whole = export_judgments(study=study.study, format=form, output=tmp_path / "whole", progress=report)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert told[-1] == (1.0, "done")
    rates = [words for _, words in told if words.endswith(" a second")]
    assert len(rates) == PARTS[form] < len(set(shares))
    assert all(words[0].isdigit() for words in rates)
    path = tmp_path / "stopped"
    # in a part, before the parts are joined, and before the file is signed
    for calls in (1, 2, PARTS[form], PARTS[form] + 1, PARTS[form] + 2):
        with pytest.raises(Stopped):
            export_judgments(study=study.study, format=form, output=path, progress=stop_after(calls))
        assert path.exists() == (calls == PARTS[form] + 2)
        assert not manifest_path_of(path).exists()
        assert len(written(path)) >= 3 * min(calls, PARTS[form])
        made = export_judgments(study=study.study, format=form, output=path, resume=True)
        assert path.read_bytes() == (tmp_path / "whole").read_bytes()
        assert made.manifest | WRITTEN == whole.manifest | WRITTEN
        assert not parts.parts_folder(path).exists()
        path.unlink()
        manifest_path_of(path).unlink()


def test_the_page_of_a_job_says_how_far_it_is(study: StudyOf, admin_client: Client) -> None:
    now = timezone.now()
    job = Job.objects.create(
        kind="export", state="running", args={"study": study.study.slug, "format": "jsonl"}, owner="a worker",
        progress=0.25, words="6 judgments, 500 a second", started_at=now, heartbeat=now,
    )  # fmt: skip
    page = admin_client.get(reverse("admin:judgments_job_change", args=[job.pk])).content.decode()
    assert 'value="0.250"' in page
    assert job.words in page


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_a_bar_and_a_file_none(
    terminal: bool, study: StudyOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(commands, "SECONDS_BEFORE_BAR", -1.0)
    stream = Stream()
    monkeypatch.setattr(sys, "stderr", stream)
    path = tmp_path / "out.jsonl"
    call_command("export_judgments", study.study.slug, "--format", "jsonl", "--output", str(path))
    shown = stream.getvalue()
    if terminal:
        assert "100%" in shown
    else:
        assert shown == ""


def test_parts_that_are_there_are_not_read_from_the_database_again(study: StudyOf, tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        export_judgments(study=study.study, format="jsonl", output=path, progress=stop_after(3))
    part_of(path, "000001.jsonl").write_text('{"kept": true}\n', encoding="utf-8")
    export_judgments(study=study.study, format="jsonl", output=path, resume=True)
    assert path.read_text(encoding="utf-8").startswith('{"kept": true}\n')


def test_a_part_that_nothing_is_said_of_is_written_again(study: StudyOf, tmp_path: Path) -> None:
    whole = export_judgments(study=study.study, format="jsonl", output=tmp_path / "whole")
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        export_judgments(study=study.study, format="jsonl", output=path, progress=stop_after(3))
    part_of(path, "000003.jsonl").write_text("half", encoding="utf-8")
    part_of(path, "000003.json").unlink()
    made = export_judgments(study=study.study, format="jsonl", output=path, resume=True)
    assert made.manifest["sha256"] == whole.manifest["sha256"]


def test_parts_made_for_something_else_are_refused_and_written_anew_without_resume(
    study: StudyOf, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        export_judgments(study=study.study, format="jsonl", output=path, progress=stop_after(3))
    for other in ({"format": "csv"}, {"format": "jsonl", "revisions": True}):
        with refuses(ExportError, "--resume"):
            export_judgments(study=study.study, output=path, resume=True, **other)
    made = export_judgments(study=study.study, format="csv", output=path)
    assert made.manifest["counts"]["judgments"] == 27


def test_an_export_that_cannot_be_written_leaves_nothing_on_the_disk(study: StudyOf, tmp_path: Path) -> None:
    """A folder is in the way of a part."""

    def in_the_way(share: float, words: str = "") -> None:
        if words.endswith(" a second"):
            part_of(tmp_path / "out", "000003.jsonl").mkdir(exist_ok=True)

    with pytest.raises(FileProblem, match="file"):
        export_judgments(study=study.study, format="jsonl", output=tmp_path / "out", progress=in_the_way)
    assert list(tmp_path.iterdir()) == []


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
    assert len(written(tmp_path / f"{study.study.slug}-7.csv")) == 3 * 3
    seen: list[float] = []

    def report(share: float, words: str = "") -> None:
        seen.append(share)

    again(progress=report)
    assert len(seen) == 1 + 2 + 1 + 1 + 1  # begun, the missing parts, joined, signing, done
    whole = export_judgments(study=study.study, format="csv", output=tmp_path / "whole")
    assert (tmp_path / f"{study.study.slug}-7.csv").read_bytes() == whole.path.read_bytes()


def test_what_nobody_goes_on_with_is_gone_after_a_day(
    study: StudyOf, tmp_path: Path, settings: Settings
) -> None:
    settings.EXPORT_ROOT = tmp_path
    for number in (7, 8):
        with pytest.raises(Stopped):
            export_for_download(study=study.study, format="csv", job_id=number, progress=stop_after(3))
    export_for_download(study=study.study, format="csv", job_id=9)
    (fresh, left) = (parts.parts_folder(tmp_path / f"{study.study.slug}-{number}.csv") for number in (7, 8))
    for path in (left, *left.rglob("*"), *tmp_path.glob("*-9.*")):
        os.utime(path, (0, 0))
    assert remove_stopped_exports() == [left.name]
    assert {path.name for path in tmp_path.glob(".*")} == {fresh.name}
    assert len(list(tmp_path.glob("*-9.*"))) == 2
    remove_written_files(f"{study.study.slug}-7")  # as where its job is cancelled, or somebody erased
    assert not fresh.exists()


@pytest.mark.parametrize("resume", [False, True])
def test_two_exports_of_one_file_do_not_mix_their_parts(resume: bool, study: StudyOf, tmp_path: Path) -> None:
    whole = export_judgments(study=study.study, format="jsonl", output=tmp_path / "whole")
    path, refused = tmp_path / "out", []

    def another(share: float, words: str = "") -> None:
        if words.startswith("writing") or words == "done":
            return  # before it begins and after its end nothing is in the way of another one
        try:
            export_judgments(study=study.study, format="csv", output=path, resume=resume)
        except ServiceBusy as error:
            refused.append(str(error))

    made = export_judgments(study=study.study, format="jsonl", output=path, progress=another)
    assert set(refused) == {f"{path} is being written by another export; wait until it is done."}
    assert len(refused) > PARTS["jsonl"]
    assert made.manifest["sha256"] == whole.manifest["sha256"]
    assert path.read_bytes() == (tmp_path / "whole").read_bytes()
    assert not parts.parts_folder(path).exists()


@pytest.mark.parametrize("removed", long_except([0, 1, 2, 5], 0, 2))
def test_an_export_that_was_killed_while_it_cleaned_up_begins_anew(
    removed: int, study: StudyOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a few parts gone, the others are not taken for all."""
    whole = export_judgments(study=study.study, format="jsonl", output=tmp_path / "whole")
    path = tmp_path / "out"
    with pytest.raises(Stopped):
        export_judgments(
            study=study.study, format="jsonl", output=path, progress=stop_after(PARTS["jsonl"] + 2)
        )
    unlink, left = os.unlink, iter(range(removed))

    def killed(*which: Any, **where: Any) -> None:
        if next(left, None) is None:
            raise Stopped
        unlink(*which, **where)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", killed)
        with pytest.raises(Stopped):
            parts.remove_parts(path)
    made = export_judgments(study=study.study, format="jsonl", output=path, resume=True)
    assert made.manifest["sha256"] == whole.manifest["sha256"]
    assert not parts.parts_folder(path).exists()


def test_a_study_without_units_gives_a_table_with_its_header(tmp_path: Path) -> None:
    study = StudyOf(make_dataset("toy", {"a.jpg": ["a dog"]}), "relevance").study
    export_judgments(study=study, format="csv", output=tmp_path / "out.csv")
    (header,) = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert header.startswith("study,unit,")


def test_a_refused_export_leaves_no_folder(study: StudyOf, tmp_path: Path) -> None:
    path = tmp_path / "out"
    Judgment._base_manager.update(set_aside=True)
    with pytest.raises(ExportError):
        export_judgments(study=study.study, format="mtme", output=path)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal
from pathlib import Path
from evaluation.data.export import parts
from evaluation.data.export.exporting import export_judgments
from common.files import HashedFile
from judgments.studies.studies import find_study
parts.UNITS_PER_PART = {units}
write, left = HashedFile.write, [{writes}]
def counting(self, data):
    if left[0] == 0:
        write(self, data[: len(data) // 2])
        self.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return write(self, data)
HashedFile.write = counting
export_judgments(study=find_study("{slug}"), format="{form}", output=Path("{path}"), resume={resume})
"""
MADE = """
from tests.evaluation.each_format import study_for
print(study_for("{form}", "{form}").study.slug)
"""


@pytest.fixture(scope="module")
def installation(installations: Installations) -> Iterator[Installation]:
    with installations.fresh("sqlite") as made:
        yield made


@pytest.mark.long
@pytest.mark.parametrize("form", long_except(JOINED_DIFFERENTLY, "jsonl"))
def test_an_export_that_is_killed_over_and_over_gives_the_same_file(
    form: str, installation: Installation, tmp_path: Path
) -> None:
    """Killed with half of what it was writing on the disk: in a part, in what is said of it, or in the file itself."""
    values = {"slug": installation.python(MADE.format(form=form)), "form": form, "units": UNITS_PER_PART}
    whole, path = tmp_path / "whole", tmp_path / "killed"
    installation.python(KILLED.format(writes=-1, path=whole, resume=False, **values))
    kills, writes = 0, 1
    while not manifest_path_of(path).exists():
        assert writes < 1 << 20, "it never comes to its end"
        try:
            installation.python(KILLED.format(writes=writes, path=path, resume=True, **values))
        except AssertionError:
            kills += 1
        writes *= 2
    assert kills > 2
    assert path.read_bytes() == whole.read_bytes()
