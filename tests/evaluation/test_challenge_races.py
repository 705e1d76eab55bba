"""Many uploads of one account at the same moment: never more than the challenge takes in a day."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.installations import Installation

RACE = """
import json, threading
from django.db import connection
from evaluation.errors import LimitReached
from evaluation.models import Submission
from tests.evaluation.challenging import a_challenge, participant, submit

challenge, ada = a_challenge(per_day=3), participant()
start, told = threading.Barrier(8), []

def upload(good):
    try:
        start.wait()
        told.append(submit(challenge, ada, good).pk)
    except LimitReached:
        told.append(None)
    finally:
        connection.close()

# the last two are the same captions: one submission, or none
threads = [threading.Thread(target=upload, args=(good,)) for good in (1, 2, 3, 4, 5, 6, 7, 7)]
for thread in threads: thread.start()
for thread in threads: thread.join()
rows = Submission.objects.order_by("nth")
print(json.dumps({
    "told": len(told), "taken": len({pk for pk in told if pk}),
    "nth": list(rows.values_list("nth", "nth_of_day")), "hashes": rows.values("sha256").distinct().count(),
}))
"""


def test_uploads_at_once_pass_no_limit(installation_on: Callable[[str], Installation], database: str) -> None:
    found = json.loads(installation_on(database).python(RACE).splitlines()[-1])
    assert found == {"told": 8, "taken": 3, "nth": [[1, 1], [2, 2], [3, 3]], "hashes": 3}
