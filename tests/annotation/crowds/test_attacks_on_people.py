"""Made-up people, ids that repeat, and ids that would stay where nobody looks for them."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from annotation.crowds.base import Refused, TryLater
from annotation.crowds.mturk.backend import MTurkBackend
from annotation.crowds.outbox import ask_to_write, carry_out_calls
from annotation.crowds.people import forget_raw_ids
from annotation.crowds.publishing import close_study, open_study
from annotation.crowds.sessions import MORE_SLOTS
from annotation.errors import SlotTaken
from annotation.models import Assignment, CrowdCall, CrowdSession, Publication, RawId
from annotation.money.payments import decide_session
from evaluation.data.judgment_sets.loaders import hash_of_judgments, load_judgments
from judgments.models import HIT, Study
from judgments.studies.studies import mark_closed, mark_open
from tests.annotation.crowds.panels import ADA, do_page, panel_study, session, start
from tests.annotation.crowds.turking import Crowd, Work, kinds_of, make_turk_study, one_hit, sync, up
from tests.fakes.mturk import Fault, MTurkEmulator
from tests.judgments.desk import do, page, words


@pytest.fixture
def study(db: None) -> Study:
    """At the sandbox by our rows alone; nothing is asked of it."""
    made = make_turk_study(controls={"per_hit": 0})  # a wrong answer to one would set somebody aside
    made.platform = "mturk-sandbox"
    made.save(update_fields=["platform"])
    return mark_open(study=made)


def arrived(study: Study, name: str = "eve") -> Work:
    hit = HIT.objects.filter(study=study)[0]
    publication = Publication.objects.create(
        study=study, platform=study.platform, hit=hit, token="t", external_id="H1", state="published", places=2,
        reward_cents=10, fee_cents=2,
    )  # fmt: skip
    nobody: Any = None  # the service is not asked
    return Crowd(nobody, study).arrive(publication, "MADEUP", name)


def test_answers_count_once_the_crowd_names_their_work(study: Study) -> None:
    """Whoever knows a HIT's id can open its page with an assignment and a worker of their own making."""
    work = arrived(study)
    work.answer()
    table, before = load_judgments(study), hash_of_judgments(study)
    assert table.data_hash == before
    assert len(table.used) == 4
    assert not table.used.any()
    CrowdSession.objects.update(confirmed=True)
    table = load_judgments(study)
    assert table.used.all()
    assert table.data_hash == hash_of_judgments(study) != before


@pytest.mark.parametrize("problem", [Refused, TryLater])
def test_a_refusal_that_names_somebody_is_kept_without_their_id(
    study: Study, problem: type[Exception], monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.CROWD_BACKOFF_SECONDS = 0.0
    work = arrived(study)
    ask_to_write(study=study, workers=[work.session.worker], subject="Hello", text="You there")

    def refuse(self: MTurkBackend, call: CrowdCall) -> dict[str, Any]:
        raise problem("Worker AEVE (id=AEVE/1) cannot be written to; AEVEN is another one.")

    monkeypatch.setattr(MTurkBackend, "carry_out", refuse)
    carry_out_calls(study=study, wait=lambda seconds: None)
    said = CrowdCall.objects.get().problem
    assert "cannot be written to; AEVEN is another one." in said
    assert "AEVE " not in said
    assert "=AEVE/" not in said


def test_ids_that_people_wrote_into_reasons_messages_and_forms_are_forgotten_too(study: Study) -> None:
    work = arrived(study)
    (call,) = ask_to_write(
        study=study, workers=[work.session.worker], subject="Hello AEVE", text="Dear AEVE, 7 cents for AEVE!"
    )
    CrowdCall.objects.update(answer={"list": 1, "of": ["AEVE"]}, why="AEVE asked")
    CrowdSession.objects.update(receipt="<FreeText>AEVE</FreeText>")
    assert RawId.objects.count() == 1
    mark_closed(study=study)
    assert forget_raw_ids(study=study) == 1
    call.refresh_from_db()
    assert call.payload == {"subject": "Hello …", "text": "Dear …, 7 cents for …!"}
    assert (call.answer, call.why) == ({"list": 1, "of": ["…"]}, "… asked")
    assert CrowdSession.objects.get().receipt == "<FreeText>…</FreeText>"


def test_a_panel_may_give_a_person_the_same_submission_id_in_two_studies(db: None) -> None:
    one = panel_study()
    two = panel_study(slug="another", dataset="more-shapes")
    for study in (one, two):
        _, answer = start(study, ADA)
        assert answer.status_code == 303
    first, second = CrowdSession.objects.order_by("pk")
    assert first.worker == second.worker
    assert first.external_id != second.external_id


def test_two_windows_pay_one_bonus(db: None, client: Client) -> None:
    client.force_login(User.objects.create_superuser("designer"))
    study = panel_study()
    browser, _ = start(study, ADA)
    do_page(study, browser)
    decide_session(session=session(study), approve=True)
    shown = re.search(r'name="seen" value="([0-9]+)"', client.get(page(study, "crowd")).content.decode())
    assert shown is not None
    form = {"page": "crowd", "worker": session(study).worker.name, "amount": "0.30", "why": "Thanks."}

    def press(seen: str) -> str:
        return words(client.post(do(study, "bonus"), form | {"seen": seen}, follow=True))

    assert "is on its way" in press(shown[1])
    assert "was asked for since this page was loaded" in press(shown[1])
    assert "was asked for since this page was loaded" in press("")
    assert CrowdCall.objects.filter(kind="bonus").count() == 1
    assert "is on its way" in press(str(CrowdCall.objects.get(kind="bonus").pk))


def test_made_up_assignments_turn_nobody_away_who_accepted(turk: MTurkEmulator) -> None:
    study = one_hit(people=2)
    open_study(study=study)
    publication = up(study)[0]
    crowd = Crowd(turk, study)
    for number in range(2):
        crowd.arrive(publication, f"MADEUP{number}", f"eve{number}")
    with pytest.raises(SlotTaken, match="does not know your assignment"):
        crowd.arrive(publication, "MADEUP9", "eve9")
    for name in ("ada", "ben"):
        crowd.do(publication, name)
    assert not kinds_of(sync(study))
    assert CrowdSession.objects.filter(confirmed=True).count() == 2
    close_study(study=study)
    turk.clock.advance(days=8)
    sync(study)
    assert sorted(Assignment.objects.values_list("state", flat=True)) == ["expired"] * 2 + ["submitted"] * 2
    hit = HIT.objects.get()
    assert (hit.required, hit.open_slots) == (2, 0)


def test_an_assignment_that_was_accepted_gives_one_slot(turk: MTurkEmulator) -> None:
    study = one_hit(people=2)
    open_study(study=study)
    publication = up(study)[0]
    crowd = Crowd(turk, study)
    taken = crowd.turker("eve").accept(publication.external_id).assignment_id
    for number in range(30):
        crowd.arrive(publication, taken, f"eve{number}")
    assert Assignment.objects.filter(state="accepted").count() == 1


def test_while_the_crowd_does_not_answer_a_few_more_are_let_in(turk: MTurkEmulator) -> None:
    study = one_hit(people=1)
    open_study(study=study)
    publication = up(study)[0]
    crowd = Crowd(turk, study)
    with turk.faults.during(Fault("drop_before")):
        for number in range(MORE_SLOTS + 1):
            crowd.arrive(publication, f"UNKNOWN{number}", f"w{number}")
        with pytest.raises(SlotTaken):
            crowd.arrive(publication, "UNKNOWN", "last")
    crowd.do(publication, "ada")
