"""The books of a study: nothing beyond the budget, nothing twice, nothing lost; and the examples of docs/crowds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from annotation.crowds import backend_for
from annotation.crowds.outbox.effects import settle_session
from annotation.models import Budget, CrowdSession, LedgerEntry, Publication, Worker
from annotation.money import bookings, ledger
from common.amounts import spell_cents
from common.errors import WrongState
from common.rows.append_only import AppendOnlyError
from judgments.design.study_design import StudyDesign
from judgments.models import Study, StudyEvent
from tests.annotation.casting import make_dataset, make_study
from tests.installations import Installation
from tests.refusals import refuses

PLACE = "mturk-sandbox"


@pytest.fixture
def study(db: None) -> Study:
    made = make_study(make_dataset(pictures=False))
    made.platform = PLACE
    made.save(update_fields=["platform"])
    return made


def published(study: Study, *, places: int = 3, reward: int = 10, fee: int = 2) -> Publication:
    """Something that is up, its places paid for out of the budget's reservation."""
    budget, number = ledger.budget_of(study, PLACE), Publication.objects.count()
    publication = Publication.objects.create(
        study=study, platform=PLACE, token=f"t-{number}", external_id=f"H{number}", number=number + 1,
        state="published", places=places, held_slots=places, reward_cents=reward, fee_cents=fee,
    )  # fmt: skip
    ledger.book_money(
        budget=budget,
        key=f"reserve:{publication.token}",
        what="reserve",
        reserved=places * (reward + fee),
        publication=publication,
    )
    return publication


def handed_in(publication: Publication, name: str = "p-1", external_id: str = "A1") -> CrowdSession:
    worker, _ = Worker.objects.get_or_create(source="crowd", platform=PLACE, name=name)
    return CrowdSession.objects.create(
        study=publication.study, platform=PLACE, publication=publication, worker=worker,
        external_id=external_id, status="submitted",
    )  # fmt: skip


def counters(study: Study) -> tuple[int, int, int]:
    budget = Budget.objects.get(study=study, platform=PLACE)
    assert ledger.ledger_sums(budget) == (budget.reserved_cents, budget.spent_cents)
    assert ledger.reserved_cents(budget) == budget.reserved_cents
    return budget.budget_cents, budget.reserved_cents, budget.spent_cents


def test_publishing_reserves_approving_spends_and_rejecting_gives_back(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    publication = published(study)
    assert counters(study) == (100, 36, 0)
    assert settle_session(session=handed_in(publication), status="approved")
    assert counters(study) == (100, 24, 12)
    assert settle_session(session=handed_in(publication, "p-2", "A2"), status="rejected", feedback="Empty.")
    assert counters(study) == (100, 12, 12)
    assert bookings.release_places(publication=publication, places=1)
    assert counters(study) == (100, 0, 12)


def test_whatever_is_said_twice_is_booked_once(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    publication = published(study)
    session = handed_in(publication)
    assert settle_session(session=session, status="approved")
    assert not settle_session(session=session, status="approved")
    assert not settle_session(session=session, status="rejected")  # what is paid stays paid
    session.refresh_from_db()
    assert not bookings.pay_session(session=session)
    assert bookings.release_places(publication=publication, places=2)
    assert not bookings.release_places(publication=publication, places=1)
    assert counters(study) == (100, 0, 12)


def test_a_rejection_that_is_overridden_needs_its_money_again(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=36)
    publication = published(study)
    session = handed_in(publication)
    settle_session(session=session, status="rejected", feedback="Empty.")
    assert counters(study) == (36, 24, 0)
    published(study, places=1)
    assert counters(study) == (36, 36, 0)
    with refuses(ledger.OverBudget, "0.12 USD", "0.36 USD", "0.00 USD"):
        settle_session(session=session, status="approved")
    session.refresh_from_db()
    assert session.status == "rejected"
    ledger.set_budget(study=study, platform=PLACE, cents=48)
    assert settle_session(session=session, status="approved")
    assert counters(study) == (48, 36, 12)


def test_a_budget_is_never_set_below_what_is_spent_and_reserved(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    published(study)
    with refuses(WrongState, "1.00 USD", "0.00 USD", "0.36 USD"):
        ledger.set_budget(study=study, platform=PLACE, cents=35)
    ledger.set_budget(study=study, platform=PLACE, cents=36)
    assert [event.details["cents"] for event in StudyEvent.objects.filter(what="budget").order_by("pk")] == [
        100,
        36,
    ]


def test_the_database_itself_keeps_a_study_within_its_budget(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    with pytest.raises(IntegrityError), transaction.atomic():
        Budget.objects.filter(study=study).update(reserved_cents=60, spent_cents=41)
    with pytest.raises(AppendOnlyError):
        LedgerEntry.objects.all().delete()


def test_sandbox_and_live_have_books_of_their_own(study: Study) -> None:
    ledger.set_budget(study=study, platform=PLACE, cents=100)
    ledger.set_budget(study=study, platform="mturk-live", cents=5)
    published(study)
    live = Budget.objects.get(study=study, platform="mturk-live")
    assert (live.reserved_cents, live.spent_cents) == (0, 0)


SCENE = """
import json, threading
from django.db import connection
from annotation.money import ledger as money
from judgments.models import Study
from tests.studies import make_study

study = make_study("triplet")
budget = money.set_budget(study=study, platform="mturk-sandbox", cents=130)
start, said = threading.Barrier(12), []

def reserve(key):
    start.wait()
    try:
        said.append(money.book_money(budget=budget, key=key, what="reserve", reserved=30))
    except money.OverBudget:
        said.append("refused")
    finally:
        connection.close()

keys = ["the same"] * 4 + [f"another {number}" for number in range(8)]
people = [threading.Thread(target=reserve, args=[key]) for key in keys]
[person.start() for person in people]
[person.join() for person in people]
budget.refresh_from_db()
found = {"reserved": budget.reserved_cents, "ledger": money.ledger_sums(budget)}
print(json.dumps({"said": sorted(map(str, said)), **found}))
"""


def test_twelve_who_reserve_at_once_have_what_is_there_and_one_booking_once(
    installation_on: Callable[[str], Installation], database: str
) -> None:
    found = json.loads(installation_on(database).python(SCENE).splitlines()[-1])
    assert found["reserved"] == 120
    assert found["ledger"] == [120, 0]
    assert len(found["said"]) == 12
    assert found["said"].count("True") == 4


DOCS = Path(__file__).resolve().parents[3] / "docs" / "crowds"

HITS = 100


def design(crowd: dict[str, Any], **values: Any) -> StudyDesign:
    """A study of triplets."""
    named = {"name": "Told", "slug": "told", "dataset": "told", "protocol": "triplet"}
    return StudyDesign.model_validate(named | {"crowd": {"budget_cents": 1_000_000} | crowd} | values)


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


@pytest.mark.parametrize(
    ("people", "reward", "masters"),
    [(3, 12, False), (3, 12, True), (9, 12, False), (10, 12, False), (3, 1, False)],
)
def test_what_mechanical_turk_costs(people: int, reward: int, masters: bool) -> None:
    asked = design(
        {"backend": "mturk", "reward_cents": reward, "masters": masters}, judgments_per_unit=people
    )
    price = backend_for(asked).price(asked, places=people)
    places = HITS * people
    told = row(
        f"{people} people each" + (", Masters" if masters else ""),
        spell_cents(reward),
        spell_cents(price.fee_cents),
        f"{places:,}",
        spell_cents(places * price.cents),
    )
    assert told in (DOCS / "mturk.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "crowd", "panel"),
    [
        ("panels.md", {"reward_cents": 60, "fee_percent": 33.3}, {"preset": "prolific", "hits": 2}),
        ("panels.md", {"reward_cents": 60, "fee_percent": 25}, {"preset": "connect", "hits": 2}),
        ("panels.md", {"reward_cents": 0}, {"preset": "sona", "hits": 2}),
    ],
)
def test_what_a_panel_costs(page: str, crowd: dict[str, Any], panel: dict[str, Any]) -> None:
    asked = design({"backend": "external"} | crowd, panel=panel, judgments_per_unit=3)
    price = backend_for(asked).price(asked, places=1)
    sessions = -(-HITS * 3 // asked.panel.hits)
    told = row(
        spell_cents(price.reward_cents),
        spell_cents(price.fee_cents),
        str(sessions),
        spell_cents(sessions * price.cents),
    )
    assert told.removeprefix("| ") in (DOCS / page).read_text(encoding="utf-8")


# Whoever has counted what was paid before waits a moment for somebody else who has counted too. Where one of them holds
# what both look at, nobody comes: the wait is in vain, and takes a second.
RACE = """
import json, threading, traceback
from urllib.parse import urlencode
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.urls import reverse
from annotation.models import Budget, CrowdCall, CrowdSession, LedgerEntry, MoneyRequest, Publication
from annotation.money import bookings, call_decisions, operations
from annotation.money import ledger as money
from annotation.work.joining import join_from_crowd
from annotation.crowds.sessions import open_session, worker_for_crowd_id
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
    worker = worker_for_crowd_id(study=study, crowd_id=f"A1ADA{number}", id_name="WorkerId")
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
    return {"status": answer.status_code, "paid": any("is being paid" in one for one in said)}

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
    (operations, "pay_bonus"), (call_decisions, "retry_call"), (operations, "set_budget"),
    (call_decisions, "resolve_as_done"),
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
        found: dict[str, Any] = json.loads(installation.python(f"{RACE}\n{lines}{end}").splitlines()[-1])
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


@pytest.mark.long
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
        f"bookings.reserve_for_call(call=call, cents=60 if {unsure} else 0)\n"
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
money.book_money(budget=money.budget_of(study, study.platform), key="kept", what="reserve", reserved=100)
bookings.book_money = meeting(bookings.book_money)
pay = lambda: bookings.pay_screen_out(session=CrowdSession.objects.get(pk=session.pk))
answers = at_once(pay, pay)
"""
    )
    assert sorted(found["answers"]) == [False, True]
    assert (found["reserved"], found["spent"]) == (50, 50)
