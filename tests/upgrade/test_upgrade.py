"""A database that Quorum 0.5.0 left, with what 0.5.0 exported of it, is upgraded; an older one is refused.

`sqlite/` and `postgresql/` hold dumps of 0.5.0: four designs of its time, a study that people answered, one paid at the
emulated Mechanical Turk, a saved preset and a waiting job.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.installations import ROOT, Installation, Installations

FOLDER = Path(__file__).parent
# a database with the first migration of an earlier version
OLDER = """
CREATE TABLE django_migrations (id integer PRIMARY KEY, app varchar(255), name varchar(255), applied datetime);
INSERT INTO django_migrations VALUES (1, 'judgments', '0001_initial', '2026-01-01 00:00:00');
"""
# Of leases of 60 minutes, with 30 more that the researcher gave at 10:40, and 300 more at 15:00:
MINUTES = [
    50,  # held from 03:00 to 03:50
    100,  # extended at 03:50 and held until 04:40
    80,  # held from 10:00 to 11:20, with the researcher's 30 minutes
    140,  # extended as well, and held until 12:20
    90,  # lost at 11:30, taken up again and handed in at 20:10; the minutes of 15:00 were not for it
    60,  # lost at 04:00, taken up again and handed in at 13:10
    60,  # the same, and extended twice at unknown times
    350,  # held from 14:30 to 20:20, with the researcher's 300 minutes
]


def recorded(database: str, name: str) -> str:
    return gzip.decompress((FOLDER / database / f"{name}.gz").read_bytes()).decode()


def told(installation: Installation, call: str) -> Any:
    return json.loads(installation.python(f"from tests.upgrade import inside\ninside.{call}()"))


def without_systems(lines: str) -> str:
    """The export without the member that later versions added."""
    rows = [json.loads(line) for line in lines.splitlines()]
    for row in rows:
        del row["systems"]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def test_a_database_of_0_5_0_is_upgraded(installations: Installations, database: str, tmp_path: Path) -> None:
    with installations.fresh(database, dump=recorded(database, "database.sql")) as old:
        old.python("from tests.upgrade import inside\ninside.hold_a_lease()")

        old.manage("migrate", "--verbosity", "0")

        assert "nothing broken" in old.manage("check_integrity")
        for slug in ("relevance", "paid"):
            path = tmp_path / f"{slug}.jsonl"
            old.manage("export_judgments", slug, "--format", "jsonl", "--revisions", "--output", str(path))
            assert without_systems(path.read_text()) == recorded(database, f"{slug}.jsonl")
        rows = told(old, "rows")
        assert rows["minutes"] == MINUTES
        assert rows["designs"] == {
            slug: {"pairs": pairs, "same units": True}
            for slug, pairs in {
                "relevance": "crossed", "graded": "crossed", "slider": "crossed", "triplet": None, "paid": None
            }.items()
        }  # fmt: skip
        assert rows["preset"] == {"protocol": "graded", "sampling": {"images": 3, "pairs_from": "crossed"}}
        assert rows["permissions"] == 6
        assert told(old, "end_the_lease") == {"until the gap": 3600, "paid": (60 + 20) * 60}
        with installations.fresh(database) as new:
            assert told(old, "tables") == told(new, "tables")


def test_an_older_database_is_refused_with_a_sentence(installations: Installations) -> None:
    with installations.fresh("sqlite", dump=OLDER) as older:
        for command in ("migrate", "prepare"):
            done = subprocess.run(
                [sys.executable, "manage.py", command],
                cwd=ROOT,
                env=older.env,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 1
            assert "This database is older than Quorum 0.5.0" in done.stderr
            assert "Traceback" not in done.stderr
