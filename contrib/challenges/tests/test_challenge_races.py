"""Many at the same moment: never more uploads than a day takes, and no reference that becomes readable meanwhile."""

import json
from collections.abc import Callable

from tests.installations import Installation

RACE = """
import json, threading
from django.db import connection
from contrib.challenges.errors import LimitReached
from contrib.challenges.models import Submission
from contrib.challenges.tests.challenging import a_challenge, participant, submit

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


OPENED_MEANWHILE = """
import json, threading
from django.db import connection
from common.errors import DesignError, WrongState
from contrib.challenges.errors import ChallengeError
from contrib.challenges.models import Challenge
from judgments.access.dataset_roles import share_dataset
from judgments.design.reading.checking import make_design
from judgments.models import Dataset
from judgments.studies.studies import create_study
from contrib.challenges.tests.challenging import a_challenge, references
from tests.evaluation.studies import make_dataset

read = 0
for number in range(6):
    name = f"lawns-{number}"
    dataset = make_dataset(name, references(), "test")
    share_dataset(dataset=dataset, sharing="members")
    design = make_design({"name": name, "dataset": name, "protocol": "relevance"})
    start = threading.Barrier(3)

    def do(action):
        try:
            start.wait()
            action()
        except (ChallengeError, DesignError, WrongState):
            pass
        finally:
            connection.close()

    threads = [
        threading.Thread(target=do, args=(action,))
        for action in (
            lambda: a_challenge(name),
            lambda: share_dataset(dataset=dataset, sharing="published"),
            lambda: create_study(design=design),
        )
    ]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    dataset.refresh_from_db()
    read += dataset.challenges.exists() and (dataset.sharing != "members" or dataset.studies.exists())
print(read)
"""


def test_no_dataset_is_shared_or_studied_while_a_challenge_of_it_is_made(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    assert installation_on(database).python(OPENED_MEANWHILE).splitlines()[-1] == "0"
