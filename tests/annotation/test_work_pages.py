"""The work page by plain forms, and the calls of its script."""

import re
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, Judgment, ProblemReport
from judgments.models import Study
from tests.annotation.casting import Person, joined, make_dataset, make_study, with_person
from tests.annotation.posting import KINDS, positions_on, submit, work_of
from tests.crowd import first_answers
from tests.marks import long_except

pytestmark = pytest.mark.django_db


MOST_QUERIES = 14


def begun(protocol: str = "triplet", **values: Any) -> tuple[Study, Person, str, Assignment]:
    study, ada = with_person(make_study(make_dataset(), protocol, **values))
    html, assignment = work_of(study, ada)
    return study, ada, html, assignment


@pytest.mark.parametrize("protocol", KINDS)
def test_a_page_of_work_is_finished_by_plain_form_posts(protocol: str) -> None:
    study, ada = with_person(make_study(make_dataset(), protocol))
    html, assignment = work_of(study, ada)
    response = submit(study, ada, assignment, first_answers(html))
    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/work/")
    assignment.refresh_from_db()
    assert assignment.state == "submitted"
    assert Judgment.objects.filter(assignment=assignment).count() == len(positions_on(html))
    _, following = work_of(study, ada)
    assert following.pk != assignment.pk


def test_what_is_shown_first_is_stored_in_the_unit_s_order() -> None:
    study, ada, html, assignment = begun()
    submit(study, ada, assignment, dict.fromkeys(first_answers(html), "1"))
    stored = Judgment.objects.filter(assignment=assignment).values_list("presented", "value")
    assert {("first-left", 1), ("second-left", 2)} == set(stored)


def test_asking_again_gives_the_same_page_of_work_with_what_was_saved() -> None:
    study, ada, _, assignment = begun()
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
    study, ada, html, assignment = begun()
    response = submit(study, ada, assignment, {"u1": "2", "u3": "1"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "Your answers are saved, but they are not submitted yet." in page
    assert 'href="#u2"' in page
    assert 'href="#u1"' not in page
    assert 'name="u1" value="2" data-key="2" checked' in page
    assert 'name="u3" value="1" data-key="1" checked' in page
    rest = {name: "1" for name in first_answers(html) if name not in ("u1", "u3")}
    assert submit(study, ada, assignment, rest).status_code == 303
    assert Judgment.objects.filter(assignment=assignment).count() == len(first_answers(html))


def test_the_picture_of_the_current_question_is_loaded_first() -> None:
    page = begun("relevance")[2]
    pictures = re.findall("<img src=[^>]*>", page)
    assert 'fetchpriority="high"' in pictures[0]
    assert 'loading="lazy"' in pictures[-1]


def test_a_picture_without_any_tick_is_unanswered_until_none_fits_is_ticked() -> None:
    study, ada, html, assignment = begun("relevance")
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
    study, ada, html, assignment = begun("relevance")
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
    study, ada, html, assignment = begun("relevance")
    heads = re.findall(r'name="none(\d+)"', html)
    fields = {f"none{head}": "1" for head in heads} | {f"u{heads[1]}": "1"}
    response = submit(study, ada, assignment, fields)
    assert response.status_code == 422
    assert "picture 2</a>" in response.content.decode()


def test_other_answers_after_the_submission_change_nothing_and_the_page_says_so() -> None:
    study, ada, html, assignment = begun()
    for _ in range(2):  # a second click is harmless
        assert submit(study, ada, assignment, dict.fromkeys(first_answers(html), "1")).status_code == 303
    before = list(Judgment.objects.values_list("value", flat=True))
    assert len(before) == len(first_answers(html))
    response = submit(study, ada, assignment, dict.fromkeys(first_answers(html), "2"))
    assert response.status_code == 409
    assert "have already submitted your answers" in response.content.decode()
    assert list(Judgment.objects.values_list("value", flat=True)) == before


def test_a_late_submission_is_told_what_happened_and_what_to_do_next() -> None:
    study, ada, html, assignment = begun()
    Assignment.objects.filter(pk=assignment.pk).update(
        accepted_at=timezone.now() - timedelta(hours=3), expires_at=timezone.now() - timedelta(minutes=1)
    )
    response = submit(study, ada, assignment, first_answers(html))
    page = response.content.decode()
    assert response.status_code == 409
    assert "work is over" in page
    assert f'href="/s/{study.slug}/work/"' in page
    assert not Judgment.objects.exists()


def test_answers_that_do_not_exist_and_drafts_that_cannot_be_read_are_refused_and_no_clock_matters() -> None:
    study, ada, _, assignment = begun()
    for value in ("3", "-1", "1.0", "yes", "9" * 40):
        assert submit(study, ada, assignment, {"u1": value}).status_code == 400
    assignment.refresh_from_db()
    assert assignment.answers == {}
    for seconds in ("", "nan", "inf", "-1", "1e9", "soon"):
        assert submit(study, ada, assignment, {"u1": "1", "t1": seconds}).status_code == 422
        assignment.refresh_from_db()
        assert assignment.answers == {"1": {"value": 1}}, seconds
    address = f"/s/{study.slug}/work/{assignment.pk}/save/"
    bodies = ("[]", "{", "null", "[" * 100_000, "\x00", '{"answer": []}')
    for body in (*bodies, '{"answers": 5}', '{"answers": [1]}', '{"answers": null}'):
        response = ada.client.post(address, body, content_type="application/json")
        assert response.status_code == 400
        assert re.fullmatch(r"Nothing was saved.*\.", response.json()["detail"])


def test_saving_for_later_without_scripts_keeps_the_answers() -> None:
    study, ada, html, assignment = begun("relevance")
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
    study, ada, html, assignment = begun()
    address = f"/s/{study.slug}/work/{assignment.pk}/return/"
    asked = ada.client.post(address, first_answers(html))
    assert asked.status_code == 303
    assignment.refresh_from_db()
    assert (assignment.state, bool(assignment.answers)) == ("accepted", True)
    assert "Return this page of work?" in ada.client.get(address).content.decode()
    assert "You returned the page of work" in ada.client.post(address, {"confirm": "1"}).content.decode()
    assignment.refresh_from_db()
    assert assignment.state == "returned"
    assert not Judgment.objects.exists()
    assert ada.client.post(address, {"confirm": "1"}).status_code == 200


def test_a_browser_whose_worker_went_on_elsewhere_is_told_so_before_anything_else() -> None:
    study, ada, html, assignment = begun()
    again = {"name": "ada", "resume": ada.resume}
    assert Client().post(f"/s/{study.slug}/resume/", again).status_code == 303
    response = submit(study, ada, assignment, first_answers(html))
    assert response.status_code == 403
    assert "another browser" in response.content.decode()
    assert ada.client.get(f"/s/{study.slug}/work/")["Location"] == f"/s/{study.slug}/"


def test_a_problem_is_reported_and_the_answers_of_the_page_are_kept() -> None:
    study, ada, _, assignment = begun()
    address = f"/s/{study.slug}/work/{assignment.pk}/report/2/"
    assert ada.client.post(address, {"u1": "2"}).status_code == 303
    assignment.refresh_from_db()
    assert assignment.answers["1"]["value"] == 2
    page = ada.client.get(address).content.decode()
    assert "What is wrong with item 2?" in page
    assert "picture" not in page  # a triplet shows none
    assert ada.client.post(address, {"what": "nonsense"}).status_code == 400
    sent = ada.client.post(address, {"what": "text", "comment": "A word is cut off."})
    assert (sent.status_code, sent["Location"]) == (303, f"/s/{study.slug}/work/#u2")
    report = ProblemReport.objects.get()
    assert (report.assignment, report.what, report.comment) == (assignment, "text", "A word is cut off.")
    assert ada.client.get(f"/s/{study.slug}/work/{assignment.pk}/report/99/").status_code == 404


def test_people_see_times_by_the_tag_whose_script_knows_their_zone() -> None:
    for folder in ("templates/annotation", "contrib/challenges/templates"):
        for path in (Path(settings.BASE_DIR) / folder).rglob("*.html"):
            text = path.read_text(encoding="utf-8")
            assert re.search(r"\|(date|time|timesince|timeuntil)\b", text) is None, path
            if (
                "{% local_time " in text
                and not path.name.startswith("_")
                and folder == "templates/annotation"
            ):
                assert "js/times.js" in text, path  # the challenges' own base loads it


def test_the_time_left_is_told_in_words() -> None:
    study = make_study(make_dataset(), crowd={"lease_minutes": 90})
    html, _ = work_of(study, joined(study))
    assert "1 h 29 min left" in html


def asked(action: Any) -> int:
    """Queries of an action; savepoints are no round trips outside of a test's transaction."""
    with CaptureQueriesContext(connection) as captured:
        response = action()
    assert response.status_code < 500
    response.close()
    return sum(not re.match(r"(SAVEPOINT|RELEASE|ROLLBACK TO|BEGIN|COMMIT)", one["sql"]) for one in captured)


@pytest.mark.parametrize("protocol", long_except(KINDS, "triplet", "relevance"))
def test_a_page_costs_at_most_fourteen_queries(protocol: str) -> None:
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


CALLS = ("save", "submit", "ahead", "extend", "retake", "change")


def call(study: Study, client: Client, assignment: Assignment, what: str, **body: Any) -> Any:
    address = f"/s/{study.slug}/work/{assignment.pk}/{what}/"
    return client.post(address, body, content_type="application/json")


def answers_to(html: str, value: int = 1) -> list[dict[str, Any]]:
    return [{"position": int(position), "value": value} for position in positions_on(html)]


def test_a_stranger_gets_nothing_by_any_call() -> None:
    study, _, html, assignment = begun()
    other = joined(study, "bo")
    for what, client in product(CALLS, (Client(), other.client)):
        reply = call(study, client, assignment, what, answers=answers_to(html))
        assert reply.status_code == 404
        assert reply.json()["why"] == "unknown"
        form = client.post(f"/s/{study.slug}/work/{assignment.pk}/{what}/", {"u1": "1"})
        assert form.status_code == 404
    assignment.refresh_from_db()
    assert (assignment.state, assignment.answers, assignment.extended) == ("accepted", {}, 0)


def test_a_submission_tells_which_page_comes_next_and_where_to_correct_this_one() -> None:
    study, ada, html, assignment = begun()
    ahead = call(study, ada.client, assignment, "ahead")
    assert ahead.status_code == 200
    reserved = Assignment.objects.get(state="reserved")
    assert f'data-assignment="{reserved.pk}"' in ahead.content.decode()
    reply = call(
        study, ada.client, assignment, "submit", answers=answers_to(html), ahead=str(reserved.pk)
    ).json()
    assert reply["next"] == str(reserved.pk)
    assert reply["change"] == f"/s/{study.slug}/work/{assignment.pk}/change/"
    assert 3500 < reply["left"] <= 3600
    assert (
        "Your page of work is submitted." not in ada.client.get(f"/s/{study.slug}/work/").content.decode()
    ), "it was said already"


def test_a_page_that_was_not_fetched_ahead_says_itself_that_the_one_before_is_submitted() -> None:
    study, ada, html, assignment = begun()
    reply = call(study, ada.client, assignment, "submit", answers=answers_to(html)).json()
    assert reply["next"]
    assert "Your page of work is submitted." in ada.client.get(reply["where"]).content.decode()


def test_an_incomplete_submission_names_what_is_missing_and_keeps_the_rest() -> None:
    study, ada, html, assignment = begun()
    reply = call(study, ada.client, assignment, "submit", answers=answers_to(html)[:1])
    assert reply.status_code == 400
    assert reply.json()["missing"] == [int(position) for position in positions_on(html)[1:]]
    assignment.refresh_from_db()
    assert assignment.answers["1"]["value"] == 1


def test_nothing_lies_ahead_of_the_last_page() -> None:
    study, ada, _, assignment = begun()
    study.hits.exclude(assignments=assignment).update(open_slots=0)
    assert call(study, ada.client, assignment, "ahead").status_code == 204


def test_what_lies_ahead_shows_no_more_than_its_page_would() -> None:
    study, ada, _, assignment = begun("graded")
    html = call(study, ada.client, assignment, "ahead").content.decode()
    for secret in ("secret-file", "captioner", "control", "expected"):
        assert secret not in html


def test_more_time_and_its_end_are_told_in_seconds_and_words() -> None:
    study, ada, html, assignment = begun(crowd={"extensions": 1})
    call(study, ada.client, assignment, "save", answers=answers_to(html)[:1])
    soon = timezone.now() + timedelta(minutes=2)
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=soon)
    reply = call(study, ada.client, assignment, "extend")
    assert 3590 <= reply.json()["left"] <= 3600
    assert reply.json()["more"] == 0
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=soon)
    refused = call(study, ada.client, assignment, "extend")
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith("Your answers are saved")


def test_a_refusal_says_what_happened_to_the_page() -> None:
    study, ada, html, assignment = begun()
    refusals = (("expired", "save", "late"), ("expired", "submit", "late"), ("returned", "save", "over"))
    for state, what, why in (*refusals, ("returned", "retake", "over"), ("submitted", "save", "over")):
        submitted_at = timezone.now() if state == "submitted" else None
        Assignment.objects.filter(pk=assignment.pk).update(state=state, submitted_at=submitted_at)
        reply = call(study, ada.client, assignment, what, answers=answers_to(html))
        assert (reply.status_code, reply.json()["why"]) == (409, why)


def test_a_correction_comes_back_with_the_answers_that_count() -> None:
    study, ada, html, assignment = begun()
    call(study, ada.client, assignment, "submit", answers=answers_to(html))
    assert (
        call(study, ada.client, assignment, "change", answers=[{"position": 2, "value": 2}]).status_code
        == 200
    )
    page = ada.client.get(f"/s/{study.slug}/work/{assignment.pk}/change/").content.decode()
    chosen = [part.split(">")[0] for part in page.split("<input") if "checked" in part.split(">")[0]]
    assert 'value="2"' in next(part for part in chosen if 'name="u2"' in part)
    assert Judgment.objects.filter(assignment=assignment, replaces__isnull=False).count() == 1


def test_corrections_end_with_the_time_for_them() -> None:
    study, ada, html, assignment = begun(crowd={"edit_minutes": 5})
    call(study, ada.client, assignment, "submit", answers=answers_to(html))
    past = timezone.now() - timedelta(minutes=6)
    Assignment.objects.filter(pk=assignment.pk).update(accepted_at=past, submitted_at=past)
    refused = call(study, ada.client, assignment, "change", answers=[{"position": 1, "value": 2}])
    assert (refused.status_code, refused.json()["why"]) == (409, "fixed")
    assert ada.client.get(f"/s/{study.slug}/work/{assignment.pk}/change/").status_code == 409
    assert "Change my last page</a>" in ada.client.get(f"/s/{study.slug}/work/").content.decode()
    assert f"{assignment.pk}/change/" not in ada.client.get(f"/s/{study.slug}/work/").content.decode()


def test_a_refused_answer_is_named_by_its_position() -> None:
    study, ada, html, assignment = begun()
    wrong = [*answers_to(html)[:1], {"position": 2, "value": 9}]
    reply = call(study, ada.client, assignment, "save", answers=wrong)
    assert (reply.status_code, reply.json()["position"]) == (400, 2)


def test_the_calls_of_a_page_stay_within_their_queries(standing_clock: None) -> None:
    study, ada, html, assignment = begun()
    counts = {}
    bodies = {"save": {"answers": answers_to(html)[:1]}, "ahead": {}, "submit": {"answers": answers_to(html)}}
    for what, body in bodies.items():
        with CaptureQueriesContext(connection) as queries:
            assert call(study, ada.client, assignment, what, **body).status_code == 200
        counts[what] = sum("SAVEPOINT" not in one["sql"] for one in queries.captured_queries)
    assert counts["save"] <= 4, counts
    assert counts["ahead"] <= 12, counts  # one notes whose seat it is
    assert counts["submit"] <= 10, counts
