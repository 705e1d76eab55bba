"""The pages around the work as plain HTML: a study's link, joining, coming back, the last page."""

import re

import pytest
from django.test import Client

from annotation.models import Assignment, Judgment, Participation, Worker
from annotation.views.common import WORKER_COOKIE
from judgments.models import Study
from judgments.studies.generation import withdraw_control
from judgments.studies.studies import mark_closed
from tests.annotation.casting import Person, joined, make_dataset, make_study, with_person
from tests.annotation.posting import submit, work_of
from tests.crowd import first_answers

pytestmark = pytest.mark.django_db


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
    assert "agree to it before you join" in refused.content.decode()
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
    assert "do not belong together" in wrong.content.decode()
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
        ("simulated", "answered by a simulated crowd"),
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
    assert "There is nothing at this address" in response.content.decode()


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
    assert "Nothing is left for you in this study." in page


def test_the_last_page_says_when_others_hold_what_is_left() -> None:
    study = make_study(make_dataset(), judgments_per_unit=1)
    ada, bob = joined(study, "ada"), joined(study, "bob")
    work_of(study, bob)
    finish_everything(study, ada)
    page = ada.client.get(f"/s/{study.slug}/done/").content.decode()
    assert "Nothing is left for you right now" in page
    assert "Look again" in page


def test_nobody_gets_a_completion_code_for_nothing() -> None:
    study, ada = with_person(make_study(make_dataset()))
    page = ada.client.get(f"/s/{study.slug}/done/").content.decode()
    assert ada.participation.completion_code not in page
    assert "Nothing is submitted yet" in page
