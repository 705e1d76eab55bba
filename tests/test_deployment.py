"""What an administrator gets: backups that can be restored, pinned packages, and what docs/security.md promises."""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.checks import PINNED_REQUIREMENTS
from tests.installations import ROOT, Installation, Installations

FILL = """
from tests.annotation.casting import make_dataset, make_study
from tests.annotation.voting import always_first, joined, work
study = make_study(make_dataset(), question="Which is closer?")
for name in ("ada", "bob", "cyd"):
    work(study, joined(study, name), always_first)
print(study.slug)
"""


@pytest.fixture
def two(installations: Installations, database: str) -> Iterator[list[Installation]]:
    with ExitStack() as stack:
        yield [stack.enter_context(installations.fresh(database)) for _ in range(2)]


def back_up(installation: Installation, target: Path) -> Path:
    done = subprocess.run(
        [str(ROOT / "deploy" / "backup"), str(target)],
        env=installation.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def restore(backup: Path, installation: Installation) -> None:
    """As docs/install.md says."""
    shutil.copytree(backup / "data", installation.folder, dirs_exist_ok=True)
    if installation.env["DATABASE_URL"]:
        subprocess.run(
            ["pg_restore", "--clean", "--if-exists", "--no-owner", "--exit-on-error",
             f"--dbname={installation.env['DATABASE_URL']}", str(backup / "quorum.dump")],
            check=True,
        )  # fmt: skip
    else:
        shutil.copyfile(backup / "quorum.sqlite3", installation.folder / "quorum.sqlite3")


def test_a_backup_restored_elsewhere_gives_the_same_bytes(two: list[Installation], tmp_path: Path) -> None:
    here, there = two
    slug = here.python(FILL).splitlines()[-1]

    def export(installation: Installation) -> bytes:
        path = tmp_path / "judgments.jsonl"
        installation.manage("export_judgments", slug, "--format", "jsonl", "--output", str(path))
        return path.read_bytes()

    backup = back_up(here, tmp_path / "backups")
    first = export(here)
    assert first.count(b"\n") > 20
    restore(backup, there)
    assert export(there) == first
    assert there.manage("check_integrity").endswith("nothing broken.")
    pictures = {path.relative_to(here.folder) for path in (here.folder / "media").rglob("*.*")}
    assert pictures
    assert {path.relative_to(there.folder) for path in (there.folder / "media").rglob("*.*")} == pictures
    assert [
        path for path in (backup, *backup.glob("quorum.*")) if stat.S_IMODE(path.stat().st_mode) & 0o077
    ] == []


@pytest.mark.parametrize("empty", [False, True])
def test_a_backup_without_a_database_fails_and_leaves_nothing(tmp_path: Path, *, empty: bool) -> None:
    data, target = tmp_path / "data", tmp_path / "backups"
    data.mkdir()
    if empty:
        (data / "quorum.sqlite3").touch()
    done = subprocess.run(
        [str(ROOT / "deploy" / "backup"), str(target)],
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(data)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith(f"There is no database at {data}/quorum.sqlite3;")
    assert list(target.iterdir()) == []
    assert (data / "quorum.sqlite3").exists() == empty


def test_what_is_asked_for_is_what_is_pinned() -> None:
    pinned = dict(
        re.findall(
            r"^([a-z0-9._-]+)==([^ ]+) (?:; .+ )?\\\n    --hash=sha256:",
            (ROOT / PINNED_REQUIREMENTS).read_text(),
            re.M,
        )
    )
    asked = [
        Requirement(line) for line in (ROOT / "requirements.txt").read_text().splitlines() if line[0] != "#"
    ]
    assert [
        str(one) for one in asked if not one.specifier.contains(pinned.get(canonicalize_name(one.name), "0"))
    ] == []
    installed = [one for one in distributions() if canonicalize_name(one.name) in pinned]
    needed = {canonicalize_name(Requirement(line).name) for one in installed for line in one.requires or []}
    assert pinned.keys() - needed - {canonicalize_name(one.name) for one in asked} == set()


def test_every_threat_has_a_test() -> None:
    """And every test that docs/security.md names for a promise is there."""
    promises = (ROOT / "docs/security.md").read_text().partition("\n## Promises\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| .+ \| (.+) \|$", promises, re.M)[2:]
    named = {
        promise: re.findall(r"`((?:tests|contrib/\w+/tests)/[^`:]+)(?:::(\w+))?`", tests)
        for promise, tests in rows
    }
    assert len(named) > 25
    assert [promise for promise, tests in named.items() if not tests] == []
    for file, test in (one for tests in named.values() for one in tests):
        assert f"def {test}" in (ROOT / file).read_text(), (file, test)


@pytest.mark.long
def test_two_first_starts_at_once_set_everything_up_once(installations: Installations) -> None:
    with installations.fresh("sqlite") as installation:
        installation.env |= {
            "DATA_DIR": str(installation.folder / "new"),
            "STATIC_ROOT": str(installation.folder / "static"),
        }
        both = [
            installation.start("manage", "prepare", "--no-demo", log=f"prepare-{number}.log")
            for number in range(2)
        ]
        for process in both:
            process.join()
        logs = [(installation.folder / f"prepare-{number}.log").read_text() for number in range(2)]
    assert [process.exitcode for process in both] == [0, 0], logs
    assert sum("Collecting static files" in log for log in logs) == 1
    assert sum("The admin account admin is there" in log for log in logs) == 1
