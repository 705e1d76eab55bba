"""While the database is away or the disk full, people get a 503 that says when to come back, and the log one line."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
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
