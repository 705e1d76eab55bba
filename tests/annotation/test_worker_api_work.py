"""A worker's client accepts HITs, saves and submits answers, and reports a problem."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, Judgment, ProblemReport
from judgments.models import HIT, Item, Unit
from tests.annotation.calling import accept, answers_to, begin, is_problem, join, patch, post, submit
from tests.studies import make_study, make_worker

pytestmark = pytest.mark.django_db


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


def test_each_call_is_held_to_a_query_count(django_assert_max_num_queries: Any) -> None:
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
