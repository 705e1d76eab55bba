"""The worker's pages as plain HTML: what a browser without scripts sees and sends."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import escape

from annotation.cookies import WORKER_COOKIE
from annotation.models import Assignment, Invitation, Judgment, Participation, ProblemReport, Worker
from annotation.services.claims import claim_assignment
from judgments.design import make_design
from judgments.models import Caption, HITUnit, Item, Study, System, Unit
from judgments.services.studies import create_study, mark_closed
from tests.annotation.casting import Person, joined, make_dataset, make_study, picture_bytes

pytestmark = pytest.mark.django_db
KINDS = ("triplet", "pairwise", "relevance", "graded")
MOST_QUERIES = 12


def work_of(study: Study, person: Person) -> tuple[str, Assignment]:
    """The page of work as HTML, and the assignment it is about."""
    response = person.client.get(f"/s/{study.slug}/work/")
    assert response.status_code == 200
    return response.content.decode(), Assignment.objects.get(worker=person.worker, state="accepted")


def positions_on(html: str) -> list[str]:
    """Of the units on a page of work."""
    return " ".join(re.findall(r'data-places="([\d ]+)"', html)).split()


def first_answers(html: str) -> dict[str, str]:
    """What a hurried person would send: the first answer of every question."""
    fields: dict[str, str] = {}
    for name, value in re.findall(r'<input type="(?:radio|checkbox)" name="([^"]+)" value="([^"]+)"', html):
        fields.setdefault(name, value)
    return {name: value for name, value in fields.items() if not name.startswith("none")}


def submit(study: Study, person: Person, assignment: Assignment, fields: dict[str, str]) -> Any:
    return person.client.post(f"/s/{study.slug}/work/{assignment.pk}/submit/", fields)


# --- the link, joining, coming back ---------------------------------------------------------------


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


def test_the_consent_text_is_shown_as_markdown_and_what_could_run_in_it_is_not(client: Client) -> None:
    text = "# Consent\n\nYou are **free** to stop.\n\n<script>alert(1)</script>\n\n[x](javascript:alert(2))\n\n![p](https://t.example/p.gif)"
    study = make_study(make_dataset(), consent=text)
    page = client.get(f"/s/{study.slug}/").content.decode()
    assert "You are <strong>free</strong> to stop." in page
    assert "alert(" not in page
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
    study = make_study(make_dataset())
    ada = joined(study)
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


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "x" * 101, "a‮b"])
def test_a_name_that_cannot_be_used_is_refused_in_words(client: Client, name: str) -> None:
    study = make_study(make_dataset())
    response = client.post(f"/s/{study.slug}/", {"name": name})
    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()


def test_a_study_with_a_code_takes_it_from_the_link(client: Client) -> None:
    study = make_study(make_dataset(), access={"join": "code", "code": "sesame"})
    assert 'value="sesame"' in client.get(f"/s/{study.slug}/?code=sesame").content.decode()
    assert client.post(f"/s/{study.slug}/", {"name": "ada", "code": "open"}).status_code == 403
    assert client.post(f"/s/{study.slug}/", {"name": "ada", "code": "sesame"}).status_code == 303


def test_an_invitation_lets_one_person_in(client: Client) -> None:
    study = make_study(make_dataset(), access={"join": "invited"})
    Invitation.objects.create(study=study, code="for-ada")
    assert client.post(f"/s/{study.slug}/", {"name": "ada", "code": "for-ada"}).status_code == 303
    assert Client().post(f"/s/{study.slug}/", {"name": "eve", "code": "for-ada"}).status_code == 403


def test_whoever_joined_before_goes_on_with_the_work(client: Client) -> None:
    study = make_study(make_dataset())
    ada = joined(study)
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
    assert "<form" not in page
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
    make_study(dataset, name="Secret", access={"join": "code", "code": "x"})
    make_study(dataset, name="Later", opened=False)
    rehearsed = make_study(dataset, name="Rehearsed")
    Study.objects.filter(pk=rehearsed.pk).update(simulated=True)
    page = client.get("/").content.decode()
    assert "/s/for-all/" in page
    assert "/admin/" in page
    for hidden in ("Secret", "Later", "Rehearsed"):
        assert hidden not in page


# --- the page of work -----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", KINDS)
def test_a_page_of_work_is_finished_by_plain_form_posts(protocol: str) -> None:
    study = make_study(make_dataset(), protocol)
    ada = joined(study)
    html, assignment = work_of(study, ada)
    response = submit(study, ada, assignment, first_answers(html))
    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/work/")
    assignment.refresh_from_db()
    assert assignment.state == "submitted"
    assert Judgment.objects.filter(assignment=assignment).count() == len(positions_on(html))
    _, following = work_of(study, ada)
    assert following.pk != assignment.pk


def test_what_is_shown_first_is_stored_in_the_unit_s_order() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    html, assignment = work_of(study, ada)
    submit(study, ada, assignment, dict.fromkeys(first_answers(html), "1"))
    stored = Judgment.objects.filter(assignment=assignment).values_list("presented", "value")
    assert {("first-left", 1), ("second-left", 2)} == set(stored)


def test_asking_again_gives_the_same_page_of_work_with_what_was_saved() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    _, assignment = work_of(study, ada)
    saved = ada.client.post(
        f"/s/{study.slug}/work/{assignment.pk}/save/",
        {"answers": [{"position": 2, "value": 2, "seconds": 1.5}]},
        content_type="application/json",
    )
    assert saved.json() == {"saved": True}
    html, again = work_of(study, ada)
    assert again.pk == assignment.pk
    assert 'name="u2" value="2" data-key="2" checked' in html
    assert 'data-now="1"' in html


def test_a_half_filled_page_comes_back_with_what_is_missing_and_nothing_lost() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    html, assignment = work_of(study, ada)
    response = submit(study, ada, assignment, {"u1": "2", "u3": "1"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "Not submitted yet. Your answers are saved." in page
    assert 'href="#u2"' in page
    assert 'href="#u1"' not in page
    assert 'name="u1" value="2" data-key="2" checked' in page
    assert 'name="u3" value="1" data-key="1" checked' in page
    rest = {name: "1" for name in first_answers(html) if name not in ("u1", "u3")}
    assert submit(study, ada, assignment, rest).status_code == 303
    assert Judgment.objects.filter(assignment=assignment).count() == len(first_answers(html))


def test_a_picture_without_any_tick_is_unanswered_until_none_fits_is_ticked() -> None:
    study = make_study(make_dataset(), "relevance")
    ada = joined(study)
    html, assignment = work_of(study, ada)
    heads = re.findall(r'name="none(\d+)"', html)
    assert len(heads) == 3
    response = submit(study, ada, assignment, {f"u{heads[0]}": "1", f"none{heads[1]}": "1"})
    assert response.status_code == 422
    assert f'<a href="#u{heads[2]}">picture 3</a>' in response.content.decode()
    whole = {f"u{heads[0]}": "1", f"none{heads[1]}": "1", f"none{heads[2]}": "1"}
    assert submit(study, ada, assignment, whole).status_code == 303
    values = list(Judgment.objects.filter(assignment=assignment).values_list("value", flat=True))
    assert (values.count(1), values.count(0)) == (1, len(values) - 1)
    assert len(values) == len(positions_on(html))


def test_a_picture_whose_only_tick_is_taken_back_is_asked_about_again() -> None:
    study = make_study(make_dataset(), "relevance")
    ada = joined(study)
    html, assignment = work_of(study, ada)
    heads = re.findall(r'name="none(\d+)"', html)
    submit(study, ada, assignment, {f"u{heads[0]}": "1"})
    response = submit(study, ada, assignment, {f"none{head}": "1" for head in heads[1:]})
    page = response.content.decode()
    assert response.status_code == 422
    assert "picture 1</a>" in page
    assert "picture 2</a>" not in page
    assert not re.search(rf'name="none{heads[0]}"[^>]*checked', page)
    assert re.search(rf'name="none{heads[1]}"[^>]*checked', page)


def test_ticks_beside_none_of_them_contradict_each_other_and_are_asked_about() -> None:
    study = make_study(make_dataset(), "relevance")
    ada = joined(study)
    html, assignment = work_of(study, ada)
    heads = re.findall(r'name="none(\d+)"', html)
    fields = {f"none{head}": "1" for head in heads} | {f"u{heads[1]}": "1"}
    response = submit(study, ada, assignment, fields)
    assert response.status_code == 422
    assert "picture 2</a>" in response.content.decode()


def test_a_second_click_on_submit_is_harmless() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    html, assignment = work_of(study, ada)
    fields = first_answers(html)
    assert submit(study, ada, assignment, fields).status_code == 303
    assert submit(study, ada, assignment, fields).status_code == 303
    assert Judgment.objects.filter(assignment=assignment).count() == len(fields)


def test_other_answers_after_the_submission_change_nothing_and_the_page_says_so() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    html, assignment = work_of(study, ada)
    submit(study, ada, assignment, dict.fromkeys(first_answers(html), "1"))
    before = list(Judgment.objects.values_list("value", flat=True))
    response = submit(study, ada, assignment, dict.fromkeys(first_answers(html), "2"))
    assert response.status_code == 409
    assert "were submitted before and stay as they were" in response.content.decode()
    assert list(Judgment.objects.values_list("value", flat=True)) == before


def test_a_late_submission_is_told_what_happened_and_what_to_do_next() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    html, assignment = work_of(study, ada)
    Assignment.objects.filter(pk=assignment.pk).update(
        accepted_at=timezone.now() - timedelta(hours=3), expires_at=timezone.now() - timedelta(minutes=1)
    )
    response = submit(study, ada, assignment, first_answers(html))
    page = response.content.decode()
    assert response.status_code == 409
    assert "The time for this page of work is over" in page
    assert f'href="/s/{study.slug}/work/"' in page
    assert not Judgment.objects.exists()


def test_an_answer_that_does_not_exist_is_refused_and_nothing_is_stored() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    _, assignment = work_of(study, ada)
    for value in ("3", "-1", "1.0", "yes", "9" * 40):
        assert submit(study, ada, assignment, {"u1": value}).status_code == 400
    assignment.refresh_from_db()
    assert assignment.answers == {}


@pytest.mark.parametrize("seconds", ["", "nan", "inf", "-1", "1e9", "soon"])
def test_an_answer_is_never_refused_for_the_sake_of_a_clock(seconds: str) -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    _, assignment = work_of(study, ada)
    assert submit(study, ada, assignment, {"u1": "1", "t1": seconds}).status_code == 422
    assignment.refresh_from_db()
    assert assignment.answers == {"1": {"value": 1}}


@pytest.mark.parametrize(
    "body", ["[]", "{", '{"answers": 5}', '{"answers": [1]}', '{"answers": null}', "[" * 100_000, "\x00"]
)
def test_a_draft_that_cannot_be_read_is_refused_in_words(body: str) -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    _, assignment = work_of(study, ada)
    response = ada.client.post(
        f"/s/{study.slug}/work/{assignment.pk}/save/", body, content_type="application/json"
    )
    assert response.status_code == 400
    assert response.json()["detail"].endswith(".")


def test_saving_for_later_without_scripts_keeps_the_answers() -> None:
    study = make_study(make_dataset(), "relevance")
    ada = joined(study)
    html, assignment = work_of(study, ada)
    first = re.findall(r'name="none(\d+)"', html)[0]
    ada.client.post(f"/s/{study.slug}/work/{assignment.pk}/save/", {f"u{first}": "1"})
    assignment.refresh_from_db()
    assert {key: answer["value"] for key, answer in assignment.answers.items()} == {first: 1}
    page, _ = work_of(study, ada)
    assert f'name="u{first}" value="1" data-key="1" checked' in page
    ada.client.post(f"/s/{study.slug}/work/{assignment.pk}/save/", {})
    assignment.refresh_from_db()
    assert assignment.answers[first]["value"] == 0


def test_returning_asks_first_keeps_what_was_submitted_and_frees_the_place() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    html, assignment = work_of(study, ada)
    address = f"/s/{study.slug}/work/{assignment.pk}/return/"
    asked = ada.client.post(address, first_answers(html))
    assert asked.status_code == 303
    assignment.refresh_from_db()
    assert (assignment.state, bool(assignment.answers)) == ("accepted", True)
    assert "Return this page of work?" in ada.client.get(address).content.decode()
    assert "is returned" in ada.client.post(address, {"confirm": "1"}).content.decode()
    assignment.refresh_from_db()
    assert assignment.state == "returned"
    assert not Judgment.objects.exists()
    assert ada.client.post(address, {"confirm": "1"}).status_code == 200


def test_a_browser_whose_worker_went_on_elsewhere_is_told_so_before_anything_else() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    html, assignment = work_of(study, ada)
    again = {"name": "ada", "resume": ada.resume}
    assert Client().post(f"/s/{study.slug}/resume/", again).status_code == 303
    response = submit(study, ada, assignment, first_answers(html))
    assert response.status_code == 403
    assert "you went on in another browser" in response.content.decode()
    assert ada.client.get(f"/s/{study.slug}/work/")["Location"] == f"/s/{study.slug}/"


def test_a_problem_is_reported_and_the_answers_of_the_page_are_kept() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    _, assignment = work_of(study, ada)
    address = f"/s/{study.slug}/work/{assignment.pk}/report/2/"
    assert ada.client.post(address, {"u1": "2"}).status_code == 303
    assignment.refresh_from_db()
    assert assignment.answers["1"]["value"] == 2
    page = ada.client.get(address).content.decode()
    assert "What is wrong with number 2?" in page
    assert "picture" not in page  # a triplet shows none
    assert ada.client.post(address, {"what": "nonsense"}).status_code == 400
    sent = ada.client.post(address, {"what": "text", "comment": "A word is cut off."})
    assert (sent.status_code, sent["Location"]) == (303, f"/s/{study.slug}/work/#u2")
    report = ProblemReport.objects.get()
    assert (report.assignment, report.what, report.comment) == (assignment, "text", "A word is cut off.")
    assert ada.client.get(f"/s/{study.slug}/work/{assignment.pk}/report/99/").status_code == 404


def test_the_time_left_is_told_in_words() -> None:
    study = make_study(make_dataset(), crowd={"lease_minutes": 90})
    html, _ = work_of(study, joined(study))
    assert "1 h 29 min left" in html


# --- the last page --------------------------------------------------------------------------------


def finish_everything(study: Study, person: Person) -> None:
    while (response := person.client.get(f"/s/{study.slug}/work/")).status_code == 200:
        assignment = Assignment.objects.get(worker=person.worker, state="accepted")
        submit(study, person, assignment, first_answers(response.content.decode()))
    assert response["Location"] == f"/s/{study.slug}/done/"


def test_the_last_page_thanks_and_gives_the_completion_code() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
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
    study = make_study(make_dataset())
    ada = joined(study)
    page = ada.client.get(f"/s/{study.slug}/done/").content.decode()
    assert ada.participation.completion_code not in page
    assert "Nothing is submitted yet" in page


def test_a_closed_study_lets_a_worker_finish_the_page_they_hold() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    html, assignment = work_of(study, ada)
    mark_closed(study=study)
    assert submit(study, ada, assignment, first_answers(html)).status_code == 303
    assert ada.client.get(f"/s/{study.slug}/work/")["Location"] == f"/s/{study.slug}/done/"


# --- strangers ------------------------------------------------------------------------------------


def test_another_worker_s_page_of_work_is_not_there() -> None:
    dataset = make_dataset()
    study, other = make_study(dataset, "pairwise"), make_study(dataset, "graded")
    ada, eve = joined(study, "ada"), joined(study, "eve")
    html, assignment = work_of(study, ada)
    base = f"/s/{study.slug}/work/{assignment.pk}/"
    for stranger in (eve.client, Client()):
        for address in ("return/", "report/1/"):
            assert stranger.get(base + address).status_code == 404
        for address, fields in (
            ("submit/", first_answers(html)),
            ("save/", {"u1": "1"}),
            ("return/", {"confirm": "1"}),
            ("report/1/", {"what": "other"}),
        ):
            assert stranger.post(base + address, fields).status_code == 404
        saved = stranger.post(base + "save/", {"answers": []}, content_type="application/json")
        assert saved.status_code == 404
        seen = stranger.get(f"/pictures/{assignment.pk}/1/").status_code
        assert seen == (404 if stranger is eve.client else 401)
    assert ada.client.post(f"/s/{other.slug}/work/{assignment.pk}/submit/").status_code == 404
    assignment.refresh_from_db()
    assert (assignment.state, assignment.answers) == ("accepted", {})
    assert not ProblemReport.objects.exists()


def test_a_stranger_is_sent_from_work_and_last_page_to_the_study_s_link() -> None:
    study = make_study(make_dataset())
    for address in ("work/", "start/", "done/"):
        for stranger in (
            Client(),
            joined(make_study(study.dataset, "graded", slug=f"g-{address[0]}"), address).client,
        ):
            assert stranger.get(f"/s/{study.slug}/{address}")["Location"] == f"/s/{study.slug}/"


def test_a_form_without_its_token_is_refused_with_a_page_in_words() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    _, assignment = work_of(study, ada)
    careful = Client(enforce_csrf_checks=True)
    careful.cookies[WORKER_COOKIE] = ada.token
    for address in ("submit/", "save/", "return/", "report/1/"):
        response = careful.post(f"/s/{study.slug}/work/{assignment.pk}/{address}", {"u1": "1"})
        assert response.status_code == 403
        assert "Nothing was sent, please try again" in response.content.decode()


# --- pictures -------------------------------------------------------------------------------------


def test_a_picture_goes_to_its_worker_byte_for_byte_and_is_kept_by_that_browser_alone() -> None:
    study = make_study(make_dataset(), "pairwise")
    ada = joined(study)
    html, assignment = work_of(study, ada)
    address = f"/pictures/{assignment.pk}/1/"
    assert f'src="{address}"' in html
    response = ada.client.get(address)
    item = HITUnit.objects.filter(hit=assignment.hit).order_by("position")[0].unit.item
    with item.picture.open("rb") as file:
        assert response.getvalue() == file.read()
    assert response["Content-Type"] == "image/jpeg"
    assert "private" in response["Cache-Control"]
    assert item.name not in str(response.headers)
    unchanged = ada.client.get(address, headers={"If-None-Match": response["ETag"]})
    assert unchanged.status_code == 304
    response.close()
    by_token = Client().get(address, headers={"Authorization": f"Token {ada.token}"})
    assert by_token.status_code == 200
    by_token.close()
    assert ada.client.get(f"/pictures/{assignment.pk}/99/").status_code == 404
    assert ada.client.get(f"/pictures/{assignment.pk}/0/").status_code == 404


def test_staff_see_pictures_and_a_plain_account_does_not(django_user_model: Any) -> None:
    study = make_study(make_dataset(), "pairwise")
    _, assignment = work_of(study, joined(study))
    item = Item.objects.first()
    assert item is not None
    for is_staff, status in ((True, 200), (False, 404)):
        user = django_user_model.objects.create_user(f"staff-{is_staff}", is_staff=is_staff)
        client = Client()
        client.force_login(user)
        for address in (f"/pictures/{assignment.pk}/1/", f"/pictures/preview/{item.pk}/"):
            response = client.get(address)
            assert response.status_code == status
            response.close()


def test_a_picture_whose_file_is_gone_is_not_there_and_the_page_still_works() -> None:
    study = make_study(make_dataset(), "graded")
    ada = joined(study)
    for item in Item.objects.all():
        item.picture.delete(save=False)
        Item.objects.filter(pk=item.pk).update(picture="pictures/gone.jpg")
    html, assignment = work_of(study, ada)
    assert ada.client.get(f"/pictures/{assignment.pk}/1/").status_code == 404
    assert "The picture cannot be loaded" in html


def test_an_item_without_picture_or_address_says_so_and_can_be_reported() -> None:
    study = make_study(make_dataset(pictures=False), "graded")
    html, assignment = work_of(study, joined(study))
    assert '<p class="broken" data-broken>' in html
    assert f"/s/{study.slug}/work/{assignment.pk}/report/1/" in html


def test_an_item_that_has_only_an_address_is_linked_directly() -> None:
    dataset = make_dataset(pictures=False)
    Item.objects.update(url="https://pictures.example/x.jpg")
    html, _ = work_of(make_study(dataset, "graded"), joined(Study.objects.get()))
    assert 'src="https://pictures.example/x.jpg"' in html


def test_a_file_that_is_no_picture_is_never_served_as_a_document() -> None:
    dataset = make_dataset()
    for item in Item.objects.all():
        item.picture.save("evil.svg", picture_file(b"<svg xmlns='http://www.w3.org/2000/svg'/>"))
    study = make_study(dataset, "graded")
    ada = joined(study)
    _, assignment = work_of(study, ada)
    response = ada.client.get(f"/pictures/{assignment.pk}/1/")
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"
    response.close()


def picture_file(content: bytes = picture_bytes()) -> Any:
    return ContentFile(content)


# --- what a page must not tell, and must not do ---------------------------------------------------


@pytest.mark.parametrize("protocol", KINDS)
def test_a_page_of_work_tells_nothing_about_controls_systems_or_sides(protocol: str) -> None:
    study = make_study(make_dataset(), protocol)
    ada = joined(study)
    html, assignment = work_of(study, ada)
    assert Unit.objects.filter(hits=assignment.hit_id, control=True).exists()
    told = html + submit(study, ada, assignment, {}).content.decode()
    told += ada.client.post(
        f"/s/{study.slug}/work/{assignment.pk}/save/", {"answers": []}, content_type="application/json"
    ).content.decode()
    secrets = {"control", "expected", "flip", "swap", "gold", "filtered", "secret-file", "bleu"}
    secrets |= {key.lower() for key in Unit.objects.values_list("key", flat=True)}
    secrets |= {key.lower() for key in Caption.objects.values_list("key", flat=True)}
    secrets |= {name.lower() for name in System.objects.values_list("name", flat=True)}
    secrets |= {hit.key.lower() for hit in study.hits.all()}
    words = re.sub(r"csrfmiddlewaretoken\" value=\"[^\"]+\"", "", told).lower()
    assert [secret for secret in secrets if secret in words] == []


HOSTILE = [
    "<script>alert('x')</script> & <b>bold</b>",
    '" onmouseover="alert(1)',
    "A man‮ backwards text",
    "كلب أسود يركض على الثلج",
    "{{ design.seed }} {% now %}",
    "long " * 220,
    "x" * 1100,
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("protocol", KINDS)
def test_a_hostile_caption_is_shown_as_text_and_stays_in_its_place(protocol: str, text: str) -> None:
    study = make_study(make_dataset(), protocol)
    Caption.objects.update(text=text)
    html, _ = work_of(study, joined(study))
    assert f'<bdi class="said" dir="auto">{escape(text)}</bdi>' in html
    assert "<script>alert" not in html
    assert "<b>bold" not in html


@pytest.mark.parametrize("text", ["", " ", "​", " ‌‍", "\u2066\u2069"])
def test_a_caption_without_anything_to_see_says_so(text: str) -> None:
    study = make_study(make_dataset())
    Caption.objects.update(text=text)
    html, _ = work_of(study, joined(study))
    assert "nothing to be seen in this sentence" in html


@pytest.mark.parametrize("protocol", KINDS)
def test_no_page_holds_script_or_style_of_its_own(protocol: str) -> None:
    study = make_study(make_dataset(), protocol, consent="Agree.", instructions="# Do\n\n- this")
    ada = joined(study, consent=True)
    html, assignment = work_of(study, ada)
    pages = [html]
    base = f"/s/{study.slug}/"
    pages += [ada.client.get(address).content.decode() for address in ("/", base + "start/", base + "done/")]
    pages.append(Client().get(base).content.decode())
    for address in ("report/1/", "return/"):
        pages.append(ada.client.get(f"{base}work/{assignment.pk}/{address}").content.decode())
    data = r'<script data-[a-z]+="\d*" type="application/json">'  # which no browser runs
    for page in pages:
        plain = re.sub(data, "", page)
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", plain)
        assert '<html lang="en">' in page
        assert len(re.findall(r"<h1", page)) == 1


def test_a_page_of_twenty_triplets_is_light() -> None:
    exactly: dict[str, Any] = {"sampling": {"pairs": {"MM": 5}, "references": 4}, "controls": {"per_hit": 0}}
    study = make_study(make_dataset(), units_per_hit=20, **exactly)
    html, _ = work_of(study, joined(study))
    assert html.count("data-step ") == 20
    assert len(html.encode()) < 60_000


# --- query counts ---------------------------------------------------------------------------------


def asked(action: Any) -> int:
    """Queries of an action; savepoints are no round trips outside of a test's transaction."""
    with CaptureQueriesContext(connection) as captured:
        response = action()
    assert response.status_code < 500
    response.close()
    return sum(not re.match(r"(SAVEPOINT|RELEASE|ROLLBACK TO|BEGIN|COMMIT)", one["sql"]) for one in captured)


@pytest.mark.parametrize("protocol", KINDS)
def test_a_page_costs_at_most_twelve_queries(protocol: str) -> None:
    study = make_study(make_dataset(), protocol, consent="Agree.")
    base = f"/s/{study.slug}/"
    ada = joined(study, consent=True)
    counts = {
        "home": asked(lambda: ada.client.get("/")),
        "study": asked(lambda: Client().get(base)),
        "join": asked(lambda: Client().post(base, {"name": "bob", "consent": "1"})),
        "start": asked(lambda: ada.client.get(base + "start/")),
        "first work": asked(lambda: ada.client.get(base + "work/")),
        "held work": asked(lambda: ada.client.get(base + "work/")),
    }
    html, assignment = work_of(study, ada)
    own = f"{base}work/{assignment.pk}/"
    draft = {"answers": [{"position": 1, "value": 1}]}
    counts |= {
        "picture": asked(lambda: ada.client.get(f"/pictures/{assignment.pk}/1/")),
        "save": asked(lambda: ada.client.post(own + "save/", draft, content_type="application/json")),
        "report page": asked(lambda: ada.client.get(own + "report/1/")),
        "report": asked(lambda: ada.client.post(own + "report/1/", {"what": "other"})),
        "half": asked(lambda: ada.client.post(own + "submit/", {})),
        "submit": asked(lambda: ada.client.post(own + "submit/", first_answers(html))),
        "next work": asked(lambda: ada.client.get(base + "work/")),
    }
    returned = Assignment.objects.get(worker=ada.worker, state="accepted")
    counts["return page"] = asked(lambda: ada.client.get(f"{base}work/{returned.pk}/return/"))
    counts["return"] = asked(lambda: ada.client.post(f"{base}work/{returned.pk}/return/", {"confirm": "1"}))
    counts["done"] = asked(lambda: ada.client.get(base + "done/"))
    assert {name: count for name, count in counts.items() if count > MOST_QUERIES} == {}


# --- preview --------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", KINDS)
@pytest.mark.parametrize("state", ["draft", "generated"])
def test_a_designer_sees_the_worker_s_page_before_anything_is_stored(
    protocol: str, state: str, admin_client: Client
) -> None:
    dataset = make_dataset()
    if state == "generated":
        study = make_study(dataset, protocol, opened=False)
    else:
        values = make_study(dataset, protocol, opened=False, slug="other").design
        study = create_study(design=make_design(values | {"slug": "draft"}))
    units = Unit.objects.count()
    response = admin_client.get(f"/s/{study.slug}/preview/")
    html = response.content.decode()
    assert response.status_code == 200
    assert "nothing here is stored" in html
    assert "data-save" not in html
    assert "formaction" not in html
    assert first_answers(html)
    assert Unit.objects.count() == units
    assert not Assignment.objects.exists()
    for address in set(re.findall(r'src="(/pictures/[^"]+)"', html)):
        picture = admin_client.get(address)
        assert picture.status_code == 200
        picture.close()


def test_a_stranger_does_not_see_the_preview() -> None:
    study = make_study(make_dataset(), opened=False)
    ada_like = Client()
    response = ada_like.get(f"/s/{study.slug}/preview/")
    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")


def test_staff_without_the_permission_do_not_see_the_preview(client: Client) -> None:
    study = make_study(make_dataset())
    client.force_login(User.objects.create_user("clerk", is_staff=True))
    assert client.get(f"/s/{study.slug}/preview/").status_code == 403


def test_a_preview_of_a_design_that_gives_nothing_says_what_to_change(admin_client: Client) -> None:
    dataset = make_dataset()
    wanted = {
        "name": "Too many",
        "dataset": dataset.name,
        "protocol": "triplet",
        "sampling": {"pairs": {"MM": 900}},
    }
    study = create_study(design=make_design(wanted))
    response = admin_client.get(f"/s/{study.slug}/preview/")
    assert response.status_code == 400
    assert "MM" in response.content.decode()


def test_imported_judgments_have_nothing_to_preview(admin_client: Client) -> None:
    study = make_study(make_dataset(), opened=False)
    study.hits.all().delete()
    response = admin_client.get(f"/s/{study.slug}/preview/")
    assert response.status_code == 409
    assert "has no HITs" in response.content.decode()


@pytest.mark.parametrize("name", ["403.html", "403_csrf.html", "404.html", "500.html"])
def test_an_error_page_needs_neither_request_nor_database(name: str, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        page = render_to_string(name)
    assert len(re.findall("<h1>", page)) == 1
    assert "Oops" not in page


def test_claiming_by_the_service_and_by_the_page_agree() -> None:
    study = make_study(make_dataset())
    ada = joined(study)
    claim = claim_assignment(study=study, worker=ada.worker)
    assert claim is not None
    _, assignment = work_of(study, ada)
    assert assignment.pk == claim.assignment.pk
