"""What the test of the upgrade does inside the installation; what tells something prints one line of JSON."""

import json
import re
import sys
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection
from django.utils import timezone

from annotation.models import Assignment, CrowdSession
from annotation.money.wages import pay_of_sessions
from annotation.work.sheet.units import page_units_of
from annotation.work.submissions import submit_assignment
from judgments.models import SavedPreset, Study, Unit
from judgments.studies.designs import design_of
from judgments.studies.generation.batches import build_batch

A_DAY = 86_400.0
CASTS = re.compile(r"::character varying|::text|\[\]|[()]")  # PostgreSQL words a restored list otherwise
# What the database names by itself keeps the name that a table or column had in 0.5.0, and hashes of it.
RENAMED = {
    "judgments_keptfigures": "judgments_cachedfigures",
    "judgments_outlook": "judgments_outcomebounds",
    "annotation_assignment_seat": "annotation_assignment_slot",
}
HASH = re.compile(r"_[0-9a-f]{8}(?=_|\b)")
DEFINITIONS = {
    "sqlite": ["SELECT tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"],
    "postgresql": [
        "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT conrelid::regclass::text, conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace",
    ],
}


def hold_a_lease() -> None:
    """Before the upgrade: the last worker took paid work ten hours ago, lost it nine hours ago, and took it up again
    at an unknown time."""
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_assignment SET accepted_at = %s, expires_at = %s "
            "WHERE state = 'accepted' AND session_id IS NOT NULL",
            [now - timedelta(hours=10), now + timedelta(minutes=50)],
        )
        assert cursor.rowcount == 1


def end_the_lease() -> None:
    """After the upgrade: hand in what was held, 20 minutes after the upgrade; tell the gap and the paid seconds."""
    held = Assignment.objects.get(state="accepted", session__isnull=False)
    assert held.session is not None
    ((since, until),) = held.gaps
    answers = [{"position": place.position, "value": 1, "seconds": A_DAY} for place in page_units_of(held)]
    submit_assignment(assignment=held, answers=answers)
    CrowdSession.objects.filter(assignments=held).update(status="submitted")
    handed_in = datetime.fromisoformat(until) + timedelta(minutes=20)
    Assignment.objects.filter(pk=held.pk).update(submitted_at=handed_in)
    unheld = (datetime.fromisoformat(since) - held.accepted_at).total_seconds()
    paid = {pay.session: pay.seconds for pay in pay_of_sessions(held.study)}
    tell({"until the gap": unheld, "paid": paid[held.session.pk]})


def rows() -> None:
    """What the data steps of later versions made of the rows."""
    paid = sorted(pay_of_sessions(Study.objects.get(slug="paid")), key=lambda pay: pay.session)
    designs = {
        study.slug: {
            "pairs": study.design["sampling"].get("pairs_from"),
            "same units": drawn_keys(study)
            == set(Unit.objects.filter(hits__study=study).values_list("key", flat=True)),
        }
        for study in Study.objects.all()
    }
    tell(
        {
            "minutes": [pay.seconds / 60 for pay in paid],
            "designs": designs,
            "preset": SavedPreset.objects.get().values,
            "permissions": Group.objects.get(name="Researchers").permissions.count(),
        }
    )


def drawn_keys(study: Study) -> set[str]:
    """The keys of the units that the design draws with this version."""
    batch = build_batch(design_of(study), study.dataset)
    return {unit.key for hit in batch.hits for unit in hit.units}


def tables() -> None:
    """Every table, with its columns, indexes and constraints in the words of the database."""
    found: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            columns = connection.introspection.get_table_description(cursor, table)
            about = connection.introspection.get_constraints(cursor, table).values()
            found[table] = [f"{column}" for column in columns] + [
                json.dumps(one, default=str) for one in about
            ]
        for statement in DEFINITIONS[connection.vendor]:
            cursor.execute(statement)
            for table, definition in cursor.fetchall():
                found.setdefault(table, []).append(CASTS.sub("", definition))
    tell({table: sorted(map(in_names_of_now, lines)) for table, lines in found.items()})


def in_names_of_now(definition: str) -> str:
    for old, new in RENAMED.items():
        definition = definition.replace(old, new)
    return HASH.sub("_#", definition)


def tell(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
