"""Long work: no lost message, killed worker or restart loses any, and none is done twice."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string
from psycopg import sql

from judgments import jobs, owners
from judgments.models import Job
from tests.installations import ROOT, Installation, until
from tests.judgments import job_kinds

KINDS = job_kinds.__name__


def messages(data_folder: Path) -> list[Path]:
    """The messages that wait in the file-system broker."""
    return sorted((data_folder / "broker" / "messages").glob("*.msg"))


def enqueue(installation: Installation, **args: Any) -> int:
    """Asks for groups from a process of its own; the job's id."""
    return int(
        installation.python(
            f"from {KINDS} import jobs\nprint(jobs.enqueue(kind='make-groups', args={args!r}).pk)"
        )
    )


def made_groups() -> QuerySet[Group]:
    """Those that a job made; one comes with the installation."""
    return Group.objects.exclude(name="Researchers")


def row(installation: Installation, job_id: int) -> dict[str, Any]:
    """A job as it stands in the installation's database, with the number of groups there."""
    names = ("state", "attempts", "progress", "words", "result")
    (found,) = installation.query(f"SELECT {', '.join(names)} FROM judgments_job WHERE id = {job_id:d}")  # noqa: S608
    ((groups,),) = installation.query("SELECT count(*) FROM auth_group WHERE name <> 'Researchers'")
    values = dict(zip(names, found, strict=True)) | {"groups": groups}
    if isinstance(values["result"], str):  # SQLite keeps JSON as text
        values["result"] = json.loads(values["result"])
    return values


# --- one process -----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_job_is_a_row_first_and_a_message_after_the_transaction() -> None:
    before = len(messages(settings.DATA_DIR))
    with transaction.atomic():
        job = jobs.enqueue(kind="make-groups", args={"count": 2})
        assert Job.objects.get(pk=job.pk).state == Job.State.QUEUED
        assert len(messages(settings.DATA_DIR)) == before
    assert len(messages(settings.DATA_DIR)) == before + 1


@pytest.mark.django_db(transaction=True)
def test_a_request_that_fails_leaves_neither_row_nor_message() -> None:
    before = len(messages(settings.DATA_DIR))

    @transaction.atomic
    def request() -> None:
        jobs.enqueue(kind="make-groups", args={"count": 2})
        Group.objects.create(name="twice")
        Group.objects.create(name="twice")

    with pytest.raises(IntegrityError):
        request()
    assert not Job.objects.exists()
    assert len(messages(settings.DATA_DIR)) == before


@pytest.mark.django_db
def test_a_kind_that_nobody_registered_is_refused_with_the_known_ones() -> None:
    with pytest.raises(jobs.UnknownJobKind, match=r"no job kind 'make-grups'; known are: .*make-groups"):
        jobs.enqueue(kind="make-grups")
    assert not Job.objects.exists()


def test_a_kind_cannot_be_registered_for_two_handlers() -> None:
    with pytest.raises(ValueError, match="'make-groups' is registered twice"):
        jobs.register("make-groups", "somewhere.else")


def test_every_kind_of_long_work_leads_to_a_function() -> None:
    assert set(jobs.handlers()) >= {"import_dataset", "generate_hits", "rehearse", "aggregate", "export"}
    for path in jobs.handlers().values():
        assert callable(import_string(path))


@pytest.mark.django_db
def test_a_job_that_was_done_holds_its_result_and_is_not_done_again() -> None:
    user = User.objects.create(username="designer")
    job = jobs.enqueue(kind="make-groups", args={"count": 3}, user=user)
    assert jobs.run_job(job.pk)
    assert not jobs.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result, job.progress, job.attempts) == ("done", {"groups": 3}, 1.0, 1)
    assert job.created_by == user
    assert job.finished_at is not None
    assert made_groups().count() == 3


@pytest.mark.django_db
def test_a_named_error_is_told_in_its_own_sentence_and_nothing_is_written() -> None:
    job = jobs.enqueue(kind="fail-by-name", args={"path": "captions.csv"})
    assert not jobs.run_job(job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error == "captions.csv, line 3: no picture of that name; expected a file in the folder."
    assert not made_groups().exists()


@pytest.mark.django_db
def test_an_unexpected_error_goes_to_the_log_and_the_row_says_only_that_it_happened() -> None:
    job = jobs.enqueue(kind="fail-unexpectedly")
    with pytest.raises(ZeroDivisionError):
        jobs.run_job(job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error == "The work stopped on an unexpected error (ZeroDivisionError); see the log."


@pytest.mark.django_db
def test_a_worker_that_was_overtaken_keeps_nothing_of_its_run() -> None:
    job = jobs.enqueue(kind="be-overtaken")
    assert not jobs.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.owner) == ("running", "another worker")
    assert not made_groups().exists()


@pytest.mark.django_db
def test_the_sweep_takes_up_what_a_dead_process_held_and_leaves_a_living_ones_alone() -> None:
    dead = subprocess.run(
        [sys.executable, "-c", "from judgments import owners; print(owners.new_owner())"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    held = {"kind": "make-groups", "args": {"count": 1}, "state": "running", "attempts": 1}
    long_ago = timezone.now() - timedelta(days=1)
    of_dead = Job.objects.create(owner=dead, heartbeat=timezone.now(), **held)
    of_living = Job.objects.create(owner=owners.new_owner(), heartbeat=long_ago, **held)
    swept = jobs.sweep_jobs()
    assert (swept.requeued, swept.resent) == ((of_dead.pk,), (of_dead.pk,))
    of_living.refresh_from_db()
    assert of_living.state == "running"
    assert jobs.run_job(of_dead.pk)


@pytest.mark.django_db
def test_the_sweep_takes_up_what_its_own_process_had_to_let_go() -> None:
    owner = owners.new_owner()
    job = Job.objects.create(
        kind="make-groups", state="running", attempts=1, owner=owner, heartbeat=timezone.now()
    )
    assert jobs.sweep_jobs().requeued == ()
    owners.let_go(owner)
    assert jobs.sweep_jobs().requeued == (job.pk,)


@pytest.mark.django_db
def test_a_worker_on_another_machine_is_judged_by_its_signs_of_life() -> None:
    held = {"kind": "make-groups", "args": {"count": 1}, "state": "running", "owner": "far/1|7|9|ab"}
    silence = timedelta(seconds=settings.JOB_STALE_SECONDS + 1)
    silent = Job.objects.create(heartbeat=timezone.now() - silence, **held)
    Job.objects.create(heartbeat=timezone.now(), **held)
    assert jobs.sweep_jobs().requeued == (silent.pk,)


@pytest.mark.django_db
def test_work_that_killed_its_worker_three_times_is_given_up_with_a_reason() -> None:
    silence = timedelta(seconds=settings.JOB_STALE_SECONDS + 1)
    then = timezone.now() - silence
    job = Job.objects.create(
        kind="make-groups", state="running", attempts=3, owner="far/1|7|9|ab", heartbeat=then
    )
    assert jobs.sweep_jobs().given_up == (job.pk,)
    job.refresh_from_db()
    assert job.error == "The worker was gone before the work was done, 3 times over."


@pytest.mark.django_db
def test_a_message_that_went_out_long_ago_is_sent_again_once() -> None:
    job = jobs.enqueue(kind="make-groups", args={"count": 1})
    assert jobs.sweep_jobs().resent == ()
    Job.objects.update(sent_at=timezone.now() - timedelta(minutes=5))
    assert jobs.sweep_jobs().resent == (job.pk,)
    assert jobs.sweep_jobs().resent == ()


# --- real workers -----------------------------------------------------------------------------------


@pytest.fixture
def installation(installation_on: Callable[[str], Installation], database: str) -> Installation:
    """An installation whose workers sweep every second."""
    made = installation_on(database)
    made.env["JOB_SWEEP_SECONDS"] = "1"
    return made


def test_work_cut_off_by_a_kill_is_done_exactly_once_after_the_restart(installation: Installation) -> None:
    slow = installation.folder / "slow"
    slow.touch()
    job = enqueue(installation, count=10, slow=str(slow))
    first = installation.start_worker(include=KINDS)
    until(Path(f"{slow}.reached").exists, what="the middle of the writing")
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    found = row(installation, job)
    assert (found["state"], found["groups"]) == ("running", 0)
    slow.unlink()
    installation.start_worker(include=KINDS)
    until(lambda: row(installation, job)["state"] == "done", what="the second run's end")
    found = row(installation, job)
    assert (found["groups"], found["attempts"], found["result"]) == (10, 2, {"groups": 10})


def test_a_database_that_was_away_for_a_while_loses_no_work(
    installation_on: Callable[[str], Installation], postgres_url: str
) -> None:
    installation = installation_on("postgresql")
    installation.env["JOB_SWEEP_SECONDS"] = "1"
    gate = installation.folder / "gate"
    gate.touch()
    job = enqueue(installation, count=4, gate=str(gate))
    installation.start_worker(include=KINDS)
    until(lambda: row(installation, job)["words"] == "thinking", what="the middle of the work")
    name = urlsplit(installation.env["DATABASE_URL"]).path.lstrip("/")
    door = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    log = installation.folder / "worker.log"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(door.format(sql.Identifier(name), sql.SQL("false")))
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        gate.unlink()
        until(lambda: "not currently accepting" in log.read_text(), what="the worker's complaint")
        server.execute(door.format(sql.Identifier(name), sql.SQL("true")))
    until(lambda: row(installation, job)["state"] == "done", what="the end")
    assert row(installation, job)["groups"] == 4


def test_progress_is_seen_while_the_work_goes_on(installation: Installation) -> None:
    gate = installation.folder / "gate"
    gate.touch()
    job = enqueue(installation, count=1, gate=str(gate))
    installation.start_worker(include=KINDS)
    until(lambda: row(installation, job)["progress"] == 0.25, what="a quarter of the work")
    assert row(installation, job)["words"] == "thinking"
    gate.unlink()
    until(lambda: row(installation, job)["state"] == "done", what="the end")


def test_a_lost_message_loses_no_work(installation_on: Callable[[str], Installation]) -> None:
    installation = installation_on("sqlite")
    job = enqueue(installation, count=4)
    (message,) = messages(installation.folder)
    message.unlink()
    installation.start_worker(include=KINDS)
    until(lambda: row(installation, job)["state"] == "done", what="the end")
    assert row(installation, job)["groups"] == 4


def test_the_same_job_runs_through_redis_when_the_environment_says_so(
    installation: Installation, redis_url: str
) -> None:
    installation.env["CELERY_BROKER_URL"] = redis_url
    installation.start_worker(include=KINDS)
    job = enqueue(installation, count=4)
    until(lambda: row(installation, job)["state"] == "done", what="the end")
    assert row(installation, job)["groups"] == 4
    assert not (installation.folder / "broker").exists()


def test_a_broker_that_is_away_does_not_stop_the_request(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    installation.env["CELERY_BROKER_URL"] = "redis://127.0.0.1:1/0"
    job = enqueue(installation, count=2)
    assert row(installation, job)["state"] == "queued"


def test_an_installation_without_a_worker_does_its_work_by_command(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    job = enqueue(installation, count=2)
    installation.python(
        f"import {KINDS}\nfrom django.core.management import call_command\ncall_command('run_jobs')"
    )
    assert row(installation, job)["groups"] == 2
