"""While the database is away or the disk full, people get a 503 that says when to come back, and the log one line."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection
from django.test import Client
from psycopg import sql

from tests.installations import Installation, until

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")


def answer(url: str) -> tuple[int, str | None, str]:
    """The status, the header Retry-After and the body of a page, asked for with some token."""
    request = urllib.request.Request(url, headers={"Authorization": f"Token {'x' * 43}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.headers["Retry-After"], reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Retry-After"], error.read().decode()


def test_a_database_that_is_away_is_a_503_and_one_line_of_the_log(
    live_server_on: Callable[[str], Installation], postgres_url: str
) -> None:
    server = live_server_on("postgresql")
    name = sql.Identifier(urlsplit(server.env["DATABASE_URL"]).path[1:])
    page, call = f"{server.url}/s/unknown/", f"{server.url}/api/studies/unknown/"
    assert answer(page)[0] == 404

    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [name.as_string()[1:-1]],
        )
        for _ in range(20):
            status, after, body = answer(page)
            assert (status, after) == (503, "10")
            assert "Back in a moment" in body
        status, after, body = answer(call)
        assert (status, after) == (503, "10")
        assert json.loads(body)["status"] == 503
        assert answer(f"{server.url}/health/live")[0] == 200
        assert answer(f"{server.url}/health/ready")[0] == 503
        admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))

    until(lambda: answer(page)[0] == 404, what="the server's recovery")
    log = server.folder / "server.log"
    until(
        lambda: answer(page)[0] == 404 and log.read_text().count("Over:") >= 1,
        what="the line of the recovery",
    )
    lines = log.read_text()
    # a line for each of gunicorn's two processes at most
    assert 1 <= lines.count("The database cannot be reached") <= 2
    assert "Traceback" not in lines


@pytest.mark.django_db(transaction=True)
def test_a_full_disk_is_a_503_and_changes_nothing(client: Client) -> None:
    from django.contrib.auth.models import User

    client.raise_request_exception = False
    User.objects.create_superuser("designer", password="a long enough password")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # or pages that earlier tests freed would be left
        (pages,) = cursor.execute("PRAGMA page_count").fetchone()
        (before,) = cursor.execute("PRAGMA max_page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count = {pages}")
    try:
        for _ in range(400):
            reply = client.post(
                "/admin/login/", {"username": "designer", "password": "a long enough password"}
            )
            if reply.status_code != 302:
                break
            client.cookies.clear()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA max_page_count = {before}")
    assert reply.status_code == 503
    assert reply.headers["Retry-After"] == "10"


STUDY = """
from tests.annotation.casting import make_dataset, make_study
make_study(make_dataset(images=5, pictures=False), slug="shapes", sampling={"pairs": {"MM": 3}, "references": 2})
"""
# What PostgreSQL says where it cannot make a file longer, at every table that is written to.
NO_ROOM = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device' USING ERRCODE = 'disk_full';
END $$;
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE TRIGGER no_room BEFORE INSERT OR UPDATE OR DELETE ON %I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION no_room()', name);
    END LOOP;
END $$
"""
ROOM_AGAIN = "DROP FUNCTION no_room() CASCADE"


def test_a_full_disk_of_postgresql_loses_no_answer(
    live_server_on: Callable[[str], Installation], postgres_url: str
) -> None:
    """Who answers meanwhile is told to come back; what was held before can be handed in afterwards."""
    server = live_server_on("postgresql")
    server.python(STUDY)
    study = f"{server.url}/api/studies/shapes"
    joined = call(f"{study}/join/", {"worker": "ada"})[2]
    taken = call(f"{study}/assignments/", {}, joined["token"])[2]
    answers = {"answers": [{"position": unit["position"], "value": 1} for unit in taken["units"]]}
    submit = f"{server.url}/api/assignments/{taken['id']}/submit/"
    with psycopg.connect(server.env["DATABASE_URL"], autocommit=True) as database:
        database.execute(NO_ROOM)
        for address, body, token in (
            (submit, answers, joined["token"]),
            (f"{study}/join/", {"worker": "bob"}, ""),
            (submit, answers, joined["token"]),
        ):
            status, after, told = call(address, body, token)
            assert (status, after, told["status"]) == (503, "10", 503)
        assert answer(f"{server.url}/s/shapes/")[0] == 200  # what is only read goes on
        database.execute(ROOM_AGAIN)
    assert server.query("SELECT count(*) FROM annotation_judgment") == [(0,)]
    assert call(submit, answers, joined["token"])[0] == 200
    assert call(f"{study}/join/", {"worker": "bob"})[0] == 201
    assert server.manage("check_integrity").endswith("nothing broken.")
    lines = (server.folder / "server.log").read_text()
    assert 1 <= lines.count("The disk is full or cannot be written") <= 2  # each of gunicorn's processes
    assert "Traceback" not in lines


def call(address: str, body: object, token: str = "") -> tuple[int, str | None, Any]:
    """The status, the header Retry-After and the content of an answer to a worker's client."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Token {token}"} if token else {})
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.headers["Retry-After"], json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Retry-After"], json.load(error)
