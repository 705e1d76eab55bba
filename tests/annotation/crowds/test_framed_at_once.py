"""Frames that load at the same moment, on both kinds of database."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.annotation.crowds.framing import SITE
from tests.crowd import all_at_once
from tests.installations import Installation

MAKE_STUDY = """
from tests.annotation.crowds.framing import first_publication, study_at_mturk
study = study_at_mturk()
print(study.slug, first_publication(study).external_id)
"""
FOUND = """
import json
from annotation.models import Assignment, CrowdSession, Worker
from judgments.models import HIT
held = Assignment.objects.filter(state="accepted")
hit = HIT.objects.order_by("position").first() if not held else held[0].hit
print(json.dumps({
    "workers": Worker.objects.count(),
    "sessions": sorted(CrowdSession.objects.values_list("status", flat=True)),
    "accepted": held.count(),
    "seats": len(set(held.values_list("slot", flat=True))),
    "hit": [hit.required, hit.open_slots, hit.assignments.filter(state="accepted").count()],
}))
"""


def load(url: str) -> int:
    """What the frame's address answers, down to the page of work."""
    try:
        with urllib.request.urlopen(url, timeout=60) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        error.close()
        return int(error.code)


def found(installation: Installation) -> dict[str, Any]:
    rows: dict[str, Any] = json.loads(installation.python(FOUND).splitlines()[-1])
    return rows


def test_frames_that_load_at_once_make_one_session_each_and_share_no_seat(
    live_server_on: Callable[[str], Installation], database: str
) -> None:
    installation = live_server_on(database)
    slug, hit = installation.python(MAKE_STUDY).splitlines()[-1].split()

    def entry(worker: str, assignment: str) -> str:
        asked = f"hitId={hit}&workerId={worker}&assignmentId={assignment}&turkSubmitTo={SITE}"
        return f"{installation.url}/s/{slug}/mturk/?{asked}"

    statuses: list[int] = []

    def arrive(worker: str, assignment: str) -> None:
        statuses.append(load(entry(worker, assignment)))

    all_at_once([partial(arrive, "A1", "3A1") for _ in range(6)])
    assert statuses == [200] * 6
    assert found(installation) == {
        "workers": 1,
        "sessions": ["working"],
        "accepted": 1,
        "seats": 1,
        "hit": [2, 1, 1],
    }
    # more people than seats, and an id that is going on to one of them
    statuses.clear()
    all_at_once(
        [partial(arrive, f"A{number}", f"3A{number}") for number in range(2, 7)]
        + [partial(arrive, "A7", "3A1")]
    )
    assert statuses == [200] * 6
    after = found(installation)
    assert after["sessions"] == ["returned"] + ["working"] * 6
    assert (after["accepted"], after["seats"]) == (6, 6)
    required, free, held = after["hit"]
    assert required == free + held
