"""A database that Quorum 0.5.0 left, with what 0.5.0 exported of it, is upgraded; an older one is refused.

`sqlite/` and `postgresql/` hold dumps of 0.5.0: four designs of its time, a study that people answered, one paid at the
emulated Mechanical Turk, a saved preset and a waiting job.
"""

import gzip
import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.installations import ROOT, Installation, Installations
from tests.refusals import assert_names

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


@pytest.mark.long
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
            assert_names(done.stderr, "0.5.0")
            assert "Traceback" not in done.stderr


STUDY = """
from tests.annotation.casting import make_dataset, make_study
make_study(make_dataset(images=5, pictures=False), slug="shapes", sampling={"pairs": {"MM": 3}, "references": 2})
"""


@pytest.mark.long
def test_people_who_work_during_an_upgrade_wait_and_lose_nothing(installations: Installations) -> None:
    """As docs/install.md says: a socket takes connections while one server has ended and the next one starts."""
    with installations.fresh("sqlite") as installation, socket.create_server(("127.0.0.1", 0)) as listener:
        installation.collect_static()
        installation.python(STUDY)
        study = f"http://127.0.0.1:{listener.getsockname()[1]}/api/studies/shapes"
        with served(installation, listener):
            ada = call(f"{study}/join/", {"worker": "ada"})[1]
            taken = call(f"{study}/assignments/", {}, ada["token"])[1]
        answers = {"answers": [{"position": unit["position"], "value": 1} for unit in taken["units"]]}
        submit = f"{study.partition('/api/')[0]}/api/assignments/{taken['id']}/submit/"
        with ThreadPoolExecutor() as people:
            submitted = people.submit(call, submit, answers, ada["token"])
            newcomers = [people.submit(call, f"{study}/join/", {"worker": f"bob-{n}"}) for n in range(3)]
            installation.manage("prepare", "--no-demo")
            assert not submitted.done()
            with served(installation, listener):
                assert submitted.result()[0] == 200
                assert [newcomer.result()[0] for newcomer in newcomers] == [201] * 3
        assert installation.manage("check_integrity").endswith("nothing broken.")


@contextmanager
def served(installation: Installation, listener: socket.socket) -> Iterator[None]:
    """A server on a socket that outlives it, ended as an update ends it."""
    end = listener.fileno()
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "--config", "python:config.gunicorn", "--bind", f"fd://{end}",
         "config.wsgi"],
        cwd=ROOT, env=installation.env, pass_fds=[end], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        assert process.wait() == 0


def call(address: str, body: object, token: str = "") -> tuple[int, Any]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Token {token}"} if token else {})
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)
