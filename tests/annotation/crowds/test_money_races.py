"""The same money asked for at the same moment: by programs, by the page, and by both."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.installations import Installation

# Whoever has counted what was paid before waits a moment for somebody else who has counted too. Where one of them holds
# what both look at, nobody comes: the wait is in vain, and takes a second.
SCENE = """
import json, threading, traceback
from urllib.parse import urlencode
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.urls import reverse
from annotation.models import Budget, CrowdCall, CrowdSession, LedgerEntry, MoneyRequest, Publication
from annotation.money import ledger as money
from annotation.money import operations
from annotation.work.joining import join_from_crowd
from annotation.crowds.sessions import open_session, person_sent
from judgments.models import StudyEvent
from tests.annotation.casting import make_dataset
from tests.annotation.crowds.framing import study_at_mturk
from tests.doors import key_of

owner = User.objects.create_superuser("owner")
headers = key_of(owner, "money:read", "money:write")
study = study_at_mturk(make_dataset(pictures=False))
money.set_budget(study=study, platform=study.platform, cents=10_000)
names = []
for number, up in enumerate(Publication.objects.filter(study=study).order_by("pk")[:2]):
    worker = person_sent(study=study, raw=f"A1ADA{number}", name="WorkerId")
    join_from_crowd(study=study, worker=worker, consent=True)
    session = open_session(publication=up, worker=worker, external_id=f"3ADA{number}")
    CrowdSession.objects.filter(pk=session.pk).update(status="approved", confirmed=True)
    names.append(worker.name)

def look(path, **asked):
    answer = Client(SERVER_NAME="127.0.0.1").get(f"/api/{path}?{urlencode(asked)}", headers=headers)
    assert answer.status_code == 200, answer.content
    return answer.json()["confirm"]

def send(path, body, key):
    answer = Client(SERVER_NAME="127.0.0.1").post(
        f"/api/{path}", json.dumps(body), content_type="application/json", headers=headers | {"Idempotency-Key": key}
    )
    return {
        "status": answer.status_code, "again": "Idempotency-Replayed" in answer, "said": answer.json(),
    }

def press(**form):
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(owner)
    url = reverse("admin:judgments_study_do", args=[study.pk, "bonus"])
    answer = client.post(url, {"page": "crowd", "seen": "0", **form})
    said = [str(one) for one in get_messages(answer.wsgi_request)]
    return {"status": answer.status_code, "paid": any("is on its way" in one for one in said)}

def meeting(act):
    room = threading.Barrier(2)
    def held_up(**given):
        try:
            room.wait(1)
        except threading.BrokenBarrierError:
            pass
        return act(**given)
    return held_up

for module, name in (
    (operations, "pay_bonus"), (operations, "retry_call"), (operations, "set_budget"),
    (operations, "resolve_as_done"),
):
    setattr(module, name, meeting(getattr(module, name)))

wrong = []

def at_once(*acts):
    start, found = threading.Barrier(len(acts)), {}
    def one(number, act):
        try:
            start.wait(60)
            found[number] = act()
        except BaseException:
            wrong.append(traceback.format_exc()[-1500:])
        finally:
            connection.close()
    threads = [threading.Thread(target=one, args=pair) for pair in enumerate(acts)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return [found[number] for number in sorted(found)]

def books():
    budget = Budget.objects.get(study=study)
    return {
        "budget": budget.budget_cents, "reserved": budget.reserved_cents, "spent": budget.spent_cents,
        "ledger": list(money.ledger_sums(budget)), "kept": money.reserved_cents(budget),
        "calls": list(CrowdCall.objects.order_by("pk").values_list("payload__bonus_cents", flat=True)),
        "log": StudyEvent.objects.filter(study=study, what="bonus").count(), "notes": MoneyRequest.objects.count(),
    }

def parked(**values):
    session = CrowdSession.objects.filter(study=study).first()
    call = CrowdCall.objects.create(
        study=study, platform=study.platform, kind="bonus", key="p", state="parked", problem="Lost.", session=session,
        worker=session.worker, payload={"bonus_cents": 50, "cents": 60}, **values,
    )
    return call

def bonus(cents, worker=0):
    path = f"studies/{study.slug}/bonus/"
    confirm = look(path, worker=names[worker], cents=cents)
    body = {"worker": names[worker], "cents": cents, "why": "Thanks.", "confirm": confirm}
    return lambda key: lambda: send(path, body, key)
"""


@pytest.fixture
def scene(installation_on: Callable[[str], Installation], database: str) -> Callable[[str], dict[str, Any]]:
    """What the lines find in ``answers``, and the books after it."""
    installation = installation_on(database)

    def play(lines: str) -> dict[str, Any]:
        end = '\nprint(json.dumps({"answers": answers, "wrong": wrong, **books()}))'
        found: dict[str, Any] = json.loads(installation.python(f"{SCENE}\n{lines}{end}").splitlines()[-1])
        assert found["wrong"] == []
        assert found["ledger"] == [found["reserved"], found["spent"]]
        assert found["kept"] == found["reserved"]
        return found

    return play


def statuses(found: dict[str, Any]) -> list[int]:
    return sorted(answer["status"] for answer in found["answers"])


def test_one_request_sent_four_times_at_once_is_done_once_and_answered_alike(
    scene: Callable[[str], dict[str, Any]],
) -> None:
    found = scene('pay = bonus(50)\nanswers = at_once(*[pay("same")] * 4)')
    assert statuses(found) == [202] * 4
    assert sorted(answer["again"] for answer in found["answers"]) == [False, True, True, True]
    assert all(answer["said"] == found["answers"][0]["said"] for answer in found["answers"])
    assert (found["calls"], found["reserved"], found["log"], found["notes"]) == ([50], 60, 1, 1)


def test_one_preview_confirmed_four_times_at_once_under_keys_of_their_own_is_paid_once(
    scene: Callable[[str], dict[str, Any]],
) -> None:
    found = scene('pay = bonus(50)\nanswers = at_once(*[pay(f"k{n}") for n in range(4)])')
    assert statuses(found) == [202, 409, 409, 409]
    assert (found["calls"], found["reserved"], found["log"], found["notes"]) == ([50], 60, 1, 1)


def test_the_page_and_a_program_that_pay_the_same_worker_at_once_do_not_pay_for_each_other(
    scene: Callable[[str], dict[str, Any]],
) -> None:
    found = scene(
        "pay = bonus(50)\n"
        'answers = at_once(pay("k"), lambda: press(worker=names[0], amount="0.70", why="Thanks."))'
    )
    program, page = found["answers"]
    assert page["status"] == 302
    # whoever comes second is told that a bonus was asked for meanwhile
    assert (program["status"], page["paid"]) in [(202, False), (409, True)]
    assert (found["calls"], found["reserved"]) == (([50], 60) if program["status"] == 202 else ([70], 84))
    assert found["log"] == 1


def test_the_page_sent_twice_at_once_pays_and_logs_one_bonus(scene: Callable[[str], dict[str, Any]]) -> None:
    found = scene('answers = at_once(*[lambda: press(worker=names[0], amount="0.70", why="Thanks.")] * 2)')
    assert sorted(answer["paid"] for answer in found["answers"]) == [False, True]
    assert (found["calls"], found["reserved"], found["log"]) == ([70], 84, 1)


def test_of_two_bonuses_at_once_the_budget_pays_the_one_that_it_has_room_for(
    scene: Callable[[str], dict[str, Any]],
) -> None:
    found = scene('answers = at_once(bonus(5_000)("a"), bonus(5_000, worker=1)("b"))')
    assert statuses(found) == [202, 409]
    refused = next(answer for answer in found["answers"] if answer["status"] == 409)
    assert "nothing was booked" in refused["said"]["detail"]
    assert (found["calls"], found["reserved"], found["notes"]) == ([5_000], 6_000, 1)


def test_a_budget_changed_by_two_at_once_is_what_one_of_them_confirmed(
    scene: Callable[[str], dict[str, Any]],
) -> None:
    found = scene(
        'path = f"studies/{study.slug}/budget/"\n'
        "bodies = [{'cents': cents, 'confirm': look(path, cents=cents)} for cents in (11_000, 12_000)]\n"
        "answers = at_once(*[lambda body=body: send(path, body, str(body['cents'])) for body in bodies])"
    )
    assert statuses(found) == [202, 409]
    first = found["answers"].index(next(one for one in found["answers"] if one["status"] == 202))
    assert found["budget"] == (11_000, 12_000)[first]


@pytest.mark.parametrize("step", ["retry", "was-done"])
def test_a_call_that_was_given_up_is_decided_on_once(
    scene: Callable[[str], dict[str, Any]], step: str
) -> None:
    unsure = step != "retry"
    found = scene(
        f"call = parked(answer={{'unsure': True}} if {unsure} else {{}})\n"
        f"money.reserve_for_call(call=call, cents=60 if {unsure} else 0)\n"
        f"path = f'crowd-calls/{{call.pk}}/{step}/'\n"
        "body = {'confirm': look(path)}\n"
        "answers = at_once(*[lambda key=key: send(path, body, key) for key in 'abc'])"
    )
    assert statuses(found) == [202, 409, 409]
    assert (found["reserved"], found["spent"]) == ((0, 60) if unsure else (60, 0))
    assert found["notes"] == 1


def test_two_comparisons_at_once_book_a_paid_screen_out_once(scene: Callable[[str], dict[str, Any]]) -> None:
    found = scene(
        """
session = CrowdSession.objects.filter(study=study).select_related("study").first()
up = Publication.objects.filter(pk=session.publication_id)
up.update(screen_outs=2, screen_outs_held=2, screen_out_cents=50)
money.book(budget=money.budget_of(study, study.platform), key="kept", what="reserve", reserved=100)
money.book = meeting(money.book)
pay = lambda: money.pay_screen_out(session=CrowdSession.objects.get(pk=session.pk))
answers = at_once(pay, pay)
"""
    )
    assert sorted(found["answers"]) == [False, True]
    assert (found["reserved"], found["spent"]) == (50, 50)
