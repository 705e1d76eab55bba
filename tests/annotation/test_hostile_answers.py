"""Answers, comments and reports that no page would send: each is kept or refused by name."""

import json
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.test import Client

from judgments.models import Caption, Item, Output, Study, System
from tests.annotation.calling import accept, is_problem, patch
from tests.annotation.casting import Person, make_dataset, make_study, with_person
from tests.annotation.posting import submit, work_of
from tests.annotation.scenes import make_scenes
from tests.annotation.writing import writing_study
from tests.templating import make_template_study

pytestmark = pytest.mark.django_db

OPEN = ("caption", "keywords", "grounding", "best-worst", "template")
HALF_A_SIGN = "\ud83d"  # of a pair of surrogates; JSON can say it, UTF-8 cannot
HOSTILE: list[Any] = [
    *(None, True, 0, -1, 1e308, float("nan"), float("inf"), 10**400),
    *("", "\x00", "a\x00b", HALF_A_SIGN, "dog" + HALF_A_SIGN, "🐕" * 900, "\u202edog\u202c", "x" * 20_000),
    *(
        [],
        [[]],
        [None],
        [1],
        ["\x00"],
        [HALF_A_SIGN],
        ["dog" + HALF_A_SIGN],
        ["🐕"],
        ["dog"] * 500,
        ["x" * 20_000],
    ),
    *(
        {"tone": "pos"},
        {"tone": HALF_A_SIGN},
        {"tone": "pos", "why": HALF_A_SIGN},
        {"tone": "pos", "why": "\x00"},
    ),
    *(
        {"tone": ["pos"]},
        {"tone": "pos", "age": 10**400},
        {"tone": "pos", "flags": [["irony"]]},
        {HALF_A_SIGN: 1},
    ),
    *({}, {"best": 1}, {"best": 1, "worst": 1}, {"best": True, "worst": 2}, {"best": 1e0, "worst": 2}),
    *({"best": float("nan"), "worst": 1}, {"best": [1], "worst": {}}, {"word": 0, "box": "0"}),
    *(
        [{"word": 0}],
        [{"word": "0", "box": "0"}],
        [{"word": 1, "box": HALF_A_SIGN}],
        [{"word": 1, "box": ["0"]}],
    ),
    *([{"word": [[1]], "box": "0"}], [{"word": 10**30, "box": "0"}], [{"word": 1, "box": "0", "why": "x"}]),
    *([{"word": 1, "box": "0"}] * 500, [{"word": 1, "box": "0"}, {"word": 1, "box": "1"}]),
]


def make(protocol: str) -> Study:
    if protocol == "caption":
        return writing_study()
    if protocol in ("keywords", "grounding"):
        return make_study(make_scenes(), protocol, units_per_hit=3, controls={"per_hit": 0})
    if protocol == "template":
        with TemporaryDirectory() as folder:
            return make_template_study(Path(folder))
    dataset = make_dataset()
    for number in range(4):
        system = System.objects.create(dataset=dataset, name=f"system-{number}")
        for item in Item.objects.filter(dataset=dataset):
            caption = Caption.objects.create(
                dataset=dataset,
                key=f"{number}-{item.position}",
                text=f"Scene {item.position} as number {number} tells it.",
                role=Caption.Role.CANDIDATE,
            )
            Output.objects.create(system=system, item=item, caption=caption)
    return make_study(dataset, protocol, controls={"per_hit": 0})


def bearer(person: Person) -> dict[str, str]:
    return {"Authorization": f"Token {person.token}"}


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("protocol", OPEN)
def test_an_answer_of_any_form_and_depth_is_kept_or_refused_by_name(protocol: str) -> None:
    study, ada = with_person(make(protocol))
    held = accept(study, bearer(ada)).json()["id"]
    for given in HOSTILE:
        reply = patch(
            f"/api/assignments/{held}/", {"answers": [{"position": 1, "answer": given}]}, bearer(ada)
        )
        assert reply.status_code in (200, 400), given
        reply = ada.client.post(
            f"/s/{study.slug}/work/{held}/save/",
            json.dumps({"answers": [{"position": 1, "answer": given}]}),
            content_type="application/json",
        )
        assert reply.status_code in (200, 400), given
    places = ("answer", "position", "seconds", "signals")
    for place, depth in product(places, (50, 900, 990, 5_000)):
        members = {"position": "1", "answer": '"dog"'} | {place: nested(depth)}
        body = ", ".join(f'"{name}": {said}' for name, said in members.items())
        body = f'{{"answers": [{{{body}}}]}}'
        reply = ada.client.post(f"/s/{study.slug}/work/{held}/save/", body, content_type="application/json")
        assert reply.status_code == 400, (place, depth)
        reply = Client().patch(
            f"/api/assignments/{held}/", body, content_type="application/json", headers=bearer(ada)
        )
        is_problem(reply, 400)
        assert len(reply.content) < 1_000


def test_a_comment_that_cannot_be_stored_is_refused_while_it_can_be_mended() -> None:
    study, ada = with_person(make_study(make_dataset()))
    _, held = work_of(study, ada)
    comments: list[Any] = ["a\x00b", HALF_A_SIGN, "x" * 2_001, ["no"], 5]
    for comment, call in product(comments, ("save", "submit")):
        answer = {"position": 1, "value": 1, "comment": comment}
        reply = ada.client.post(
            f"/s/{study.slug}/work/{held.pk}/{call}/",
            json.dumps({"answers": [answer]}),
            content_type="application/json",
        )
        assert reply.status_code == 400
        assert reply.json()["detail"].startswith("Nothing was saved")
    held.refresh_from_db()
    assert held.answers == {}


@pytest.mark.parametrize("protocol", ["caption", "keywords", "grounding"])
def test_a_plain_form_keeps_what_is_no_answer_without_signs_that_no_database_takes(protocol: str) -> None:
    study, ada = with_person(make(protocol))
    _, held = work_of(study, ada)
    name = "u1-w1" if protocol == "grounding" else "u1"
    response = submit(study, ada, held, {name: "no\x00such"})
    assert response.status_code == 422
    held.refresh_from_db()
    assert held.answers["1"]["unfinished"]
    assert "\\u0000" not in json.dumps(held.answers)
