"""How answers are written (counted where the design says so), and answers meant to do harm."""

import json
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.test import Client

from annotation.errors import AnswerProblem
from annotation.models import Assignment, Judgment
from annotation.privacy.consent import consent_version
from annotation.work.sheet.hidden_line import HIDDEN_WORDS, hidden_word
from annotation.work.submissions import save_answers
from common.errors import DesignError
from contrib.hit_templates.tests.templating import make_template_study
from judgments.design.reading.checking import make_design
from judgments.models import Caption, Item, Output, Study, System
from tests.annotation.calling import accept, is_problem, patch
from tests.annotation.casting import Person, joined, make_dataset, make_study, with_person
from tests.annotation.leasing import claimed
from tests.annotation.posting import submit, work_of
from tests.annotation.scenes import make_scenes
from tests.annotation.writing import BOTH, PASTED, TEXTS, write, writing_study
from tests.marks import long_except
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def test_counts_are_kept_where_the_design_asks_and_given_back_to_the_person() -> None:
    study, ada = with_person(writing_study(images=3, writing={"record": True}))
    write(study, ada.worker, signals=PASTED)
    assert all(row.signals == PASTED for row in Judgment.objects.all())
    own = [json.loads(line) for line in ada.client.get("/me/answers/").getvalue().splitlines()]
    assert own[0]["signals"] == PASTED


@pytest.mark.parametrize(("signals", "said"), [
    ({"keys": -1}, "expected a number for each of pasted, text, from_keys"),
    ({"keys": 1_000_001}, "expected a number"),
    ({"keys": 1.5}, "expected a number"),
    ({"keys": True}, "expected a number"),
    ({"which": 3}, "expected a number"),
    ([1], "expected a number"),
])  # fmt: skip
def test_hostile_counts_are_refused_in_a_sentence_and_nothing_is_kept(signals: Any, said: str) -> None:
    study = writing_study(images=3, writing={"record": True})
    claim = claimed(study, joined(study).worker)
    answers = [{"position": 1, "answer": TEXTS[0], "signals": signals}]
    with refuses(AnswerProblem, said, position=1):
        save_answers(assignment=claim.assignment, answers=answers)
    claim.assignment.refresh_from_db()
    assert claim.assignment.answers == {}


def test_a_study_that_tells_nobody_takes_no_counts_but_pasted_characters() -> None:
    study = writing_study(images=3)
    claim = claimed(study, joined(study).worker)
    with refuses(AnswerProblem, "keys", position=1):
        save_answers(
            assignment=claim.assignment, answers=[{"position": 1, "answer": TEXTS[0], "signals": {"keys": 3}}]
        )
    save_answers(
        assignment=claim.assignment, answers=[{"position": 1, "answer": TEXTS[0], "signals": {"pasted": 3}}]
    )


def test_an_existing_design_is_stored_as_it_was_and_its_page_is_without_all_this() -> None:
    plain, noting = (
        writing_study(images=3),
        writing_study(images=3, dataset_name="more", name="More", writing=BOTH),
    )
    assert "writing" not in plain.design
    assert noting.design["writing"] == BOTH
    html = joined(plain).client.get(f"/s/{plain.slug}/work/").content.decode()
    assert not any(part in html for part in ("writing.js", "data-writing", "data-hidden-line", "counts keys"))
    agreed = {"consent": "You take part.", "name": "A", "dataset": "shapes", "protocol": "caption"}
    before = consent_version(make_design(agreed))
    assert before == consent_version(make_design(agreed | {"writing": {"record": False}}))
    assert before != consent_version(make_design(agreed | {"writing": {"record": True}}))


def test_participants_are_told_before_they_join_and_in_the_instructions() -> None:
    study, person = with_person(writing_study(images=3, writing=BOTH))
    person.client.cookies.clear()
    for language, said in (("en", "It never records which keys you press"), ("de", "niemals")):
        shown = person.client.get(f"/s/{study.slug}/", headers={"accept-language": language}).content.decode()
        assert said in shown
    page = joined(study, "bob").client.get(f"/s/{study.slug}/work/").content.decode()
    assert "It never records which keys you press" in page
    assert "a line for programs" in page


def test_the_hidden_line_is_data_for_the_script_and_no_part_of_the_plain_form() -> None:
    study, ada = with_person(writing_study(images=3, writing=BOTH))
    page = ada.client.get(f"/s/{study.slug}/work/").content.decode()
    held = Assignment.objects.get(worker=ada.worker)
    assert held.hit is not None
    word = hidden_word(seed=study.design["seed"], hit=held.hit.key, worker="ada")
    before, line, after = page.partition("data-hidden-line")
    assert word in after.partition("</script>")[0]
    assert not any(
        f" {word}" in part or f"“{word}" in part for part in (before, after.partition("</script>")[2])
    )
    assert line
    again = ada.client.get(f"/s/{study.slug}/work/").content.decode()
    assert word in again


def test_the_word_is_drawn_for_each_page_and_worker_and_stays() -> None:
    drawn = [hidden_word(seed=3, hit=f"h{hit}", worker=name) for hit in range(20) for name in ("ada", "bob")]
    assert drawn == [
        hidden_word(seed=3, hit=f"h{hit}", worker=name) for hit in range(20) for name in ("ada", "bob")
    ]
    assert len(set(drawn)) > 10
    assert set(drawn) <= set(HIDDEN_WORDS)


@pytest.mark.parametrize(("values", "said"), [
    ({"protocol": "graded"}, "writing"),
    ({"protocol": "caption", "crowd": {"backend": "mturk", "question": "html", "reward_cents": 5, "budget_cents": 500}},
     "Mechanical"),
])  # fmt: skip
def test_a_design_that_could_note_nothing_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError, match=said):
        make_design({"name": "A", "dataset": "shapes", "writing": {"record": True}} | values)


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


@pytest.mark.parametrize("protocol", long_except(OPEN, "grounding", "best-worst"))
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
