"""Submissions and senders at the same time: each event is told once."""

import json
from collections.abc import Callable

import pytest

from contrib.webhooks.tests.listening import listening
from tests.installations import Installation

LAST = """
import json
from functools import partial
from annotation.models import Assignment
from annotation.work.claims import (claim_assignment)
from annotation.work.submissions import submit_and_claim
from contrib.webhooks.delivery import send_webhooks
from contrib.webhooks.models import WebhookDelivery
from contrib.webhooks.operations import store_webhook
from tests.annotation.voting import always_first, answers_of, joined, work
from tests.forking import all_at_once
from tests.studies import make_study
study = make_study(
    "pairwise", controls={{"per_hit": 0}}, judgments_per_unit=2, stopping={{"rule": {rule!r}, "full_depth": 1}},
)
store_webhook(study=study, url={url!r}, events=["assignment.submitted", "study.completed"])
people = [joined(study, name) for name in ("ada", "bela")]
hits = study.hits.count()
for worker in people:
    work(study, worker, always_first, most=hits - 1)
held = [claim_assignment(study=study, worker=worker).assignment for worker in people]
answers = [answers_of(one, one.worker, always_first) for one in held]

# two senders beside the two last submissions
hand_in = [partial(submit_and_claim, assignment=one, answers=given) for one, given in zip(held, answers)]
wrong = all_at_once(*hand_in, send_webhooks, send_webhooks)
send_webhooks()
print(json.dumps({{
    "wrong": wrong, "submitted": Assignment.objects.filter(state="submitted").count(),
    "states": sorted(WebhookDelivery.objects.values_list("event", "state", "attempts")),
}}))
"""


@pytest.mark.parametrize("rule", ["none", "settled"])
def test_the_last_two_submissions_at_once_are_told_once_each_and_the_completion_once(
    installation_on: Callable[[str], Installation], database: str, rule: str
) -> None:
    with listening() as there:
        installation = installation_on(database)
        installation.env["WEBHOOK_PRIVATE"] = "true"
        found = json.loads(installation.python(LAST.format(url=there.url, rule=rule)).splitlines()[-1])
        assert found["wrong"] == []
        told = [one.said for one in there.heard]
    ended = [one for one in told if one["event"] == "study.completed"]
    assert [one["data"] for one in ended] == [{"because": "all-judged", "assignments": found["submitted"]}]
    assert len({one["id"] for one in told}) == len(told) == found["submitted"] + 1
    assert {(state, attempts) for _, state, attempts in found["states"]} == {("delivered", 1)}
