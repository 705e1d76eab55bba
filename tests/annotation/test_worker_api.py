"""A worker's client joins a study and works; its token opens its own work alone; wrong input is refused."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, Invitation, Judgment, Participation, ProblemReport, Worker
from judgments.models import HIT, Item, Unit
from judgments.studies.studies import mark_closed
from tests.annotation.calling import accept, answers_to, begin, is_problem, join, patch, post, submit
from tests.doors import key_of
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


def test_joining_gives_a_name_a_token_and_a_resume_code() -> None:
    reply = join(make_study())
    assert reply.status_code == 201
    assert set(reply.json()) == {"worker", "token", "resume"}
    assert reply.json()["worker"] == "w-0007"
    assert reply["Cache-Control"] == "no-store"


def test_tokens_and_codes_are_not_stored_as_they_are() -> None:
    reply = join(make_study()).json()
    worker = Worker.objects.get()
    stored = f"{worker.token_hash} {worker.resume_hash}"
    assert reply["token"] not in stored
    assert reply["resume"] not in stored


@pytest.mark.parametrize("name", ["ada", "ada % _ #", "x" * 100])
def test_a_name_of_another_study_is_answered_like_a_free_one(name: str) -> None:
    study, other = make_study(), make_study(name="Another study")
    first = post(f"/api/studies/{other.slug}/join/", {"worker": name}).json()

    def come(**more: Any) -> Any:
        return post(f"/api/studies/{study.slug}/join/", {"worker": name, **more})

    reply = come()
    assert (reply.status_code, set(reply.json())) == (201, set(first))
    assert reply.json()["worker"] == first["worker"] == name
    assert reply.json()["token"] != first["token"]
    browser = Client()
    browser.cookies["quorum_worker"] = reply.json()["token"]
    assert Worker.objects.latest("pk").name not in browser.get("/me/").content.decode()
    assert "taken" in is_problem(come(), 409)["detail"]
    back = come(resume=reply.json()["resume"])
    assert back.status_code == 201
    headers = {"Authorization": f"Token {back.json()['token']}"}
    again = post(f"/api/studies/{study.slug}/join/", {"worker": name}, headers)
    assert (again.status_code, again.json()["token"]) == (201, back.json()["token"])
    assert Worker.objects.count() == 2
    mine = post(f"/api/studies/{other.slug}/join/", {"worker": name, "resume": first["resume"]})
    assert mine.status_code == 201
    assert Worker.objects.get(participations__study=other).name == name


def test_a_name_that_ends_like_a_mark_is_refused_but_to_its_owner() -> None:
    study = make_study()
    reply = post(f"/api/studies/{study.slug}/join/", {"worker": "ada #12345678"})
    assert "please choose another one" in is_problem(reply, 400)["detail"]
    assert post(f"/api/studies/{study.slug}/join/", {"worker": "ada"}).status_code == 201
    worker, headers = make_worker(study, "bela")
    Worker.objects.filter(pk=worker.pk).update(name="bela #12345678")  # from before there were marks
    again = post(f"/api/studies/{study.slug}/join/", {"worker": "bela #12345678"}, headers)
    assert again.status_code == 201


def test_a_resume_code_is_found_without_reading_all_workers() -> None:
    found = Worker.objects.filter(source=Worker.Source.LOCAL, resume_hash="0" * 64)
    assert "workers_by_resume_code" in found.explain()


def test_a_taken_name_is_refused_to_another_worker_too() -> None:
    study = make_study()
    join(study)
    assert "taken" in is_problem(join(study), 409)["detail"]
    _, stranger = make_worker(study, "stranger")
    is_problem(post(f"/api/studies/{study.slug}/join/", {"worker": "w-0007"}, stranger), 409)


def test_a_worker_joins_again_with_their_token_and_keeps_it() -> None:
    study, other = make_study(), make_study("graded")
    _, headers = make_worker(study)
    for one in (study, other):
        reply = post(f"/api/studies/{one.slug}/join/", {"worker": "w-0007"}, headers)
        assert reply.status_code == 201
        assert headers["Authorization"] == f"Token {reply.json()['token']}"
        assert reply.json()["resume"] is None
        assert accept(one, headers).status_code == 201
    assert Worker.objects.count() == 1


def test_the_resume_code_gives_a_new_token_and_a_wrong_one_nothing() -> None:
    study = make_study()
    first = join(study).json()
    for resume in ("wrong", "", "x" * 10_000):
        is_problem(join(study, resume=resume), 409)
    assert accept(study, {"Authorization": f"Token {first['token']}"}).status_code == 201
    again = join(study, resume=first["resume"])
    assert again.status_code == 201
    assert again.json()["token"] != first["token"]
    is_problem(accept(study, {"Authorization": f"Token {first['token']}"}), 401)
    assert accept(study, {"Authorization": f"Token {again.json()['token']}"}).status_code == 200
    assert join(study, resume=first["resume"]).status_code == 201, "the code works more than once"


def test_the_resume_code_lets_a_worker_into_another_study_on_its_terms() -> None:
    resume = join(make_study()).json()["resume"]
    other = make_study("graded", consent="We store your answers.")
    is_problem(join(other, resume=resume), 403)
    assert join(other, resume=resume, consent=True).status_code == 201


def test_a_name_of_any_script_is_welcome_once_in_any_spelling_and_others_are_refused() -> None:
    study = make_study()
    wrong = ["", "   ", "x" * 101, "a\x00b", "a\x1bb", "\ud800", "‮evil", 7, None, True, ["w"], {"a": 1}]
    for name in wrong:
        is_problem(join(study, worker=name), 400)
    assert not Worker.objects.exists()
    for name in ("Zoë", "王小明", "O'Neil <b>", "w 0007", "=cmd()"):
        assert join(study, worker=name).json()["worker"] == name
    join(study, worker="Zoë")
    is_problem(join(study, worker=" Zoe\u0308 "), 409)


def test_a_code_study_wants_its_code() -> None:
    study = make_study(access={"join": "code", "code": "blau-42-rot"})
    for wrong in ("", "blau", "BLAU-42", "bläu-42"):
        is_problem(join(study, code=wrong), 403)
    is_problem(join(study), 403)
    is_problem(join(study, code=42), 400)
    assert not Worker.objects.exists()
    assert join(study, code=" blau-42-rot ").status_code == 201


def test_an_invitation_lets_one_worker_in_once() -> None:
    study = make_study(access={"join": "invited"})
    Invitation.objects.create(study=study, code="for-ada")
    for wrong in ("", "for-bob", "x" * 5000):
        is_problem(join(study, code=wrong), 403)
    ada = join(study, worker="ada", code="for-ada")
    assert ada.status_code == 201
    is_problem(join(study, worker="bob", code="for-ada"), 403)
    back = post(
        f"/api/studies/{study.slug}/join/",
        {"worker": "ada"},
        {"Authorization": f"Token {ada.json()['token']}"},
    )
    assert back.status_code == 201, "who is in needs the invitation no more"


def test_an_invitation_to_another_study_opens_nothing() -> None:
    study, other = make_study(access={"join": "invited"}), make_study("graded", access={"join": "invited"})
    Invitation.objects.create(study=other, code="for-ada")
    is_problem(join(study, code="for-ada"), 403)


def test_a_consent_text_wants_consent() -> None:
    study = make_study(consent="We store your answers.")
    is_problem(join(study), 403)
    is_problem(join(study, consent=False), 403)
    for odd in ("true", 1, "yes"):
        is_problem(join(study, consent=odd), 400)
    assert not Worker.objects.exists()
    assert join(study, consent=True).status_code == 201
    participation = Participation.objects.get()
    assert participation.consented_at is not None
    assert participation.consent_version


def test_only_open_studies_let_workers_in() -> None:
    draft = make_study(opened=False)
    is_problem(join(draft), 403)
    closed = make_study("graded")
    mark_closed(study=closed)
    is_problem(join(closed), 403)
    is_problem(post("/api/studies/no-such-study/join/", {"worker": "w"}), 404)


def test_no_token_and_a_wrong_token_are_401_also_when_joining() -> None:
    study = make_study()
    for headers in (
        {},
        {"Authorization": "Token wrong"},
        {"Authorization": "Token " + "0" * 40},
        {"Authorization": "Token "},
        {"Authorization": "Token two words"},
        {"Authorization": "Token naïve"},
        {"Authorization": "Basic dzp3"},
    ):
        response = accept(study, headers)
        is_problem(response, 401)
        assert response["WWW-Authenticate"] == "Token"
    is_problem(
        post(f"/api/studies/{study.slug}/join/", {"worker": "w"}, {"Authorization": "Token wrong"}), 401
    )


RESOURCES = (
    *("studies", "units", "hits", "assignments", "judgments", "workers"),
    *("consensus", "reports", "exports", "jobs", "studies/a-triplet-study", "schema", "docs"),
)


def test_a_workers_token_opens_no_other_resource() -> None:
    _, headers = make_worker(make_study())
    for name in RESOURCES:
        is_problem(Client().get(f"/api/{name}/", headers=headers), 403)
    for name in ("datasets", "systems"):  # of published datasets, which everybody may read
        assert Client().get(f"/api/{name}/", headers=headers).json()["results"] == []


def test_a_workers_token_opens_its_calls_by_their_own_methods_alone() -> None:
    study = make_study()
    _, headers = make_worker(study)
    own = accept(study, headers).json()["id"]
    for method in ("get", "put", "patch", "delete", "options"):
        for path in (
            f"/api/studies/{study.slug}/join/",
            f"/api/studies/{study.slug}/assignments/",
            f"/api/assignments/{own}/submit/",
            *([f"/api/assignments/{own}/"] if method != "patch" else []),
        ):
            is_problem(getattr(Client(), method)(path, headers=headers), 403)


def test_a_staff_token_does_no_workers_work() -> None:
    study = make_study()
    designer = User.objects.create_user("designer", is_staff=True)
    is_problem(accept(study, key_of(designer)), 403)


def test_a_strangers_assignment_looks_like_none() -> None:
    study = make_study()
    _, headers = make_worker(study)
    _, stranger = make_worker(study, "stranger")
    shown = accept(study, headers).json()
    for assignment in (shown["id"], "00000000-0000-4000-8000-000000000000", "1", "x" * 300, "%00"):
        is_problem(patch(f"/api/assignments/{assignment}/", {"answers": []}, stranger), 404)
        is_problem(submit(assignment, answers_to(shown), stranger), 404)
        is_problem(post(f"/api/assignments/{assignment}/return/", headers=stranger), 404)
        is_problem(post(f"/api/assignments/{assignment}/report/", {"position": 1}, stranger), 404)
    assert Assignment.objects.get().state == "accepted"


def test_a_worker_who_did_not_join_this_study_gets_no_work_in_it() -> None:
    _, headers = make_worker(make_study())
    is_problem(accept(make_study("graded"), headers), 403)


GOOD = {"position": 1, "value": 1}

WRONG_ANSWERS: list[Any] = [
    None,
    7,
    "1",
    {"1": 1},
    [1],
    [None],
    [[]],
    [{}],
    [{"position": 1}],
    [{"value": 1}],
    [GOOD | {"position": True}],
    [GOOD | {"value": True}],
    [GOOD | {"value": 1.0}],
    [GOOD | {"value": "1"}],
    [GOOD | {"value": None}],
    [GOOD | {"value": [1]}],
    [GOOD | {"value": {"a": {"b": [1]}}}],
    [GOOD | {"value": 0}],
    [GOOD | {"value": 3}],
    [GOOD | {"value": 10**40}],
    [GOOD | {"position": 0}],
    [GOOD | {"position": -1}],
    [GOOD | {"position": 6}],
    [GOOD | {"position": 10**40}],
    [GOOD | {"position": "1"}],
    [GOOD | {"seconds": "3"}],
    [GOOD | {"seconds": -1}],
    [GOOD | {"seconds": 1e300}],
    [GOOD | {"seconds": True}],
    [GOOD, GOOD | {"value": 2}],
]
BROKEN_BODIES = [b"[]", b"{}", b'{"answer": []}']


def test_answers_that_are_not_valid_are_refused_and_nothing_is_kept() -> None:
    headers, shown = begin(make_study())
    path = f"/api/assignments/{shown['id']}/"
    for answers in WRONG_ANSWERS:
        is_problem(patch(path, {"answers": answers}, headers), 400)
        is_problem(submit(shown["id"], answers, headers), 400)
        if isinstance(answers, list):
            is_problem(submit(shown["id"], [*answers_to(shown)[1:], *answers], headers), 400)
        assert Assignment.objects.get().answers == {}, answers
    assert not Judgment.objects.exists()


def test_a_broken_body_is_a_400() -> None:
    study = make_study()
    headers, shown = begin(study)
    draft = f"/api/assignments/{shown['id']}/"
    for body in BROKEN_BODIES:
        request: dict[str, Any] = {"data": body, "content_type": "application/json", "headers": headers}
        is_problem(Client().post(f"{draft}submit/", **request), 400)
        is_problem(Client().post(f"/api/studies/{study.slug}/join/", **request), 400)
        is_problem(Client().patch(draft, **request), 400)


def test_next_is_true_or_false() -> None:
    headers, shown = begin(make_study())
    others: tuple[Any, ...] = (1, "yes", [])
    for other in others:
        is_problem(submit(shown["id"], answers_to(shown), headers, next=other), 400)
    assert not Judgment.objects.exists()


def test_unknown_addresses_are_problem_documents() -> None:
    is_problem(Client().get("/api/nothing/"), 404)
    is_problem(post("/api/studies/x/join", {}), 404)
    is_problem(Client().get("/api/units/%0A/"), 404)
    is_problem(Client(enforce_csrf_checks=True).post("/api/studies/%C2%84/nothing/"), 404)
    assert Client().get("/api/studies?state=open")["Location"] == "/api/studies/?state=open"


KEYS = {
    "triplet": {"position", "protocol", "question", "a", "b", "c"},
    "pairwise": {"position", "protocol", "question", "image", "b", "c"},
    "relevance": {"position", "protocol", "question", "image", "caption"},
    "graded": {"position", "protocol", "question", "image", "caption"},
}


@pytest.mark.parametrize("protocol", KEYS)
def test_a_unit_is_shown_with_the_keys_of_its_kind_and_names_neither_control_item_nor_system(
    protocol: str,
) -> None:
    study = make_study(protocol)
    _, headers = make_worker(study)
    response = accept(study, headers)
    assert response.status_code == 201
    shown = response.json()
    assert set(shown) == {"id", "expires_at", "units"}
    assert [unit["position"] for unit in shown["units"]] == list(range(1, len(shown["units"]) + 1))
    for unit in shown["units"]:
        assert set(unit) == KEYS[protocol]
        assert unit["protocol"] == protocol
        for name in {"a", "b", "c", "caption"} & set(unit):
            assert set(unit[name]) == {"text"}
        if "image" in unit:
            assert set(unit["image"]) == {"url", "alt"}
            assert not any(text in unit["image"]["alt"] for text in texts_of(unit))
    text = accept(study, headers).content.decode()
    for unit in Unit.objects.filter(study=study).select_related("reference", "first", "second"):
        captions = [caption.key for caption in (unit.reference, unit.first, unit.second) if caption]
        for secret in (unit.key, *captions):
            assert secret not in text
    for word in ("control", "expected", "flip", "second", "first", "pair_", "kind", "HC", "reference"):
        assert word not in text.replace(f'"protocol":"{protocol}"', "")


def texts_of(unit: dict[str, Any]) -> list[str]:
    return [unit[name]["text"] for name in ("a", "b", "c", "caption") if name in unit]


def test_nothing_left_is_204_without_a_body() -> None:
    study = make_study()
    _, headers = make_worker(study)
    for _ in range(HIT.objects.filter(study=study).count()):
        shown = accept(study, headers).json()
        assert submit(shown["id"], answers_to(shown), headers).status_code == 200
    response = accept(study, headers)
    assert response.status_code == 204
    assert response.content == b""


def test_a_picture_is_shown_to_the_token_of_its_worker_alone() -> None:
    study = make_study("pairwise")
    for item in Item.objects.all():
        item.picture.save(item.name, ContentFile(b"the bytes of " + item.name.encode()))
    _, headers = make_worker(study)
    _, stranger = make_worker(study, "stranger")
    for unit in accept(study, headers).json()["units"]:
        url = unit["image"]["url"]
        assert ".jpg" not in url
        assert Client().get(url, headers=headers).getvalue().startswith(b"the bytes of ")
        is_problem(Client().get(url, headers=stranger), 403)
        is_problem(Client().get(url, headers={"Authorization": "Token wrong"}), 401)
        is_problem(Client().get(url), 401)
    is_problem(Client().get("/pictures/00000000-0000-4000-8000-000000000000/1/", headers=headers), 403)


def test_saving_is_idempotent_and_adds_up() -> None:
    study = make_study()
    _, headers = make_worker(study)
    path = f"/api/assignments/{accept(study, headers).json()['id']}/"
    for _ in range(2):
        assert (
            patch(path, {"answers": [{"position": 2, "value": 1, "seconds": 3.5}]}, headers).status_code
            == 200
        )
    saved = patch(path, {"answers": [{"position": 1, "value": 2}]}, headers)
    assert saved.json()["answers"] == [{"position": 1, "value": 2}, {"position": 2, "value": 1}]
    changed = patch(path, {"answers": [{"position": 1, "value": 1}]}, headers)
    assert changed.json()["answers"][0] == {"position": 1, "value": 1}


def test_answers_are_stored_in_the_units_order_whatever_side_was_shown() -> None:
    headers, shown = begin(make_study())
    submit(shown["id"], answers_to(shown, 1), headers)
    stored = list(Judgment.objects.order_by("pk").select_related("unit__first", "unit__second"))
    assert len(stored) == len(shown["units"])
    for unit, judgment in zip(shown["units"], stored, strict=True):
        chosen = judgment.unit.first if judgment.value == 1 else judgment.unit.second
        assert chosen is not None
        assert chosen.text == unit["b"]["text"]
        assert judgment.presented == ("first-left" if judgment.value == 1 else "second-left")
    assert {judgment.value for judgment in stored} == {1, 2}


def test_a_submission_that_leaves_units_out_says_which_and_keeps_the_rest() -> None:
    headers, shown = begin(make_study())
    one, two, *rest = answers_to(shown)
    missing = is_problem(submit(shown["id"], [two], headers), 400)["missing"]
    assert missing == [answer["position"] for answer in (one, *rest)]
    assert not Judgment.objects.exists()
    assert Assignment.objects.get().answers == {"2": {"value": 1}}
    assert submit(shown["id"], [one, *rest], headers).status_code == 200


def test_the_reply_to_a_submission_brings_the_next_hit() -> None:
    study = make_study()
    _, headers = make_worker(study)
    shown, seen = accept(study, headers).json(), set()
    while shown is not None:
        seen.add(shown["id"])
        reply = submit(shown["id"], answers_to(shown), headers, next=True).json()
        assert set(reply) == {"id", "state", "next"}
        if reply["next"] is not None:
            assert accept(study, headers).json() == reply["next"]
        shown = reply["next"]
    assert len(seen) == HIT.objects.filter(study=study).count()


def test_repeating_a_submission_is_harmless_and_a_different_one_changes_nothing() -> None:
    headers, shown = begin(make_study())
    first = submit(shown["id"], answers_to(shown), headers)
    again = submit(shown["id"], answers_to(shown), headers)
    assert again.status_code == first.status_code == 200
    assert again.json() == first.json()
    assert Judgment.objects.count() == len(shown["units"])
    with_next = submit(shown["id"], answers_to(shown), headers, next=True).json()
    assert with_next["next"] == submit(shown["id"], answers_to(shown), headers, next=True).json()["next"]
    submit(shown["id"], answers_to(shown, 1), headers)
    before = list(Judgment.objects.values_list("unit", "value"))
    is_problem(submit(shown["id"], answers_to(shown, 2), headers), 409)
    is_problem(patch(f"/api/assignments/{shown['id']}/", {"answers": answers_to(shown, 2)}, headers), 409)
    is_problem(post(f"/api/assignments/{shown['id']}/return/", headers=headers), 409)
    assert list(Judgment.objects.values_list("unit", "value")) == before


def test_a_late_submission_changes_nothing_and_the_slot_goes_to_another() -> None:
    study = make_study(judgments_per_unit=1)
    _, headers = make_worker(study)
    _, other = make_worker(study, "other")
    shown = accept(study, headers).json()
    patch(f"/api/assignments/{shown['id']}/", {"answers": answers_to(shown)[:1]}, headers)
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    is_problem(submit(shown["id"], answers_to(shown), headers), 409)
    is_problem(patch(f"/api/assignments/{shown['id']}/", {"answers": answers_to(shown, 2)}, headers), 409)
    assert Assignment.objects.get().answers == {"1": {"value": 1}}
    hits = set()
    for _ in range(HIT.objects.filter(study=study).count()):
        taken = accept(study, other).json()
        hits.add(Assignment.objects.get(pk=taken["id"]).hit_id)
        assert submit(taken["id"], answers_to(taken), other).status_code == 200
    assert len(hits) == HIT.objects.filter(study=study).count()
    is_problem(submit(shown["id"], answers_to(shown), headers), 409)
    assert Assignment.objects.get(pk=shown["id"]).state == "expired"
    assert not Judgment.objects.filter(assignment_id=shown["id"]).exists()


def test_an_expired_hit_is_taken_up_again_with_its_saved_answers() -> None:
    study = make_study(judgments_per_unit=1)
    headers, shown = begin(study)
    path = f"/api/assignments/{shown['id']}/"
    assert post(f"{path}retake/", headers=headers).json() == shown  # the lease has not ended
    patch(path, {"answers": answers_to(shown)[:1]}, headers)
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    reply = post(f"{path}retake/", headers=headers)
    assert reply.status_code == 200
    again = reply.json()
    assert [unit["position"] for unit in again["units"]] == [unit["position"] for unit in shown["units"]]
    assert Assignment.objects.get(pk=again["id"]).answers == {"1": {"value": 1}}
    assert submit(again["id"], answers_to(again), headers).status_code == 200
    _, other = make_worker(study, "other")
    for their_headers, status in ((other, 404), (headers, 409)):
        is_problem(post(f"/api/assignments/{again['id']}/retake/", headers=their_headers), status)


def test_a_returned_hit_can_be_taken_by_another_and_takes_no_answers() -> None:
    study = make_study(judgments_per_unit=1)
    headers, shown = begin(study)
    for _ in range(2):
        reply = post(f"/api/assignments/{shown['id']}/return/", headers=headers)
        assert reply.status_code == 200
        assert reply.json() == {"id": shown["id"], "state": "returned"}
    is_problem(submit(shown["id"], answers_to(shown), headers), 409)
    hits = HIT.objects.filter(study=study)
    assert {hit.open_slots for hit in hits} == {1}
    assert accept(study, headers).json()["id"] != shown["id"]


def test_a_problem_with_a_picture_is_reported() -> None:
    study = make_study("pairwise")
    _, headers = make_worker(study)
    path = f"/api/assignments/{accept(study, headers).json()['id']}/report/"
    reply = post(path, {"position": 2, "what": "picture", "comment": "grey box"}, headers)
    assert reply.status_code == 201
    report = ProblemReport.objects.get()
    assert (report.what, report.comment) == ("picture", "grey box")
    for wrong in ({"position": 99}, {"position": True}, {"position": 1, "what": "spam"}, {}):
        is_problem(post(path, wrong, headers), 400)


def test_each_call_is_held_to_a_query_count(django_assert_max_num_queries: Any, standing_clock: None) -> None:
    study = make_study("relevance")
    with django_assert_max_num_queries(7):
        token = join(study).json()["token"]
    headers = {"Authorization": f"Token {token}"}
    with django_assert_max_num_queries(12):  # one of them notes the address
        shown = accept(study, headers).json()
    with django_assert_max_num_queries(6):
        assert accept(study, headers).status_code == 200
    with django_assert_max_num_queries(6):
        patch(f"/api/assignments/{shown['id']}/", {"answers": answers_to(shown)[:3]}, headers)
    with django_assert_max_num_queries(7):
        assert submit(shown["id"], answers_to(shown), headers).status_code == 200
    shown = accept(study, headers).json()
    with django_assert_max_num_queries(15):  # one of them for the control items met before, one for the seat
        assert submit(shown["id"], answers_to(shown), headers, next=True).status_code == 200
