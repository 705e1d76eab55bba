"""Leases of paid work from before gaps were noted: what is not known to have been held is not paid."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from annotation.crowds.publishing import open_study
from annotation.models import Assignment, CrowdSession
from annotation.money.costs import pay_of_sessions
from annotation.work.submissions import submit_assignment
from judgments.models import StudyEvent
from tests.annotation.crowds.turking import Crowd, emulated, one_hit, up

BEFORE, AFTER = "0012_money_requests_by_programs", "0013_gaps_of_leases"
A_DAY = 86_400.0


def clock(text: str) -> datetime:
    return datetime.fromisoformat(f"2025-03-01T{text}:00+00:00").astimezone(UTC)


def migrated_again() -> None:
    """Back to the table as it was, and forth through the step that fills in the gaps."""
    for name in (BEFORE, AFTER):
        MigrationExecutor(connection).migrate([("annotation", name)])
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


# taken, end of the lease, handed in, how often extended -> minutes that are paid, of leases of 60 min. The researcher
# added 30 min at 10:40, and 300 min at 15:00.
ROWS: list[tuple[tuple[str, str, str, int], int]] = [
    (("03:00", "04:00", "03:50", 0), 50),  # one lease
    (("03:00", "04:50", "04:40", 1), 100),  # extended at 03:50
    (("10:00", "11:30", "11:20", 0), 80),  # 30 min of the researcher's
    (("10:00", "12:30", "12:20", 1), 140),  # and extended at 11:30
    (
        ("10:00", "21:00", "20:10", 0),
        90,
    ),  # lost at 11:30 and taken up again; what was added at 15:00 was not for it
    (("03:00", "14:00", "13:10", 0), 60),  # lost at 04:00 and taken up again
    (("03:00", "14:00", "13:10", 2), 60),  # extended, nobody knows when, and taken up again
    (("14:30", "20:30", "20:20", 0), 350),  # 300 min of the researcher's
]


@pytest.mark.django_db(transaction=True)
def test_of_leases_of_before_no_more_is_paid_than_is_certain() -> None:
    with emulated() as turk:
        study = one_hit(people=len(ROWS), crowd={"floor_cents_per_hour": 900, "lease_minutes": 60})
        open_study(study=study)
        crowd = Crowd(turk, study)
        works = [crowd.accept(up(study)[0], f"w{number}") for number in range(len(ROWS))]
        for work, ((taken, ends, handed_in, extended), _minutes) in zip(works, ROWS, strict=True):
            given: list[dict[str, Any]] = [one | {"seconds": A_DAY} for one in work.answers()]
            submit_assignment(assignment=work.assignment, answers=given)
            Assignment.objects.filter(pk=work.assignment.pk).update(
                accepted_at=clock(taken),
                expires_at=clock(ends),
                submitted_at=clock(handed_in),
                extended=extended,
            )
            CrowdSession.objects.filter(pk=work.session.pk).update(status="submitted")
    for minutes, text in ((30, "10:40"), (300, "15:00")):
        StudyEvent.objects.create(
            study=study, slug=study.slug, what="leases-extended", at=clock(text), details={"minutes": minutes}
        )

    migrated_again()

    paid = {pay.session: pay.seconds / 60 for pay in pay_of_sessions(study)}
    expected = [minutes for _row, minutes in ROWS]
    assert [paid[work.session.pk] for work in works] == expected


@pytest.mark.django_db(transaction=True)
def test_a_lease_that_runs_during_the_migration_counts_from_then_on() -> None:
    """Taken ten hours ago, lost nine hours ago, and taken up again, nobody knows when."""
    with emulated() as turk:
        study = one_hit(crowd={"floor_cents_per_hour": 900, "lease_minutes": 60})
        open_study(study=study)
        work = Crowd(turk, study).accept(up(study)[0], "ada")
        now = timezone.now()
        Assignment.objects.update(
            accepted_at=now - timedelta(hours=10), expires_at=now + timedelta(minutes=50)
        )

        migrated_again()

        (((since, until),),) = Assignment.objects.values_list("gaps", flat=True)
        assert datetime.fromisoformat(since) == now - timedelta(hours=9)
        submit_assignment(
            assignment=work.refreshed()[1], answers=[one | {"seconds": A_DAY} for one in work.answers()]
        )
        CrowdSession.objects.update(status="submitted")
        handed_in = datetime.fromisoformat(until) + timedelta(minutes=20)
        Assignment.objects.update(submitted_at=handed_in)

        assert [pay.seconds for pay in pay_of_sessions(study)] == [(60 + 20) * 60]
