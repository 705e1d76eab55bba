"""Long work: no killed worker or restart loses any, and none is done twice."""

import json
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, OperationalError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string
from psycopg import sql

from common.errors import WrongState
from common.rate_limits import TooManyAttempts
from config.celery import app
from judgments.jobs import claims, dispatching, pool, queues, registry, sweep
from judgments.models import Job
from scripts import services
from tests import forking
from tests.chaos.services import rabbitmq as rabbitmq_server
from tests.chaos.services import redis as redis_server
from tests.installations import ROOT, Installation, free_port, until
from tests.judgments import job_kinds
from tests.refusals import assert_names, refuses

KINDS = job_kinds.__name__


def enqueue(installation: Installation, kind: str = "make-groups", **args: Any) -> int:
    """Asks for work from a process of its own; the job's id."""
    return int(
        installation.python(
            f"from {KINDS} import queues\nprint(queues.enqueue(kind={kind!r}, args={args!r}).pk)"
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


@pytest.mark.django_db
def test_a_request_that_fails_leaves_no_job() -> None:
    @transaction.atomic
    def request() -> None:
        queues.enqueue(kind="make-groups", args={"count": 2})
        Group.objects.create(name="twice")
        Group.objects.create(name="twice")

    with pytest.raises(IntegrityError):
        request()
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_a_kind_that_nobody_registered_is_refused_with_the_known_ones() -> None:
    with refuses(registry.UnknownJobKind, "make-grups", "make-group", "make-groups"):
        queues.enqueue(kind="make-grups")
    assert not Job.objects.exists()


def test_a_kind_cannot_be_registered_for_two_handlers() -> None:
    with refuses(ValueError, "make-groups"):
        registry.register({"make-groups": registry.JobKind("somewhere.else", registry.CROWD)})
    assert registry.scope_of_kind("make-groups") == "studies"


def test_every_kind_of_long_work_leads_to_a_function() -> None:
    assert set(registry.job_kinds) >= {
        "import_dataset",
        "generate_hits",
        "rehearse",
        "aggregate",
        "export",
    }
    for kind in registry.job_kinds.values():
        assert callable(import_string(kind.handler))
        assert kind.queue in registry.QUEUES


def test_uploads_are_read_apart_from_what_people_wait_for() -> None:
    reading = {name for name, kind in registry.job_kinds.items() if kind.queue == registry.READING}
    assert reading >= {
        "understand_upload",
        "import_dataset",
        "import_candidates",
        "import_judgments",
        "import_scores",
    }
    units = "".join(path.read_text() for path in (ROOT / "deploy").glob("quorum-worker*.service"))
    by_unit = re.findall(r"--queues (\S+)", units)
    by_run = [part.removeprefix("--queues=") for command in services.COMMANDS.values() for part in command
              if part.startswith("--queues=")]  # fmt: skip
    for served in (by_unit, by_run):
        assert "reading" in served
        assert sorted(",".join(served).split(",")) == sorted([*registry.QUEUES, pool.PARTS_QUEUE])


def test_celery_knows_every_kind_of_job_and_every_round_by_its_name_and_queue() -> None:
    for name, kind in registry.job_kinds.items():
        assert f"quorum.{name}" in app.tasks
        assert app.amqp.router.route({}, f"quorum.{name}")["queue"].name == kind.queue
    for scheduled in registry.periodic_tasks():
        assert callable(import_string(scheduled.function))
        assert app.amqp.router.route({}, scheduled.task_name)["queue"].name == scheduled.queue
    assert {queue.name for queue in app.conf.task_queues} == {*registry.QUEUES, pool.PARTS_QUEUE}


@pytest.mark.django_db
def test_a_job_that_was_done_holds_its_result_and_is_not_done_again() -> None:
    user = User.objects.create(username="designer")
    job = queues.enqueue(kind="make-groups", args={"count": 3}, user=user)
    assert claims.run_job(job.pk)
    assert not claims.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result, job.progress, job.attempts) == ("done", {"groups": 3}, 1.0, 1)
    assert job.created_by == user
    assert job.finished_at is not None
    assert made_groups().count() == 3


@pytest.mark.django_db
def test_a_named_error_is_told_in_its_own_sentence_and_nothing_is_written() -> None:
    job = queues.enqueue(kind="fail-by-name", args={"path": "captions.csv"})
    assert not claims.run_job(job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error == "captions.csv, line 3: no picture of that name; expected a file in the folder."
    assert not made_groups().exists()


@pytest.mark.django_db
def test_an_unexpected_error_goes_to_the_log_and_the_row_says_only_that_it_happened() -> None:
    job = queues.enqueue(kind="fail-unexpectedly")
    with pytest.raises(ZeroDivisionError):
        claims.run_job(job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error == "The work stopped on an unexpected error (ZeroDivisionError); see the log."


@pytest.mark.django_db
def test_a_worker_that_was_overtaken_keeps_nothing_of_its_run() -> None:
    job = queues.enqueue(kind="be-overtaken")
    assert not claims.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.owner) == ("running", "another worker")
    assert not made_groups().exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_was_overtaken_stops_at_its_next_report(caplog: pytest.LogCaptureFixture) -> None:
    job = queues.enqueue(kind="be-given-away")
    assert not claims.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.owner) == ("running", "another worker")
    assert (
        f"Job {job.pk} was cancelled or given to another worker. Nothing of this run was kept." in caplog.text
    )


@pytest.mark.django_db
def test_a_job_that_something_else_is_in_the_way_of_waits_and_counts_no_attempt() -> None:
    job = queues.enqueue(kind="meet-another")
    assert not claims.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts, job.error) == ("queued", 0, "")
    assert not Job.objects.due().exists()


def sent() -> list[int]:
    """The ids of the jobs whose message was sent, in the order of sending."""
    waiting = Job.objects.filter(state="queued", sent_at__isnull=False)
    return list(waiting.order_by("sent_at", "pk").values_list("pk", flat=True))


@pytest.mark.django_db
def test_few_messages_wait_at_the_broker_and_the_oldest_job_follows_one_that_began() -> None:
    waiting = [
        queues.enqueue(kind="make-groups", args={"count": 1}).pk
        for _ in range(dispatching.MAX_MESSAGES_AT_BROKER + 3)
    ]
    assert sorted(sent()) == waiting[: dispatching.MAX_MESSAGES_AT_BROKER]
    assert claims.run_job(waiting[1])
    dispatching.dispatch(registry.HEAVY)
    assert sorted(sent()) == [waiting[0], *waiting[2 : dispatching.MAX_MESSAGES_AT_BROKER + 1]]


@pytest.mark.django_db
def test_an_account_with_one_job_is_sent_at_once_and_turns_are_taken_afterwards() -> None:
    greedy, modest = (User.objects.create(username=name) for name in ("greedy", "modest"))
    many = [queues.enqueue(kind="make-group", args={"name": f"{n}"}, user=greedy).pk for n in range(30)]
    single = queues.enqueue(kind="make-group", args={"name": "single"}, user=modest)
    more = queues.enqueue(kind="make-group", args={"name": "more"}, user=modest)
    assert sorted(sent()) == [*many[: dispatching.MAX_MESSAGES_AT_BROKER], single.pk]
    assert queues.queue_positions([single, more]) == {single.pk: 2, more.pk: 4}
    for done in many[:2]:
        assert claims.run_job(done)
        dispatching.dispatch(registry.HEAVY)
    assert more.pk in sent()
    assert many[dispatching.MAX_MESSAGES_AT_BROKER] not in sent()


@pytest.mark.django_db
def test_an_account_has_one_file_read_at_a_time_and_others_are_not_kept_waiting() -> None:
    hostile, modest = (User.objects.create(username=name) for name in ("hostile", "modest"))
    bad = [queues.enqueue(kind="read-file", user=hostile).pk for _ in range(3)]
    small = queues.enqueue(kind="read-file", user=modest).pk
    short = queues.enqueue(kind="figures", args={"study": "photos", "names": []}, user=hostile).pk
    assert sorted(sent()) == [bad[0], small, short]
    assert claims.run_job(bad[0])
    dispatching.dispatch(registry.READING)
    assert sorted(sent()) == [bad[1], small, short]


@pytest.mark.django_db
def test_queues_do_not_wait_for_each_other() -> None:
    for number in range(dispatching.MAX_MESSAGES_AT_BROKER + 1):
        queues.enqueue(kind="make-group", args={"name": f"{number}"})
    other = queues.enqueue(kind="figures", args={"study": "photos", "names": []})
    assert other.pk in sent()


@pytest.mark.django_db
def test_an_account_has_so_many_jobs_waiting_and_is_told_how_many_and_when(settings: Any) -> None:
    settings.JOBS_WAITING = 3
    greedy, modest = (User.objects.create(username=name) for name in ("greedy", "modest"))
    waiting = [queues.enqueue(kind="make-group", args={"name": f"{n}"}, user=greedy) for n in range(3)]
    with refuses(TooManyAttempts, "3", "greedy", "300"):
        queues.enqueue(kind="make-group", args={"name": "more"}, user=greedy)
    assert Job.objects.count() == 3
    queues.enqueue(kind="make-group", args={"name": "another's"}, user=modest)
    queues.cancel_job(waiting[0])
    queues.enqueue(kind="make-group", args={"name": "more"}, user=greedy)


@pytest.mark.django_db
def test_a_waiting_job_that_is_cancelled_does_not_run_until_it_is_asked_for_again() -> None:
    job = queues.enqueue(kind="make-groups", args={"count": 2})
    queues.cancel_job(job)
    assert not claims.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("cancelled", 0)
    with pytest.raises(WrongState, match=r"has ended \(cancelled\)"):
        queues.cancel_job(job)
    queues.retry_job(job)
    assert (job.state, job.finished_at) == ("queued", None)
    assert claims.run_job(job.pk)
    with pytest.raises(WrongState, match="is done"):
        queues.retry_job(job)
    assert made_groups().count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_running_job_that_is_cancelled_ends_at_its_next_report_and_stores_nothing() -> None:
    job = queues.enqueue(kind="be-cancelled")
    assert not claims.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.owner, job.result) == ("cancelled", "", None)
    assert not made_groups().exists()


@pytest.mark.django_db
def test_a_failed_job_that_is_tried_again_has_all_its_attempts() -> None:
    job = queues.enqueue(kind="fail-by-name", args={"path": "captions.csv"})
    assert not claims.run_job(job.pk)
    queues.retry_job(job)
    assert (job.state, job.error, job.attempts) == ("queued", "", 0)


@pytest.mark.django_db
def test_a_message_that_the_broker_lost_is_sent_again_and_one_that_waits_is_not() -> None:
    first, second, _ = (queues.enqueue(kind="make-group", args={"name": f"{n}"}) for n in range(3))
    long_ago = timezone.now() - timedelta(minutes=1)
    Job.objects.filter(pk__in=[first.pk, second.pk]).update(sent_at=long_ago)
    resent = Job.objects.filter(sent_at__gt=long_ago, pk__in=[first.pk, second.pk])
    sweep.requeue_lost_jobs(lambda queue: None)  # the broker is away
    sweep.requeue_lost_jobs(lambda queue: 2)
    assert not resent.exists()
    sweep.requeue_lost_jobs(lambda queue: 1)
    assert resent.get() == first


@pytest.mark.django_db
def test_a_job_whose_database_was_away_is_tried_again_later_and_not_for_ever() -> None:
    job = queues.enqueue(kind="lose-the-database")
    for attempt in (1, 2):
        assert not claims.run_job(job.pk)
        job.refresh_from_db()
        assert (job.state, job.attempts, job.owner) == ("queued", attempt, "")
        assert job.sent_at is not None
        assert job.sent_at > timezone.now()
        assert not Job.objects.due().exists()
        Job.objects.update(sent_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(OperationalError):
        claims.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("failed", 3)


def swept(job: Job) -> Job:
    sweep.requeue_lost_jobs()
    job.refresh_from_db()
    return job


@pytest.mark.django_db
def test_a_worker_is_judged_by_its_heartbeats() -> None:
    held = {
        "kind": "make-groups",
        "args": {"count": 1},
        "state": "running",
        "attempts": 1,
        "owner": "far:7:ab",
    }
    silence = timedelta(seconds=settings.JOB_STALE_SECONDS + 1)
    silent = Job.objects.create(heartbeat=timezone.now() - silence, **held)
    living = Job.objects.create(heartbeat=timezone.now(), **held)
    assert (swept(silent).state, swept(living).state) == ("queued", "running")
    assert claims.run_job(silent.pk)
    silent.refresh_from_db()
    assert (silent.state, silent.attempts) == ("done", 2)


@pytest.mark.django_db
def test_a_computer_that_slept_does_not_take_its_own_work_away() -> None:
    job = queues.enqueue(kind="be-swept", args={"seconds": settings.JOB_STALE_SECONDS + 1})
    assert claims.run_job(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts, job.result) == ("done", 1, {"states": ["running"]})


@pytest.mark.django_db
def test_work_that_killed_its_worker_three_times_is_given_up_with_a_reason() -> None:
    silence = timedelta(seconds=settings.JOB_STALE_SECONDS + 1)
    then = timezone.now() - silence
    job = Job.objects.create(
        kind="make-groups", state="running", attempts=3, owner="far:7:ab", heartbeat=then
    )
    assert swept(job).error == "The worker was gone before the work was done, 3 times over."


def running_elsewhere(owner: str, *, silent: float) -> Job:
    heartbeat = timezone.now() - timedelta(seconds=silent)
    return Job.objects.create(
        kind="make-groups",
        state="running",
        attempts=1,
        owner=owner,
        started_at=heartbeat,
        heartbeat=heartbeat,
    )


@pytest.fixture
def neighbour() -> Iterator[str]:
    """The name of a living process of this machine, as an owner of jobs."""
    with subprocess.Popen(["sleep", "600"]) as process:
        machine, _, _ = claims.owner_name().rsplit(":", 2)
        yield f"{machine}:{process.pid}:0123abcd"
        process.kill()


@pytest.mark.django_db
def test_a_living_process_of_this_machine_has_two_leases_and_two_more_after_the_machine_slept(
    neighbour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = running_elsewhere(neighbour, silent=1.5 * settings.JOB_STALE_SECONDS)
    assert swept(job).state == "running"
    Job.objects.update(heartbeat=timezone.now() - timedelta(hours=1))
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + 3600)
    assert swept(job).state == "running"
    monkeypatch.undo()
    start = time.monotonic
    sweep.requeue_lost_jobs()
    monkeypatch.setattr(time, "monotonic", lambda: start() + 3 * settings.JOB_STALE_SECONDS)
    monkeypatch.setattr(time, "time", lambda: clock() + 3 * settings.JOB_STALE_SECONDS)
    assert swept(job).state == "queued"


def test_a_process_of_another_container_or_of_another_boot_is_not_judged_by_its_number(
    neighbour: str,
) -> None:
    assert claims.has_ended(neighbour) is False
    host = socket.gethostname()
    assert claims.has_ended(neighbour.replace(host, f"{host}-2")) is None
    boot, _, rest = neighbour.removeprefix(f"{host}/").partition("/")
    assert claims.has_ended(f"{host}/{boot[::-1]}x/{rest}") is None
    assert claims.has_ended(f"{host}/{boot}/1{rest}") is None


@pytest.mark.django_db
def test_a_job_that_was_ended_at_its_limit_is_not_tried_again() -> None:
    job = running_elsewhere("far:7:ab", silent=settings.JOB_STALE_SECONDS + 1)
    limit = timedelta(seconds=settings.JOB_SECONDS["heavy"] + 60)
    Job.objects.update(started_at=timezone.now() - timedelta(seconds=60) - limit)
    assert_names(swept(job).error, "1440", "JOB_SECONDS_HEAVY")


@pytest.mark.django_db
def test_jobs_that_another_version_knows_keep_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    unknown = [
        Job.objects.create(kind="dream", queue="heavy").pk
        for _ in range(dispatching.MAX_MESSAGES_AT_BROKER + 1)
    ]
    known = [queues.enqueue(kind="make-group", args={"name": f"{number}"}).pk for number in range(2)]
    for _ in range(2):
        sweep.requeue_lost_jobs()
    assert (
        "Jobs of kind 'dream' wait (9), which this version does not know; a worker of another may."
        in caplog.text
    )
    assert sorted(sent()) == [unknown[0], *known]  # as the sweeps of the other version may all come here


@pytest.fixture
def installation(installation_on: Callable[[str], Installation], database: str) -> Installation:
    return with_short_leases(installation_on(database))


def with_short_leases(installation: Installation) -> Installation:
    """Let a dead worker's jobs be found within seconds."""
    installation.env |= {"JOB_SWEEP_SECONDS": "1", "JOB_STALE_SECONDS": "1"}
    return installation


def test_work_cut_off_by_a_kill_is_done_exactly_once_after_the_restart(installation: Installation) -> None:
    slow = installation.folder / "slow"
    slow.touch()
    job = enqueue(installation, count=10, slow=str(slow))
    first = installation.start_worker(include=KINDS)
    until(Path(f"{slow}.reached").exists, what="the middle of the writing")
    forking.kill(first)
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
    installation = with_short_leases(installation_on("postgresql"))
    gate = installation.folder / "gate"
    gate.touch()
    job = enqueue(installation, count=4, gate=str(gate))
    installation.start_worker(include=KINDS, beat=False)
    until(lambda: row(installation, job)["words"] == "thinking", what="the middle of the work")
    name = urlsplit(installation.env["DATABASE_URL"]).path.lstrip("/")
    door = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    log = installation.folder / "worker.log"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(door.format(sql.Identifier(name), sql.SQL("false")))
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        gate.unlink()
        until(lambda: "not currently accepting" in log.read_text(), what="the worker's complaint")
        installation.start_worker(include=KINDS)
        until(lambda: "quorum.sweep_jobs" in log.read_text(), what="a round of the beat that started now")
        server.execute(door.format(sql.Identifier(name), sql.SQL("true")))
    until(lambda: row(installation, job)["state"] == "done", what="the end")
    assert row(installation, job)["groups"] == 4


@pytest.mark.long
def test_a_worker_that_is_asked_to_end_gives_its_work_back(installation: Installation) -> None:
    """Work that reports progress is interrupted; other work is left alone after a while."""
    gate, left = installation.folder / "gate", installation.folder / "left"
    gate.touch()
    jobs_held = [
        enqueue(installation, "tell-progress", gate=str(gate), left=str(left)),
        enqueue(installation, count=3, gate=str(gate)),
    ]
    worker = installation.start_worker(include=KINDS)
    for job in jobs_held:
        until(lambda job=job: row(installation, job)["words"] == "thinking", what="the middle of the work")  # type: ignore[misc]
    worker.terminate()
    worker.join()
    assert worker.exitcode == 0
    assert left.exists()
    for job in jobs_held:
        found = row(installation, job)
        assert (found["state"], found["attempts"], found["words"], found["groups"]) == ("queued", 0, "", 0)
    gate.unlink()
    installation.start_worker(include=KINDS)
    for job in jobs_held:
        until(lambda job=job: row(installation, job)["state"] == "done", what="the end")  # type: ignore[misc]
        assert row(installation, job)["attempts"] == 1
    assert row(installation, jobs_held[1])["groups"] == 3


@pytest.mark.long
def test_workers_that_are_killed_again_and_again_beside_others_do_everything_once(
    installation: Installation,
) -> None:
    """Leases are long enough here for the workers that live."""
    installation.env["JOB_STALE_SECONDS"] = "8"
    code = f"""
from {KINDS} import queues
for number in range(30):
    queues.enqueue(kind="make-group", args={{"name": f"group {{number}}"}})
"""
    installation.python(code)
    workers = [installation.start_worker(include=KINDS) for _ in range(2)]

    def done(least: int) -> bool:
        ((count,),) = installation.query("SELECT count(*) FROM judgments_job WHERE state = 'done'")
        return int(count) >= least

    for share in (5, 15):
        until(partial(done, share), what=f"{share} jobs")
        forking.kill(workers.pop(0))
        workers.append(installation.start_worker(include=KINDS))
    until(partial(done, 30), what="all jobs")
    names = installation.query("SELECT name FROM auth_group WHERE name <> 'Researchers'")
    assert sorted(names) == sorted((f"group {number}",) for number in range(30))


@pytest.mark.redis
def test_redis_carries_the_messages_when_the_environment_says_so(
    installation_on: Callable[[str], Installation], tmp_path: Path
) -> None:
    installation = installation_on("sqlite")
    with redis_server(tmp_path) as (_, url):
        installation.env["CELERY_BROKER_URL"] = url
        job = enqueue(installation, count=4)
        with closing(redis.Redis.from_url(url)) as server:
            assert server.llen("heavy") == 1
        installation.start_worker(include=KINDS)
        until(lambda: row(installation, job)["state"] == "done", what="the end")
    assert row(installation, job)["groups"] == 4


@pytest.mark.redis
def test_a_broker_that_is_away_at_the_start_or_later_loses_no_job_and_gets_it_when_it_comes(
    installation_on: Callable[[str], Installation], tmp_path: Path
) -> None:
    installation = with_short_leases(installation_on("sqlite"))
    port = free_port()
    installation.env["CELERY_BROKER_URL"] = f"redis://127.0.0.1:{port}/0"
    job = enqueue(installation, count=2)
    assert row(installation, job)["state"] == "queued"
    log = installation.folder / "worker.log"
    log.touch()
    installation.start_worker(include=KINDS)
    until(lambda: "Cannot connect to redis" in log.read_text(), what="the worker's complaint")
    with redis_server(tmp_path, port=port) as (server, _):
        until(lambda: row(installation, job)["state"] == "done", what="the end")
        server.kill()
        later = f"from {KINDS} import queues\nqueues.enqueue(kind='make-groups', args={{'count': 1}})"
        fine, _, said = forking.run(later, installation.env)
        assert fine, said
        assert f"Job {job + 1} is stored, but the broker cannot be reached" in said
        server.start()
        until(lambda: row(installation, job + 1)["state"] == "done", what="the end of the later job")


def test_an_installation_without_a_worker_does_its_work_by_command(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    job = enqueue(installation, count=2)
    installation.python(
        f"import {KINDS}\nfrom django.core.management import call_command\ncall_command('run_jobs')"
    )
    assert row(installation, job)["groups"] == 2


def ended(installation: Installation, job: int) -> bool:
    return row(installation, job)["state"] not in ("queued", "running")


def error(installation: Installation, job: int) -> str:
    ((said,),) = installation.query(f"SELECT error FROM judgments_job WHERE id = {job:d}")  # noqa: S608
    return str(said)


@pytest.mark.postgresql
def test_a_job_that_another_process_sends_is_not_waited_for(
    installation_on: Callable[[str], Installation],
) -> None:
    """Two that wait for each other would both fail."""
    installation = installation_on("postgresql")
    first = enqueue(installation)
    with psycopg.connect(installation.env["DATABASE_URL"], autocommit=True) as server:
        server.execute("UPDATE judgments_job SET sent_at = NULL")
        with server.transaction():
            server.execute("SELECT id FROM judgments_job FOR UPDATE")
            second = enqueue(installation)
    assert installation.query("SELECT id FROM judgments_job WHERE sent_at IS NOT NULL") == [(second,)]
    assert first != second


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_does_not_answer_is_tried_once_for_many_jobs(
    installation_on: Callable[[str], Installation], scheme: str
) -> None:
    installation = installation_on("sqlite")
    code = f"from {KINDS} import queues\nfor _ in range(9): queues.enqueue(kind='make-groups', args={{'count': 1}})"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        installation.env["CELERY_BROKER_URL"] = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}/"
        fine, _, said = forking.run(code, installation.env)
    assert fine, said
    assert said.count("Job 1 is stored, but the broker cannot be reached") == 1
    assert said.count("cannot be reached") == 1
    assert installation.query("SELECT count(*) FROM judgments_job WHERE state = 'queued'") == [(9,)]


@pytest.mark.redis
def test_a_broker_that_lets_nobody_in_costs_no_page(
    installation_on: Callable[[str], Installation], tmp_path: Path
) -> None:
    installation = installation_on("sqlite")
    with redis_server(tmp_path) as (_, url):
        with closing(redis.Redis.from_url(url)) as server:
            server.config_set("requirepass", "right")
        installation.env["CELERY_BROKER_URL"] = url.replace("redis://", "redis://:wrong@")
        refused(installation)


def test_a_broker_whose_name_nobody_knows_costs_no_page(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    installation.env["CELERY_BROKER_URL"] = "redis://no-such-host.invalid:6379/0"
    refused(installation)


def refused(installation: Installation) -> None:
    fine, _, log = forking.run(
        f"from {KINDS} import queues\nqueues.enqueue(kind='make-groups')", installation.env
    )
    assert fine, log
    assert "Job 1 is stored, but the broker cannot be reached" in log


@pytest.mark.long
def test_a_worker_of_an_older_version_leaves_new_jobs_to_one_that_knows_them(
    installation: Installation,
) -> None:
    job = enqueue(installation, "make-group", name="new")
    log = installation.folder / "worker.log"
    log.touch()
    installation.start_worker()
    until(lambda: "unregistered task of type 'quorum.make-group'" in log.read_text(), what="the refusal")
    until(lambda: "Jobs of kind 'make-group' wait (1)" in log.read_text(), what="the older worker's sentence")
    assert row(installation, job)["state"] == "queued"
    installation.start_worker(include=KINDS)
    until(lambda: ended(installation, job), what="the end")
    found = row(installation, job)
    assert (found["state"], found["attempts"], found["groups"]) == ("done", 1, 1)


@pytest.mark.long
def test_a_job_that_kills_its_process_costs_its_neighbour_nothing(installation: Installation) -> None:
    gate = installation.folder / "gate"
    gate.touch()
    neighbour = enqueue(installation, count=2, gate=str(gate))
    installation.start_worker(include=KINDS)
    until(lambda: row(installation, neighbour)["words"] == "thinking", what="the middle of the work")
    deadly = enqueue(installation, "die")
    until(lambda: ended(installation, deadly), what="the last attempt")
    assert row(installation, deadly)["attempts"] == 3
    assert error(installation, deadly) == "The worker was gone before the work was done, 3 times over."
    gate.unlink()
    until(lambda: ended(installation, neighbour), what="the end")
    found = row(installation, neighbour)
    assert (found["state"], found["attempts"], found["groups"]) == ("done", 1, 2)


@pytest.mark.redis
def test_a_message_that_redis_delivers_again_is_no_forgery(
    installation_on: Callable[[str], Installation], tmp_path: Path
) -> None:
    installation = installation_on("sqlite")
    with redis_server(tmp_path) as (_, url):
        installation.env["CELERY_BROKER_URL"] = url
        deadly = enqueue(installation, "die")
        installation.start_worker(include=KINDS)
        until(lambda: ended(installation, deadly), what="the last attempt")
    assert row(installation, deadly)["attempts"] == 3
    assert "signature" not in (installation.folder / "worker.log").read_text()


@pytest.mark.long
def test_a_job_that_is_cancelled_has_no_part_computed_afterwards(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    job = enqueue(installation, "rest-in-parts", parts=20)
    installation.start_worker(include=KINDS, processes=2, beat=False)
    claims = partial(lambda folder: len([*folder.glob("*/*.claim")]), installation.folder / "parts")
    until(lambda: claims() == 2, what="two processes at work on parts")
    installation.manage("cancel_job", str(job))
    others = [enqueue(installation, count=1) for _ in range(2)]
    until(lambda: all(row(installation, one)["state"] == "done" for one in others), what="the next jobs")
    assert claims() == 2


@pytest.mark.long
def test_a_job_over_its_limit_of_time_fails_and_a_stubborn_one_is_ended(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = with_short_leases(installation_on("sqlite"))
    installation.env["JOB_SECONDS_HEAVY"] = "1"
    long = [enqueue(installation, "take-long", seconds=600, stubborn=stubborn) for stubborn in (False, True)]
    installation.start_worker(include=KINDS)
    for job in long:
        until(lambda job=job: ended(installation, job), what="the limit")  # type: ignore[misc]
        found = row(installation, job)
        assert (found["state"], found["attempts"]) == ("failed", 1)
        assert_names(error(installation, job), "0.0166667")


@pytest.mark.long
@pytest.mark.parametrize(("kind", "args"), [("rest", {"seconds": 86_400}), ("search-without-end", {})])
@pytest.mark.parametrize("given", [False, True], ids=["cancelled", "given to another"])
def test_a_job_that_is_lost_frees_its_worker_whatever_it_does(
    installation_on: Callable[[str], Installation], kind: str, args: dict[str, Any], given: bool
) -> None:
    installation = installation_on("sqlite")
    job = enqueue(installation, kind, **args)
    installation.start_worker(include=KINDS, processes=1)
    until(lambda: row(installation, job)["words"] != "", what="the middle of the work")
    if given:
        installation.python(
            f"from judgments.models import Job\nJob.objects.filter(pk={job}).update(owner='elsewhere:1:another')"
        )
    else:
        installation.manage("cancel_job", str(job))
    other = enqueue(installation, count=1)
    until(lambda: row(installation, other)["state"] == "done", what="the next job of the only process")
    assert row(installation, job)["state"] == ("running" if given else "cancelled")


@pytest.mark.long
def test_memory_is_given_back_after_a_job_and_too_much_of_it_ends_no_worker(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    installation.env["JOB_MEMORY_MB"] = "700"
    installation.start_worker(include=KINDS, processes=1)

    def process(megabytes: int) -> int:
        job = enqueue(installation, "note-process", megabytes=megabytes)
        until(lambda: ended(installation, job), what="the end")
        return int(row(installation, job)["result"]["process"])

    first = process(0)
    greedy = enqueue(installation, "ask-for-too-much-memory")
    until(lambda: ended(installation, greedy), what="the end")
    assert "work needed" in error(installation, greedy)
    assert process(700) == first
    assert process(0) != first
    reading = enqueue(installation, "read-file", megabytes=800)
    until(lambda: ended(installation, reading), what="the end")
    assert "work needed" in error(installation, reading)
    assert process(0)


def test_a_message_that_is_cut_short_is_skipped(installation_on: Callable[[str], Installation]) -> None:
    installation = installation_on("sqlite")
    job = enqueue(installation, count=1)
    for number, text in enumerate(("", '{"body": "', "\0\0")):
        (installation.folder / "broker" / f"{number}.heavy.msg").write_text(text)
    (installation.folder / "broker" / ".1.heavy.msg").touch()  # a killed sender's draft
    installation.start_worker(include=KINDS)
    until(lambda: ended(installation, job), what="the end")
    assert row(installation, job)["state"] == "done"
    assert (installation.folder / "worker.log").read_text().count("cannot be read") == 3


def stranger_of(installation: Installation) -> dict[str, str]:
    """The environment of somebody who reaches the broker and has no key."""
    return installation.env | {"SECRET_KEY": "what-a-stranger-thinks-of-0123456789-0123456789"}


def test_a_message_of_somebody_without_the_key_is_dropped_with_one_line(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    code = f"""
import {KINDS}
from config.celery import send_job
for task in ("quorum.make-groups", "quorum.sweep_jobs"):
    send_job(task, 1, queue="heavy")
"""
    fine, _, said = forking.run(code, stranger_of(installation))
    assert fine, said
    job = enqueue(installation, count=2)
    installation.start_worker(include=KINDS, beat=False)
    until(lambda: ended(installation, job), what="the end")
    assert row(installation, job)["groups"] == 2
    log = (installation.folder / "worker.log").read_text()
    for task in ("quorum.make-groups", "quorum.sweep_jobs"):
        assert f"A message for {task} without the signature of this installation is dropped." in log
    assert "Traceback" not in log
    assert not list((installation.folder / "broker").glob("*.msg"))


@pytest.mark.redis
def test_a_message_that_was_changed_at_the_broker_is_dropped(
    installation_on: Callable[[str], Installation], tmp_path: Path
) -> None:
    installation = installation_on("sqlite")
    with redis_server(tmp_path) as (_, url), closing(redis.Redis.from_url(url)) as server:
        installation.env["CELERY_BROKER_URL"] = url
        first, second = enqueue(installation, count=1), enqueue(installation, count=2)
        genuine = [json.loads(text) for text in server.lrange("heavy", 0, -1)]
        server.delete("heavy")
        changed = json.loads(json.dumps(genuine[1]))
        changed["body"] = genuine[0]["body"]
        longer = json.loads(json.dumps(genuine[0]))
        longer["headers"]["timelimit"] = [1e6, 1e6]
        pickled = genuine[0] | {"content-type": "application/x-python-serialize"}
        for message in (changed, longer, pickled):
            server.lpush("heavy", json.dumps(message))
        log = installation.folder / "worker.log"
        installation.start_worker(include=KINDS, beat=False)
        until(lambda: log.exists() and log.read_text().count("is dropped.") == 3, what="three refusals")
        assert [row(installation, job)["state"] for job in (first, second)] == ["queued", "queued"]
        # nor are there channels of commands and elections, whose messages nobody signs
        assert set(server.keys("_kombu.binding.*")) <= {
            f"_kombu.binding.{queue}".encode() for queue in (*registry.QUEUES, pool.PARTS_QUEUE)
        }
        for message in genuine:
            server.lpush("heavy", json.dumps(message))
        for job in (first, second):
            until(lambda job=job: ended(installation, job), what="the end")  # type: ignore[misc]


@pytest.mark.rabbitmq
def test_a_signature_comes_through_rabbitmq(
    installation_on: Callable[[str], Installation],
) -> None:
    installation = installation_on("sqlite")
    with TemporaryDirectory() as folder, rabbitmq_server(Path(folder)) as (_, url):
        installation.env["CELERY_BROKER_URL"] = url
        job = enqueue(installation, "add-in-parts", parts=4)
        installation.start_worker(include=KINDS)
        until(lambda: ended(installation, job), what="the end")
    assert row(installation, job)["result"] == {"total": 14}
