"""The worker's own page: what they did, what it pays, what is open; and nothing that would tell a control item."""

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Participation, Worker
from annotation.quality.flags import exclude_worker
from annotation.views.common import WORKER_COOKIE
from annotation.work.claims import claim_assignment
from annotation.work.submissions import revise_judgments, submit_assignment
from annotation.work.summaries import own_studies
from judgments.models import Study
from judgments.studies.studies import mark_closed
from tests.annotation.casting import Person, joined, make_dataset, make_study, with_person
from tests.annotation.leasing import claimed

pytestmark = pytest.mark.django_db


def work(study: Study, person: Person, *, value: int = 1, seconds: float = 30.0) -> Assignment:
    """A page of work, every item answered the same."""
    claim = claimed(study, person.worker)
    claim.assignment.study = study
    answers = [{"position": place.position, "value": value, "seconds": seconds} for place in claim.page_units]
    submit_assignment(assignment=claim.assignment, answers=answers)
    return claim.assignment


def seen(person: Person) -> str:
    response = person.client.get("/me/")
    assert response.status_code == 200
    return re.sub(r"\s+", " ", response.content.decode())


def fact(html: str, name: str) -> list[str]:
    """What stands under a name, in order."""
    return re.findall(rf"<dt>{re.escape(name)}</dt><dd>(.*?)</dd>", html)


def test_pages_answers_time_and_pay_are_those_of_the_rows() -> None:
    study, ada = with_person(make_study(make_dataset(), crowd={"reward_cents": 25, "currency": "EUR"}))
    first, second = work(study, ada), work(study, ada)
    Assignment.objects.filter(pk=second.pk).update(state="approved")
    html = seen(ada)
    assert fact(html, "Pages of work") == ["2"]
    assert fact(html, "Answers") == ["8", "8"]
    assert fact(html, "Active time") == ["about 4 min", "about 4 min"]
    assert fact(html, "Pay, pending") == ["0.25 EUR", "0.25 EUR"]
    assert fact(html, "Pay, approved") == ["0.25 EUR", "0.25 EUR"]
    assert first.pk != second.pk


def test_pay_of_two_currencies_is_not_added_up() -> None:
    dataset = make_dataset()
    euros = make_study(dataset, name="Euros", crowd={"reward_cents": 25, "currency": "EUR"})
    dollars = make_study(dataset, name="Dollars", crowd={"reward_cents": 40, "currency": "USD"})
    ada = joined(euros)
    ada.client.post(f"/s/{dollars.slug}/", {"name": "ada"})
    work(euros, ada)
    work(dollars, ada)
    html = seen(ada)
    assert fact(html, "Pay, pending")[0] == "0.25 EUR, 0.40 USD"
    assert fact(html, "Pay, approved")[0] == "0.00 EUR, 0.00 USD"


def test_what_was_approved_stays_owed_after_an_exclusion() -> None:
    study, ada = with_person(make_study(make_dataset(), crowd={"reward_cents": 25}))
    approved, pending = work(study, ada), work(study, ada)
    Assignment.objects.filter(pk=approved.pk).update(state="approved")
    worker = Worker.objects.get(pk=pending.worker_id)
    exclude_worker(study=study, worker=worker, why="Always left.")
    html = seen(ada)
    assert fact(html, "Pay, approved")[0] == "0.25"
    assert fact(html, "Pay, pending")[0] == "0.00"


def test_who_is_excluded_in_the_middle_of_a_page_submitted_nothing_and_is_not_sent_in_a_circle() -> None:
    study, ada = with_person(make_study(make_dataset(), crowd={"reward_cents": 25}))
    assert claim_assignment(study=study, worker=ada.worker) is not None
    exclude_worker(study=study, worker=ada.worker, why="Always left.")
    assert own_studies(ada.worker)[0].submitted == 0
    stopped = ada.client.get(f"/s/{study.slug}/work/").content.decode()
    assert "there is no more work for you in it" in stopped
    assert "go on with another page of work" not in stopped
    assert f'href="/s/{study.slug}/work/"' not in stopped
    assert "Your work</a></p>" in stopped


def test_a_rejected_page_is_told_with_its_reason() -> None:
    study, ada = with_person(make_study(make_dataset(), crowd={"reward_cents": 25}))
    done = work(study, ada)
    Assignment.objects.filter(pk=done.pk).update(state="rejected", reason="Every answer was the <left> one.")
    html = seen(ada)
    assert "1 page was rejected" in html
    assert "Every answer was the &lt;left&gt; one." in html
    assert fact(html, "Pay, pending")[-1] == "0.00"


def test_accuracy_is_shown_only_where_the_study_shows_it_and_once_enough_was_seen() -> None:
    dataset = make_dataset()
    shown = make_study(
        dataset, name="Shown", workers={"show_accuracy": True}, controls={"per_hit": 1, "after": 2}
    )
    hidden = make_study(dataset, name="Hidden", controls={"per_hit": 1, "after": 1})
    ada = joined(shown)
    ada.client.post(f"/s/{hidden.slug}/", {"name": "ada"})
    work(hidden, ada)
    work(shown, ada)
    assert "Known answers right" not in seen(ada)
    work(shown, ada)
    (own,) = [one for one in own_studies(ada.worker) if one.study == shown]
    assert own.controls is not None
    assert own.controls.seen == 2
    assert fact(seen(ada), "Known answers right") == [
        f"{own.controls.right * 50} % ({own.controls.right} of 2)"
    ]


def test_every_study_says_how_to_go_on_with_it() -> None:
    dataset = make_dataset()
    held, more, closed, paused = (
        make_study(dataset, name=name) for name in ("Held", "More", "Closed", "Paused")
    )
    ada = joined(held)
    for other in (more, closed, paused):
        ada.client.post(f"/s/{other.slug}/", {"name": "ada"})
    claim_assignment(study=held, worker=ada.worker)
    mark_closed(study=closed)
    Participation.objects.filter(study=paused).update(standing="paused")
    html = seen(ada)
    cards = {
        study.name: html.split(f'id="study-{study.pk}"')[1].split("</article>")[0]
        for study in (held, more, closed, paused)
    }
    assert "Go on with your page" in cards["Held"]
    assert "Go on<" in cards["More"]
    assert "This study is closed." in cards["Closed"]
    assert "paused until somebody looked" in cards["Paused"]
    assert "/work/" not in cards["Paused"]


def test_what_is_open_to_everybody_and_not_joined_yet_is_offered() -> None:
    dataset = make_dataset()
    ada = joined(make_study(dataset, name="Joined"))
    make_study(dataset, name="Another")
    make_study(dataset, name="Secret", access={"join": "code", "code": "a-secret-code"})
    offered = seen(ada).split('id="open-title"')[1]
    assert "/s/another/" in offered
    assert "/s/joined/" not in offered
    assert "Secret" not in offered


def test_a_stranger_is_asked_for_name_and_resume_code_and_comes_back_with_them() -> None:
    ada = joined(make_study(make_dataset()))
    stranger = Client()
    assert "This browser does not know you" in stranger.get("/me/").content.decode()
    wrong = stranger.post("/me/", {"name": "ada", "resume": "guess"})
    assert wrong.status_code == 409
    assert "do not belong together" in wrong.content.decode()
    assert stranger.post("/me/", {"name": "ada"}).status_code == 400
    back = stranger.post("/me/", {"name": "ada", "resume": f" {ada.resume} "})
    assert (back.status_code, back["Location"]) == (303, "/me/")
    assert "<bdi>ada</bdi>" in stranger.get("/me/").content.decode()
    assert "does not know you" in ada.client.get("/me/").content.decode()  # the old token ended


def test_a_new_resume_code_is_shown_and_ends_the_old_one() -> None:
    ada = joined(make_study(make_dataset()))
    response = ada.client.post("/me/resume/")
    assert response["Location"] == "/me/#resume"
    (code,) = re.findall(r'id="resume-code">([^<]+)<', seen(ada))
    assert Client().post("/me/", {"name": "ada", "resume": ada.resume}).status_code == 409
    assert Client().post("/me/", {"name": "ada", "resume": code}).status_code == 303
    assert Client().post("/me/resume/")["Location"] == "/me/"


@pytest.mark.parametrize("protocol", ["triplet", "relevance"])
def test_the_download_holds_every_answer_as_it_was_seen(protocol: str) -> None:
    study = make_study(make_dataset(), protocol)
    ada, bob = joined(study, "ada"), joined(study, "bob")
    done = work(study, ada)
    work(study, bob)
    response = ada.client.get("/me/answers/")
    lines: list[dict[str, Any]] = [json.loads(line) for line in b"".join(response).splitlines()]
    done.refresh_from_db()
    assert [line["value"] for line in lines] == [1] * len(done.answers)
    assert {line["page"] for line in lines} == {str(done.pk)}
    assert [line["position"] for line in lines] == list(range(1, len(lines) + 1))
    assert all(line["shown"] for line in lines)


def test_nothing_tells_which_items_were_controls_or_who_wrote_a_caption() -> None:
    study, ada = with_person(make_study(make_dataset(), controls={"per_hit": 1}))
    work(study, ada)
    download = b"".join(ada.client.get("/me/answers/")).decode()
    for told in (download, seen(ada)):
        for secret in (
            "control",
            "expected",
            "captioner-",
            "capkey-",
            "candkey-",
            "secret-file",
            "presented",
        ):
            assert secret not in told


def test_strangers_download_nothing(client: Client) -> None:
    assert client.get("/me/answers/")["Location"] == "/me/"
    client.cookies[WORKER_COOKIE] = "x" * 43
    assert client.get("/me/answers/")["Location"] == "/me/"


def test_the_page_costs_the_same_for_one_study_and_for_many() -> None:
    dataset = make_dataset()
    ada = joined(make_study(dataset, name="First"))

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            seen(ada)
        return len(queries)

    one = cost()
    for number in range(4):
        other = make_study(dataset, name=f"Study {number}")
        ada.client.post(f"/s/{other.slug}/", {"name": "ada"})
        work(other, ada)
    assert cost() == one <= 7
    shown = make_study(dataset, name="Shown", workers={"show_accuracy": True})
    ada.client.post(f"/s/{shown.slug}/", {"name": "ada"})
    work(shown, ada)
    assert cost() <= one + 2


def test_every_worker_s_page_leads_to_their_own() -> None:
    study, ada = with_person(make_study(make_dataset()))
    for path in ("/", f"/s/{study.slug}/start/", f"/s/{study.slug}/done/", f"/s/{study.slug}/work/"):
        assert 'href="/me/"' in ada.client.get(path).content.decode()


def test_a_worker_without_studies_is_told_what_to_do() -> None:
    ada = joined(make_study(make_dataset()))
    Participation.objects.all().delete()
    assert "You take part in no study yet." in seen(ada)
    assert Worker.objects.count() == 1


def test_changing_answers_one_by_one_does_not_tell_which_were_control_items() -> None:
    study = make_study(make_dataset(), workers={"show_accuracy": True}, controls={"per_hit": 1, "after": 1})
    ada = joined(study)
    sent = work(study, ada)
    before = fact(seen(ada), "Known answers right")
    assert before
    for position in range(1, 5):
        assert revise_judgments(assignment=sent, answers=[{"position": position, "value": 2}]) == [position]
        assert fact(seen(ada), "Known answers right") == before
