"""A study's own page and the worker's: joining, what they did, what it pays, what is open; and credits."""

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Judgment, Participation, Worker
from annotation.quality.exclusions import exclude_worker
from annotation.views.visitors import WORKER_COOKIE
from annotation.work.answers.revisions import revise_judgments
from annotation.work.claims import claim_assignment
from annotation.work.submissions import submit_assignment
from annotation.work.summaries import summaries_of_worker
from judgments.models import Dataset, Study
from judgments.studies.generation.hand_changes import withdraw_control
from judgments.studies.studies import mark_closed
from tests import studies
from tests.annotation.casting import Person, joined, make_dataset, make_study, with_person
from tests.annotation.leasing import claimed
from tests.annotation.posting import submit, work_of
from tests.crowd import first_answers

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
    assert fact(html, "Pending pay") == ["0.25 EUR", "0.25 EUR"]
    assert fact(html, "Approved pay") == ["0.25 EUR", "0.25 EUR"]
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
    assert fact(html, "Pending pay")[0] == "0.25 EUR, 0.40 USD"
    assert fact(html, "Approved pay")[0] == "0.00 EUR, 0.00 USD"


def test_what_was_approved_stays_owed_after_an_exclusion() -> None:
    study, ada = with_person(make_study(make_dataset(), crowd={"reward_cents": 25}))
    approved, pending = work(study, ada), work(study, ada)
    Assignment.objects.filter(pk=approved.pk).update(state="approved")
    worker = Worker.objects.get(pk=pending.worker_id)
    exclude_worker(study=study, worker=worker, why="Always left.")
    html = seen(ada)
    assert fact(html, "Approved pay")[0] == "0.25"
    assert fact(html, "Pending pay")[0] == "0.00"


def test_who_is_excluded_in_the_middle_of_a_page_submitted_nothing_and_is_not_sent_in_a_circle() -> None:
    study, ada = with_person(make_study(make_dataset(), crowd={"reward_cents": 25}))
    assert claim_assignment(study=study, worker=ada.worker) is not None
    exclude_worker(study=study, worker=ada.worker, why="Always left.")
    assert summaries_of_worker(ada.worker)[0].submitted == 0
    stopped = ada.client.get(f"/s/{study.slug}/work/").content.decode()
    assert "no more work" in stopped
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
    assert fact(html, "Pending pay")[-1] == "0.00"


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
    assert "Check questions answered correctly" not in seen(ada)
    work(shown, ada)
    (own,) = [one for one in summaries_of_worker(ada.worker) if one.study == shown]
    assert own.controls is not None
    assert own.controls.answers == 2
    assert fact(seen(ada), "Check questions answered correctly") == [
        f"{own.controls.right_answers * 50} % ({own.controls.right_answers} of 2)"
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
    assert "paused until somebody has looked" in cards["Paused"]
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
    assert "You are not signed in on this browser" in stranger.get("/me/").content.decode()
    wrong = stranger.post("/me/", {"name": "ada", "resume": "guess"})
    assert wrong.status_code == 409
    assert "do not match" in wrong.content.decode()
    assert stranger.post("/me/", {"name": "ada"}).status_code == 400
    back = stranger.post("/me/", {"name": "ada", "resume": f" {ada.resume} "})
    assert (back.status_code, back["Location"]) == (303, "/me/")
    assert "<bdi>ada</bdi>" in stranger.get("/me/").content.decode()
    assert "not signed in on this browser" in ada.client.get("/me/").content.decode()  # the old token ended


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
    assert "You are not taking part in any study yet." in seen(ada)
    assert Worker.objects.count() == 1


def test_changing_answers_one_by_one_does_not_tell_which_were_control_items() -> None:
    study = make_study(make_dataset(), workers={"show_accuracy": True}, controls={"per_hit": 1, "after": 1})
    ada = joined(study)
    sent = work(study, ada)
    before = fact(seen(ada), "Check questions answered correctly")
    assert before
    for position in range(1, 5):
        assert revise_judgments(assignment=sent, answers=[{"position": position, "value": 2}]) == [position]
        assert fact(seen(ada), "Check questions answered correctly") == before


def test_a_study_s_link_says_what_it_is_how_long_a_page_takes_and_what_it_pays(client: Client) -> None:
    study = make_study(
        make_dataset(), contact="lab@example.org", crowd={"reward_cents": 25}, seconds_per_unit=60
    )
    page = client.get(f"/s/{study.slug}/").content.decode()
    assert "Shapes by triplet" in page
    assert "Which of the two sentences, B or C, is more similar to A?" in page
    assert "4 questions" in page
    assert "about 4 min" in page
    assert "25 cents a page of work" in page
    assert 'href="mailto:lab@example.org"' in page


def test_a_study_whose_last_page_of_work_is_shorter_promises_at_most_so_many_questions(
    client: Client,
) -> None:
    study = make_study(make_dataset(), controls={"per_hit": 0}, units_per_hit=5)
    sizes = [hit.places.count() for hit in study.hits.all()]
    assert sizes[-1] < sizes[0] == 5
    assert "up to 5 questions" in client.get(f"/s/{study.slug}/").content.decode()


@pytest.mark.parametrize("pages", [{0}, {2}, {0, 3}])
def test_a_page_of_work_that_lost_a_check_question_neither_shrinks_nor_grows_what_is_promised(
    client: Client, pages: set[int]
) -> None:
    study = make_study(make_dataset(images=12), controls={"per_hit": 1}, units_per_hit=4)
    hits = list(study.hits.order_by("position"))
    assert len(hits) > 3
    for place in pages:
        control = hits[place].places.get(unit__control=True).unit
        withdraw_control(study=study, unit_key=control.key)
    assert "up to 4 questions" in client.get(f"/s/{study.slug}/").content.decode()


def test_the_consent_text_is_shown_as_markdown_and_what_could_run_in_it_is_not(client: Client) -> None:
    text = "# Consent\n\nYou are **free** to stop.\n\n<script>alert(1)</script>\n\n[x](javascript:alert(2))\n\n![p](https://t.example/p.gif)"
    study = make_study(make_dataset(), consent=text)
    page = client.get(f"/s/{study.slug}/").content.decode()
    assert "You are <strong>free</strong> to stop." in page
    assert "alert(1)" not in page
    assert not re.search(r"<[^>]*javascript:", page)  # as text it does nothing
    assert "t.example" not in page
    assert 'name="consent"' in page


def test_joining_needs_the_consent_where_there_is_a_text(client: Client) -> None:
    study = make_study(make_dataset(), consent="Please agree.")
    refused = client.post(f"/s/{study.slug}/", {"name": "ada"})
    assert refused.status_code == 403
    assert "before you join" in refused.content.decode()
    assert not Worker.objects.filter(name="ada").exists()
    welcome = client.post(f"/s/{study.slug}/", {"name": "ada", "consent": "1"})
    assert welcome.status_code == 303
    assert Participation.objects.get(worker__name="ada").consented_at is not None


def test_a_new_worker_gets_a_cookie_scripts_cannot_read_and_sees_the_resume_code(client: Client) -> None:
    study = make_study(make_dataset(), instructions="Judge *meaning*.")
    response = client.post(f"/s/{study.slug}/", {"name": "ada"})
    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/start/")
    cookie = response.cookies[WORKER_COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    page = client.get(response["Location"]).content.decode()
    code = response.cookies["quorum_resume"].value
    assert code in page
    assert "Judge <em>meaning</em>." in page
    assert code not in client.get(f"/s/{study.slug}/work/").content.decode()


def test_a_resume_code_brings_a_worker_back_in_another_browser(client: Client) -> None:
    study, ada = with_person(make_study(make_dataset()))
    _, held = work_of(study, ada)
    wrong = client.post(f"/s/{study.slug}/resume/", {"name": "ada", "resume": "not-it"})
    assert wrong.status_code == 409
    assert "do not match" in wrong.content.decode()
    assert WORKER_COOKIE not in wrong.cookies
    back = client.post(f"/s/{study.slug}/resume/", {"name": "ada", "resume": f" {ada.resume} "}, follow=True)
    assert str(held.pk) in back.content.decode()


def test_a_taken_name_is_refused_with_the_way_out_and_keeps_what_was_typed(client: Client) -> None:
    study = make_study(make_dataset())
    joined(study, "ada")
    response = client.post(f"/s/{study.slug}/", {"name": "ada"})
    assert response.status_code == 409
    assert "is taken" in response.content.decode()
    assert 'value="ada"' in response.content.decode()


def test_a_study_with_a_code_takes_it_from_the_link(client: Client) -> None:
    study = make_study(make_dataset(), access={"join": "code", "code": "open-sesame"})
    assert 'value="sesame"' in client.get(f"/s/{study.slug}/?code=sesame").content.decode()
    assert client.post(f"/s/{study.slug}/", {"name": "ada", "code": "open"}).status_code == 403
    assert client.post(f"/s/{study.slug}/", {"name": "ada", "code": "open-sesame"}).status_code == 303


def test_whoever_joined_before_goes_on_with_the_work(client: Client) -> None:
    study, ada = with_person(make_study(make_dataset()))
    assert ada.client.get(f"/s/{study.slug}/")["Location"] == f"/s/{study.slug}/work/"


def test_a_worker_of_one_study_joins_another_under_the_same_name(client: Client) -> None:
    dataset = make_dataset()
    first, second = make_study(dataset), make_study(dataset, "graded")
    ada = joined(first)
    assert 'value="ada"' in ada.client.get(f"/s/{second.slug}/").content.decode()
    assert ada.client.get(f"/s/{second.slug}/work/")["Location"] == f"/s/{second.slug}/"
    assert ada.client.post(f"/s/{second.slug}/", {"name": "ada"}).status_code == 303
    assert ada.client.get(f"/s/{second.slug}/work/").status_code == 200
    assert Worker.objects.count() == 1


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("generated", "This study is not open yet."),
        ("closed", "This study is closed."),
        ("simulated", "answers in this study are simulated"),
    ],
)
def test_a_study_nobody_can_join_says_why(client: Client, state: str, words: str) -> None:
    study = make_study(make_dataset(), opened=state != "generated")
    if state == "closed":
        mark_closed(study=study)
    if state == "simulated":
        Study.objects.filter(pk=study.pk).update(simulated=True)
    page = client.get(f"/s/{study.slug}/").content.decode()
    assert words in page
    assert 'name="name"' not in page  # no form to join by
    refused = client.post(f"/s/{study.slug}/", {"name": "ada"})
    assert words in refused.content.decode()
    assert not Worker.objects.exists()


def test_an_unknown_study_is_a_designed_404(client: Client) -> None:
    response = client.get("/s/no-such-study/")
    assert response.status_code == 404
    assert "at this address" in response.content.decode()


def test_the_landing_page_lists_the_studies_open_to_everybody(client: Client) -> None:
    dataset = make_dataset()
    make_study(dataset, name="For all")
    make_study(dataset, name="Secret", access={"join": "code", "code": "a-secret-code"})
    make_study(dataset, name="Later", opened=False)
    rehearsed = make_study(dataset, name="Rehearsed")
    Study.objects.filter(pk=rehearsed.pk).update(simulated=True)
    page = client.get("/").content.decode()
    assert "/s/for-all/" in page
    assert "/admin/" in page
    assert "/challenges/" in page
    for hidden in ("Secret", "Later", "Rehearsed"):
        assert hidden not in page


def finish_everything(study: Study, person: Person) -> None:
    while (response := person.client.get(f"/s/{study.slug}/work/")).status_code == 200:
        assignment = Assignment.objects.get(worker=person.worker, state="accepted")
        submit(study, person, assignment, first_answers(response.content.decode()))
    assert response["Location"] == f"/s/{study.slug}/done/"


def test_the_last_page_thanks_and_gives_the_completion_code() -> None:
    study, ada = with_person(make_study(make_dataset()))
    finish_everything(study, ada)
    page = ada.client.get(f"/s/{study.slug}/done/").content.decode()
    pages = Assignment.objects.filter(worker=ada.worker).count()
    assert "Thank you" in page
    assert ada.participation.completion_code in page
    assert f"{pages} pages of work" in page
    assert f"took part in “{study.name}”." in page
    assert f"<dd>{Judgment.objects.count()}</dd>" in page
    assert "There is no more work for you in this study." in page


def test_the_last_page_says_when_others_hold_what_is_left() -> None:
    study = make_study(make_dataset(), judgments_per_unit=1)
    ada, bob = joined(study, "ada"), joined(study, "bob")
    work_of(study, bob)
    finish_everything(study, ada)
    page = ada.client.get(f"/s/{study.slug}/done/").content.decode()
    assert "There is no work for you right now" in page
    assert "Check again" in page


def test_nobody_gets_a_completion_code_for_nothing() -> None:
    study, ada = with_person(make_study(make_dataset()))
    page = ada.client.get(f"/s/{study.slug}/done/").content.decode()
    assert ada.participation.completion_code not in page
    assert "You have not submitted any work yet" in page


CREDIT = "pagoda.jpg: A pagoda, <b>Somebody</b>, CC BY 2.0 (example.org/pagoda)"


def credited(protocol: str = "pairwise") -> str:
    study = studies.make_study(protocol)
    Dataset.objects.update(attribution=CREDIT)
    return study.slug


def test_a_page_with_pictures_links_to_who_made_them(client: Client) -> None:
    slug = credited()
    client.post(f"/s/{slug}/", {"name": "worker"})
    assert f'href="/s/{slug}/credits/"' in client.get(f"/s/{slug}/work/").content.decode()


def test_the_credits_name_the_authors_and_are_escaped(client: Client) -> None:
    page = client.get(f"/s/{credited()}/credits/").content.decode()
    assert "&lt;b&gt;Somebody&lt;/b&gt;, CC BY 2.0" in page


def test_a_page_of_sentences_has_no_credits_to_give(client: Client) -> None:
    slug = credited("triplet")
    client.post(f"/s/{slug}/", {"name": "worker"})
    assert "credits" not in client.get(f"/s/{slug}/work/").content.decode()


def test_a_study_nobody_was_let_into_shows_strangers_nothing(client: Client) -> None:
    study = studies.make_study(opened=False)
    Dataset.objects.update(attribution=CREDIT)
    assert client.get(f"/s/{study.slug}/credits/").status_code == 404
