"""What a running installation tells its administrator: log lines, figures, and files that nobody else can read."""

import io
import json
import logging
import re
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.test import Client
from pytest_django import Settings

from annotation.models import Worker
from config.observing.logs import JSONFormatter, OneLineFormatter
from judgments.jobs.queues import enqueue
from tests.installations import ROOT, Installation, free_port, until
from tests.studies import make_study

NAME, CODE = "Ada Nobody-Else", "an-unguessable-code"


class Log:
    """What the loggers write meanwhile, in both formats."""

    def __init__(self) -> None:
        self.objects, self.lines = io.StringIO(), io.StringIO()

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.objects.getvalue().splitlines()]

    def of(self, logger: str) -> dict[str, Any]:
        (found,) = [entry for entry in self.read() if entry["logger"] == logger]
        return found


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    settings.ACCESS_LOG = True
    log = Log()
    handlers = [logging.StreamHandler(log.objects), logging.StreamHandler(log.lines)]
    handlers[0].setFormatter(JSONFormatter())
    handlers[1].setFormatter(OneLineFormatter("%(message)s"))
    (configured,) = [handler for handler in logging.getLogger().handlers if handler.name == "stderr"]
    for handler in handlers:
        handler.filters = configured.filters
        logging.getLogger().addHandler(handler)
    yield log
    for handler in handlers:
        logging.getLogger().removeHandler(handler)


@pytest.mark.django_db
def test_a_line_of_the_access_log_names_study_and_worker_by_id_and_no_secret(
    client: Client, log: Log
) -> None:
    study = make_study(access={"join": "code", "code": CODE})
    form = {"name": NAME, "code": CODE, "consent": "on"}
    reply = client.post(f"/s/{study.slug}/?code={CODE}", form, headers={"X-Request-ID": "from-the-proxy-1"})
    assert (reply.status_code, reply.headers["X-Request-ID"]) == (303, "from-the-proxy-1")
    line = log.of("quorum.access")
    assert line.pop("ms") >= 0
    assert line.pop("time")
    assert line == {
        "level": "INFO",
        "logger": "quorum.access",
        "message": line["message"],
        "request": "from-the-proxy-1",
        "study": study.slug,
        "worker": Worker.objects.get().pk,
        "method": "POST",
        "path": "/s/<slug:slug>/",
        "status": 303,
    }
    client.get(f"/s/{study.slug}/work/")
    assert log.read()[-1]["worker"] == Worker.objects.get().pk
    for secret in (NAME, CODE, client.cookies["quorum_worker"].value):
        assert secret not in log.objects.getvalue()


@pytest.mark.django_db
def test_lines_of_a_request_share_an_id_that_no_visitor_can_forge(designer: Client, log: Log) -> None:
    reply = designer.get("/api/studies/unknown/", headers={"X-Request-ID": 'a" forged\tone'})
    assert re.fullmatch("[0-9a-f]{32}", reply.headers["X-Request-ID"])
    assert {entry["request"] for entry in log.read()} == {reply.headers["X-Request-ID"]}
    assert {"quorum.access", "django.request"} == {entry["logger"] for entry in log.read()}
    assert log.of("quorum.access")["account"] == User.objects.get().pk


@pytest.mark.django_db
def test_the_framework_s_own_lines_have_no_tickets_and_no_queries(client: Client, log: Log) -> None:
    client.get("/f/a-secret-ticket/s/shapes/work/")
    client.get("/look/a-secret-key/?code=another-secret")
    client.get("/nothing/?code=another-secret")
    assert len(log.read()) == 5
    assert "secret" not in log.objects.getvalue() + log.lines.getvalue()


@pytest.mark.django_db
def test_a_path_is_not_written_as_typed_and_no_sign_of_it_moves_a_terminal(log: Log) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.get("/s/secret-name/secret%1b[2J%0aINFO forged/")
    browser.get("/s/secret-name/")
    browser.post("/s/secret-name/", {"name": "a secret"})
    browser.post("/s/secret-name/", {"name": "a secret"}, headers={"Origin": "https://secret"})
    browser.post("/s/secret-name/", {}, secure=True, headers={"Referer": "https://a.example/?ticket=secret"})
    browser.get("/s/secret-name/", headers={"Host": "secret"})
    browser.get("/api/studies/?page=secret")
    logging.getLogger("quorum").warning("A sentence of %s", "\x1b]0;title\x07 \u202e\r\nINFO forged")
    written = log.objects.getvalue() + log.lines.getvalue()
    assert "secret" not in written
    assert "/s/<slug:slug>/" in written
    assert all(sign.isprintable() for sign in written.replace("\n", ""))
    assert len(log.lines.getvalue().splitlines()) == len(log.read())


@pytest.mark.django_db
def test_figures_are_for_those_who_may_read_them(client: Client, settings: Settings) -> None:
    settings.METRICS_FROM, settings.METRICS_TOKEN = [], ""
    assert client.get("/health/metrics").status_code == 404
    assert client.get("/health/metrics", headers={"Authorization": "Bearer "}).status_code == 404
    settings.METRICS_FROM, settings.PROXIES = [ip_network("127.0.0.0/8")], 1
    assert client.get("/health/metrics").status_code == 200
    # a visitor who comes through the proxy
    assert client.get("/health/metrics", headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 404
    settings.METRICS_FROM, settings.METRICS_TOKEN = [], "a-token"
    assert client.get("/health/metrics", headers={"Authorization": "Bearer a-token"}).status_code == 200


@pytest.mark.django_db
def test_figures_count_requests_and_what_waits(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "a-token"
    study = make_study()
    for kind in ("aggregate", "sync_crowd", "export", "finish_erasure"):
        enqueue(kind=kind, args={"slug": study.slug})
    client.get(f"/s/{study.slug}/")
    page = client.get("/health/metrics", headers={"Authorization": "Bearer a-token"}).content.decode()
    route = 'method="GET",path="/s/<slug:slug>/"'
    assert f'quorum_requests_total{{{route},status="200"}}' in page
    assert f"quorum_request_seconds_count{{{route}}}" in page
    assert 'quorum_work{queue="jobs",state="queued"} 4.0' in page
    assert 'quorum_work_oldest_seconds{queue="jobs",state="queued"}' in page
    for queue, count in (("heavy", "1.0"), ("crowd", "1.0"), ("interactive", "2.0")):
        assert f'quorum_jobs{{queue="{queue}",state="queued"}} {count}' in page
        assert f'quorum_jobs_oldest_seconds{{queue="{queue}",state="queued"}}' in page
    assert "quorum_database_up 1.0" in page
    assert study.slug not in page


@pytest.mark.long
def test_gunicorn_s_processes_are_counted_together_and_log_objects(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    installation.collect_static()
    url = f"http://127.0.0.1:{free_port()}"
    environment = installation.env | {
        "PORT": url.rpartition(":")[2], "LOG_FORMAT": "json", "METRICS_TOKEN": "a-token", "WEB_PROCESSES": "2",
    }  # fmt: skip
    with (installation.folder / "log").open("wb") as stream:
        # not forked: the library chooses how to count when it is imported
        server = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "--config", "python:config.gunicorn", "config.wsgi"],
            cwd=ROOT, env=environment, stderr=stream,
        )  # fmt: skip

    def figures() -> str:
        request = urllib.request.Request(f"{url}/health/metrics", headers={"Authorization": "Bearer a-token"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            found: str = reply.read().decode()
        return found

    def answers() -> bool:
        try:
            return bool(figures())
        except urllib.error.URLError:
            return False

    try:
        until(answers, what="the server's first answer")
        for _ in range(10):
            with urllib.request.urlopen(url, timeout=60):
                pass
        counted = 'quorum_requests_total{method="GET",path="/",status="200"} 10.0'
        assert {counted in figures() for _ in range(6)} == {True}
    finally:
        server.terminate()
        server.wait()
    lines = [json.loads(line) for line in (installation.folder / "log").read_text().splitlines()]
    assert [line["path"] for line in lines if line["logger"] == "quorum.access"] == ["/"] * 10


def test_data_is_readable_by_its_owner_alone(installation_on: Callable[[str], Installation]) -> None:
    installation = installation_on("sqlite")
    installation.env |= {
        "DATA_DIR": str(installation.folder / "new"),
        "STATIC_ROOT": str(installation.folder / "static"),
    }
    installation.manage("prepare", "--no-demo")
    found = [installation.folder / "new", *(installation.folder / "new").rglob("*")]
    assert {path.name for path in found} >= {"new", "quorum.sqlite3", "prepared"}
    assert [path for path in found if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_data_that_others_may_read_is_named(settings: Settings) -> None:
    assert "quorum.W003" not in {one.id for one in run_checks(tags=["privacy"])}
    Path(settings.DATA_DIR).chmod(0o750)
    try:
        (found,) = [one for one in run_checks(tags=["privacy"]) if one.id == "quorum.W003"]
    finally:
        Path(settings.DATA_DIR).chmod(0o700)
    assert found.msg == f"Others than its owner may read {settings.DATA_DIR}: run chmod -R go= on it."
