"""A backup is restored elsewhere and gives the same bytes; nobody but its owner can read it."""

from __future__ import annotations

import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

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
