"""Who hands out work passes a gate that pausing and closing shut, so that one is over before the other begins.

SQLite lets one write at a time, and needs nothing. On PostgreSQL a claim that found the study open could otherwise
commit after the pause did, and hand out work that nobody was told of. It is an advisory lock rather than one on the
study's row: claims would write to that row, and a stream of them that overlap would keep a pause waiting for ever.

It is the first lock of a transaction: before assignments, pairs and HITs.
"""

from __future__ import annotations

from django.db import connection

from judgments.models import Study

GATE = 0x51D0  # Quorum's own class of advisory locks; the study's id is the other half
SHARED = "SELECT pg_advisory_xact_lock_shared(%s, %s)"
ALONE = "SELECT pg_advisory_xact_lock(%s, %s)"


def pass_gate(study: Study) -> None:
    """Within the transaction that is to hand out work, before it looks whether the study takes any."""
    _ask(SHARED, study)


def shut_gate(study: Study) -> None:
    """At the beginning of the transaction that ends the handing out: waits for what is under way."""
    _ask(ALONE, study)


def _ask(how: str, study: Study) -> None:
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            how, [GATE, study.pk % 2**31]
        )  # two studies that share a gate only wait for one another
