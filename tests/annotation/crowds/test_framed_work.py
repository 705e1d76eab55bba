"""Work inside Mechanical Turk's frame: saving, handing in, being late, ids that pass on; and notifications."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from annotation.crowds.mturk.notifications import amazon as sns_requests
from annotation.models import Assignment, CrowdSession, Judgment, Participation, Publication, QuizAttempt
from annotation.work.slots.release import expire_overdue
from contrib.quiz.attempts.content import content_of
from contrib.quiz.tests.quizzing import QUESTIONS, right_answers
from judgments.models import Job, Study
from tests.annotation.crowds.framing import (
    ARN,
    CERTIFICATE_URL,
    EVENTS,
    SITE,
    Turker,
    Work,
    certificate,
    first_publication,
    hidden_fields,
    message,
    study_at_mturk,
)
from tests.annotation.posting import positions_on

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return study_at_mturk()


def in_json(work: Work, value: int = 1) -> dict[str, Any]:
    return {"answers": [{"position": int(one), "value": value} for one in positions_on(work.html)]}


def let_time_pass(turker: Turker) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Assignment.objects.filter(pk=turker.assignment.pk).update(expires_at=past)


def test_the_page_has_one_hit_and_leads_nowhere_else(study: Study) -> None:
    html = Turker(study).begin().html
    for word in ("data-ahead", "data-extend", "data-retake", "/me/", "/language/", "Take this page again"):
        assert word not in html, word
    addresses = re.findall(r'(?:href|action|formaction|src|data-save)="(/[^"]*)"', html)
    assert addresses
    assert all(one.startswith(("/f/", "/static/")) for one in addresses), addresses


def test_handing_in_stores_the_judgments_first_and_then_asks_for_the_post(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    response = work.submit(follow=True)
    assert response.redirect_chain[-1][0].endswith("/finish/")
    html = response.content.decode()
    assert f'action="{SITE}/mturk/externalSubmit"' in html
    assert hidden_fields(html) == {"assignmentId": ada.assignment_id, "receipt": str(ada.assignment.pk)}
    assert (ada.assignment.state, ada.session.status) == ("submitted", "submitted")
    assert not ada.session.confirmed
    assert Judgment.objects.filter(assignment=ada.assignment).count() == len(positions_on(work.html))


def test_the_pages_script_hands_in_too_and_gets_no_next_page(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    reply = work.call("submit", in_json(work))
    assert reply.status_code == 200, reply.content
    assert reply.json() == {"next": None, "where": work.at("finish/")}
    assert ada.session.status == "submitted"
    assert Assignment.objects.count() == 1


def test_a_form_that_leaves_answers_out_is_shown_again_with_the_rest(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    fields = work.answers()
    left_out = fields.popitem()
    response = work.submit(fields)
    assert response.status_code == 422
    assert "Your answers are saved, but they are not submitted yet." in response.content.decode()
    assert ada.session.status == "working"
    assert work.submit(dict([left_out])).status_code == 303
    assert ada.session.status == "submitted"


def test_saving_says_so_on_the_next_page_without_a_cookie(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    saved = ada.client.post(work.form.replace("/submit/", "/save/"), work.answers(), follow=True)
    assert "Saved. You can go on now or later." in saved.content.decode()
    assert ada.client.cookies.output() == ""
    forged = work.get("work/?said=" + quote("You owe us money."))
    assert "You owe us money." not in forged.content.decode()


def test_whoever_comes_back_after_handing_in_finds_the_last_step_again(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    first = work.submit(follow=True)
    for again in (ada.arrive(), work.get("finish/"), work.get("work/", follow=True)):
        assert hidden_fields(again.content.decode()) == hidden_fields(first.content.decode())
    assert work.submit().status_code == 303  # pressed twice
    assert Judgment.objects.count() == len(positions_on(work.html))
    CrowdSession.objects.update(confirmed=True)
    html = ada.arrive().content.decode()
    assert "the HIT is submitted to Mechanical Turk" in html
    assert "<form" not in html


def test_a_kill_between_the_answers_and_the_session_is_mended_by_the_last_step(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    work.submit()
    CrowdSession.objects.update(status="working")
    assert work.get("work/", follow=True).status_code == 200
    assert ada.session.status == "submitted"


def test_other_answers_after_handing_in_are_refused(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    assert work.call("submit", in_json(work, 1)).status_code == 200
    reply = work.call("submit", in_json(work, 2))
    assert (reply.status_code, reply.json()["why"]) == (409, "over")


def test_an_id_that_passes_on_fences_the_old_page_and_gives_a_fresh_one(study: Study) -> None:
    ada = Turker(study)
    old = ada.begin()
    old.call("save", in_json(old))
    bob = Turker(study, worker_id="A1BOB")  # the same assignment id
    new = bob.begin()
    assert ada.session.status == "returned"
    assert ada.assignment.state == "returned"
    assert ada.assignment.answers
    assert " checked" not in new.html.split("data-work")[1].split("data-by-itself")[0]
    for what in ("save", "submit"):
        reply = old.call(what, in_json(old))
        assert reply.status_code == 409
        assert reply.json()["why"] == "over"
        assert "Turk gave" in reply.json()["detail"]
    assert old.submit().status_code == 409
    assert old.get().status_code == 409
    assert bob.assignment.state == "accepted"
    assert new.submit().status_code == 303
    assert Judgment.objects.exclude(assignment=bob.assignment).count() == 0


def test_an_id_that_comes_back_to_the_same_worker_opens_the_work_again(study: Study) -> None:
    ada = Turker(study)
    ada.begin()
    bob = Turker(study, worker_id="A1BOB")
    fenced = bob.begin()
    again = ada.begin()
    assert (ada.session.status, bob.session.status) == ("working", "returned")
    assert fenced.get().status_code == 409
    assert again.submit().status_code == 303
    assert Assignment.objects.filter(session=ada.session).count() == 2


def test_work_that_was_handed_in_stays_when_its_id_passes_on(study: Study) -> None:
    ada = Turker(study)
    ada.begin().submit()
    bob = Turker(study, worker_id="A1BOB")
    bob.begin()
    assert ada.session.status == "submitted"
    assert ada.assignment.state == "submitted"


def test_what_comes_after_the_time_is_kept_apart_and_said_so(study: Study) -> None:
    for number, script in enumerate((True, False)):
        ada = Turker(study, worker_id=f"A{number}", assignment_id=f"3A{number}")
        work = ada.begin()
        let_time_pass(ada)
        reply = work.call("submit", in_json(work)) if script else work.submit()
        assert reply.status_code == 409
        if script:
            assert reply.json()["why"] == "late"
        assert "stored separately" in reply.content.decode()
        assert (ada.assignment.state, ada.session.status) == ("apart", "timed-out")
        own = Judgment.objects.filter(assignment=ada.assignment)
        assert own.count() == len(positions_on(work.html))
        assert not own.current().exists()
        again = work.submit()  # doubled
        assert again.status_code == 409
        assert own.count() == len(positions_on(work.html))
        assert "stored separately" in work.get().content.decode()
    hit = ada.hit
    assert hit.open_slots == hit.required == 2
    call_command("check_integrity")


def test_after_the_time_a_draft_is_refused_and_work_that_is_not_complete_is_kept_as_one(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    let_time_pass(ada)
    reply = work.call("save", in_json(work))
    assert (reply.status_code, reply.json()["why"]) == (409, "late")
    assert "allows for this HIT is over" in work.get().content.decode()
    one = in_json(work)["answers"][:1]
    assert work.call("submit", {"answers": one}).status_code == 409
    assert ada.assignment.state == "expired"
    assert len(ada.assignment.answers) == 1
    assert not Judgment.objects.exists()


def test_who_gets_the_same_id_again_after_the_time_finds_the_draft(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    work.call("save", in_json(work))
    let_time_pass(ada)
    expire_overdue(study=study)
    again = ada.begin()
    assert ada.assignment.state == "accepted"
    assert again.submit({}).status_code == 303
    assert ada.hit.open_slots == 1


def test_who_gets_the_same_hit_under_another_id_goes_on_there(study: Study) -> None:
    first = Turker(study)
    first.begin().call("save", {"answers": [{"position": 1, "value": 1}]})
    again = Turker(study, assignment_id="3ANOTHER")
    work = again.begin()
    assert (first.session.status, again.session.status) == ("returned", "working")
    assert again.assignment.answers == first.assignment.answers
    assert work.submit().status_code == 303
    assert again.hit.open_slots == 1


def test_work_that_mechanical_turk_never_heard_of_is_handed_in_under_the_new_id(study: Study) -> None:
    first = Turker(study)
    first.begin().submit()
    again = Turker(study, assignment_id="3ANOTHER")
    html = again.arrive().content.decode()
    assert hidden_fields(html)["assignmentId"] == "3ANOTHER"
    assert (first.session.status, again.session.status) == ("returned", "submitted")
    assert Judgment.objects.filter(assignment__session=again.session).exists()
    assert Assignment.objects.count() == 1


def test_what_mechanical_turk_has_does_not_move_to_another_id(study: Study) -> None:
    first = Turker(study)
    first.begin().submit()
    CrowdSession.objects.update(confirmed=True)
    response = Turker(study, assignment_id="3FORGED").arrive()
    assert response.status_code == 409
    assert "Please return this HIT" in response.content.decode()
    assert first.assignment.state == "submitted"


def test_returning_gives_the_seat_back_and_points_to_mechanical_turks_own_button(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    address = work.form.replace("/submit/", "/return/")
    assert (
        "return the HIT at Mechanical Turk, with the button there" in ada.client.get(address).content.decode()
    )
    done = ada.client.post(address, {"confirm": "1"})
    assert "return the HIT at Mechanical Turk too" in done.content.decode()
    assert "href" not in done.content.decode().split("<main")[1]
    assert (ada.assignment.state, ada.session.status) == ("returned", "returned")
    assert ada.hit.open_slots == 2
    assert work.get().status_code == 409
    assert ada.begin().submit().status_code == 303  # who has it still at Mechanical Turk, and opens it again


def test_a_report_goes_back_to_the_work_and_thanks(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    address = work.form.replace("/submit/", "/report/1/")
    assert ada.client.get(address).status_code == 200
    sent = ada.client.post(address, {"what": "text"}, follow=True)
    assert "The problem is reported" in sent.content.decode()


def test_two_hits_of_one_worker_do_not_open_each_others_pages(study: Study) -> None:
    ada = Turker(study)
    first = ada.begin()
    other = Turker(study, assignment_id="3SECOND")
    other.publication = study.publications.order_by("pk")[1]
    second = other.begin()
    mixed = first.form.replace(first.prefix, second.prefix)
    assert ada.client.post(mixed, first.answers()).status_code == 404
    assert first.submit().status_code == second.submit().status_code == 303


def test_work_that_an_exclusion_took_is_told_so(study: Study) -> None:
    ada = Turker(study)
    work = ada.begin()
    Participation.objects.update(standing="excluded")
    reply = work.call("submit", in_json(work))
    assert reply.status_code == 403
    assert Judgment.objects.count() == 0


@pytest.mark.parametrize("wrong", [0, 1])
def test_the_quiz_with_items_of_our_own_comes_first_in_the_frame(wrong: int) -> None:
    study = study_at_mturk(quiz={"items": 1, "attempts": 1}, controls={"per_hit": 0})
    ada = Turker(study)
    page = ada.arrive()
    assert "A short test comes before the work" in page.content.decode()
    assert not Assignment.objects.exists()
    at = page.redirect_chain[-1][0].removesuffix("quiz/")
    page = ada.client.post(f"{at}quiz/start/", follow=True)
    for place in right_answers(content_of(QuizAttempt.objects.get()), wrong=wrong):
        step = str(place["position"])
        fields = {"step": step, f"u{step}": str(place["value"])}
        page = ada.client.post(f"{at}quiz/1/answer/", fields, follow=True)
        assert page.status_code == 200
    html = ada.client.get(f"{at}quiz/").content.decode()
    assert ("Start the work" in html) == (not wrong)
    assert ("button of Mechanical Turk" in html) == bool(wrong)
    work = ada.client.get(f"{at}work/", follow=True)
    assert work.redirect_chain[-1:] == ([(f"{at}quiz/", 302)] if wrong else [])
    assert Assignment.objects.exists() == (not wrong)
    assert ada.client.cookies.output() == ""


def test_a_quiz_of_questions_alone_was_passed_at_mechanical_turk() -> None:
    study = study_at_mturk(quiz={"questions": QUESTIONS})
    assert Turker(study).begin().html


ADDRESS = "/hooks/mturk/"
SUBSCRIBE = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=1"


@pytest.fixture
def notified_study(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Up at Mechanical Turk, and the certificate of Amazon's that was fetched before."""
    settings.MTURK_SNS_TOPIC = ARN
    lasting = certificate(ends=datetime.now(UTC) + timedelta(days=1))
    monkeypatch.setattr(sns_requests, "_certificates", {CERTIFICATE_URL: lasting})
    return study_at_mturk()


def about(notified_study: Study, *, key: str = "doc-1") -> str:
    hit = first_publication(notified_study).external_id
    events = [one | {"HITId": hit} for one in EVENTS["Events"] if isinstance(one, dict)]
    return json.dumps(EVENTS | {"Events": events, "EventDocId": key})


def post(body: dict[str, Any] | str, **changed: Any) -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    return Client(enforce_csrf_checks=True).post(ADDRESS, text, content_type="text/plain; charset=UTF-8")


def signed(notified_study: Study, kind: str = "Notification", **changed: Any) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return message(kind, **({"Message": about(notified_study), "Timestamp": now} | changed))


def nothing_written() -> bool:
    return not Job.objects.exists() and not Publication.objects.filter(hinted_at__isnull=False).exists()


def test_a_notification_has_its_study_looked_at_once_a_minute(notified_study: Study) -> None:
    for key in ("doc-1", "doc-1", "doc-2"):  # doubled, and another one at once
        reply = post(signed(notified_study, Message=about(notified_study, key=key)))
        assert reply.status_code == 204, reply.content
        assert "Set-Cookie" not in reply.headers
    hinted = Publication.objects.filter(hinted_at__isnull=False)
    assert [one.pk for one in hinted] == [first_publication(notified_study).pk]
    assert list(Job.objects.values_list("kind", "args")) == [("sync_crowd", {"study": notified_study.slug})]
    Job.objects.update(state="done", finished_at=datetime.now(UTC))
    assert post(signed(notified_study)).status_code == 204
    assert Job.objects.count() == 1
    Job.objects.update(created_at=datetime.now(UTC) - timedelta(minutes=2))
    assert post(signed(notified_study)).status_code == 204
    assert Job.objects.count() == 2


def test_forged_ones_are_refused_and_write_nothing(notified_study: Study) -> None:
    good = signed(notified_study)
    for name, forged in {
        "another key": signed(notified_study, signer="mallory"),
        "changed": good | {"Message": about(notified_study, key="doc-9")},
        "another topic": signed(notified_study, TopicArn=ARN + "-other"),
        "no signature": {key: value for key, value in good.items() if key != "Signature"},
        "their certificate": good | {"SigningCertURL": "https://sns.evil.example/x.pem"},
        "too old": signed(notified_study, Timestamp="2020-01-01T00:00:00.000Z"),
    }.items():
        reply = post(forged)
        assert reply.status_code == 403, name
    assert nothing_written()


def test_what_is_no_message_is_refused_and_writes_nothing(notified_study: Study) -> None:
    for body in ("", "{", "[]", "null", json.dumps(signed(notified_study))[:-30], "{}" * 3, "\x00"):
        assert post(body).status_code == 400, body
    assert Client().get(ADDRESS).status_code == 405
    assert nothing_written()


def test_hits_of_others_are_passed_over(notified_study: Study) -> None:
    assert post(signed(notified_study, Message=json.dumps(EVENTS))).status_code == 204
    assert nothing_written()


def test_without_a_topic_there_is_no_such_address(notified_study: Study, settings: Any) -> None:
    settings.MTURK_SNS_TOPIC = ""
    assert post(signed(notified_study)).status_code == 404
    assert nothing_written()


class Amazon:
    """The network: what is fetched from it, and what it gives."""

    def __init__(self, reply: bytes | Exception, status: int) -> None:
        self.reply, self.status, self.asked = reply, status, list[str]()

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        if isinstance(self.reply, Exception):
            raise self.reply
        return httpx.Response(self.status, content=self.reply)


def behind(monkeypatch: pytest.MonkeyPatch, reply: bytes | Exception, status: int = 200) -> Amazon:
    amazon = Amazon(reply, status)
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: amazon.answer(request))
    return amazon


def test_a_subscription_to_our_topic_is_confirmed(
    notified_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    amazon = behind(monkeypatch, b"<ConfirmSubscriptionResponse/>")
    asked = signed(notified_study, "SubscriptionConfirmation", SubscribeURL=SUBSCRIBE, Token="1", Message="?")
    assert post(asked).status_code == 204
    assert amazon.asked == [SUBSCRIBE]
    elsewhere = signed(
        notified_study,
        "SubscriptionConfirmation",
        SubscribeURL="https://evil.example/",
        Token="1",
        Message="?",
    )
    assert post(elsewhere).status_code == 403
    assert amazon.asked == [SUBSCRIBE]
    assert nothing_written()


def test_a_certificate_is_fetched_once(notified_study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    lasting = sns_requests.fetch_certificate(CERTIFICATE_URL)
    monkeypatch.setattr(sns_requests, "_certificates", {})
    amazon = behind(monkeypatch, lasting)
    assert [post(signed(notified_study)).status_code for _ in range(3)] == [204, 204, 204]
    assert amazon.asked == [CERTIFICATE_URL]


def test_a_certificate_that_cannot_be_had_makes_amazon_send_again(
    notified_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sns_requests, "_certificates", {})
    for reply, status in (
        (httpx.ConnectError("no route"), 0), (httpx.ReadTimeout(""), 0), (b"x" * 100_001, 200), (b"", 302), (b"", 503),
    ):  # fmt: skip
        behind(monkeypatch, reply, status)
        assert post(signed(notified_study)).status_code == 503
    assert nothing_written()
