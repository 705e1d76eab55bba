"""Judges answer pairs with ties, the best of several and marked errors as people do, and are compared by them."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from pytest_django import Settings

from contrib.judges.asking import ask_model
from contrib.judges.importing import store_answers
from contrib.judges.models import JudgeAnswer
from contrib.judges.prompts import MAX_MARKS_TOKENS, instructions_of, read_reply
from contrib.judges.results.comparison import compare_judges_with_people
from contrib.judges.tests.chat import KEY, FakeChat, fake_chat
from contrib.judges.views import can_have_judges
from evaluation.errors import EvaluationError
from judgments.models import HIT, Output, System
from judgments.studies.designs import design_of, kind_of
from quorum.statistics.judges import alternative_annotator_test
from tests.doors import signed_in
from tests.evaluation.studies import StudyOf, candidate, make_dataset
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
FREE: dict[str, Any] = {"budget": Decimal(0), "price_in": Decimal(0), "price_out": Decimal(0)}
PEOPLE = ("alma", "bela", "clara")
IMAGES = [f"{number}.jpg" for number in range(40)]


@pytest.fixture
def chat(settings: Settings) -> Iterator[FakeChat]:
    with fake_chat(lambda body: "") as running:
        settings.JUDGE_API_URL, settings.JUDGE_API_KEY = running.url, KEY
        settings.JUDGE_BACKOFF_SECONDS = 0
        yield running


def shown(body: dict[str, Any]) -> dict[str, str]:
    """The lines of a question by their names."""
    text = body["messages"][1]["content"]
    return dict(line.split(": ", 1) for line in text.splitlines())


def systems_of(study: StudyOf, names: str) -> dict[str, System]:
    """Systems that wrote `NAME at IMAGE` for each image, the longer the later."""
    systems = {name: System.objects.create(dataset=study.dataset, name=name) for name in names}
    for number, (name, system) in enumerate(systems.items()):
        for item in study.dataset.items.all():
            text = " ".join([name, "at", *["well"] * number, item.name])
            Output.objects.create(system=system, item=item, caption=candidate(study.dataset, text))
    return systems


def texts_of(study: StudyOf, image: str) -> list[str]:
    rows = Output.objects.filter(item__name=image).order_by("system__name")
    return list(rows.values_list("caption__text", flat=True))


def pairs_study(**answers: bool) -> tuple[StudyOf, HIT]:
    study = StudyOf(make_dataset("toy", {image: [] for image in IMAGES}), "pairwise", answers=answers)
    first, second = systems_of(study, "ab").values()
    pairs = [
        study.pair(image, image, *texts_of(study, image), first_system=first, second_system=second)
        for image in IMAGES
    ]
    return study, study.hit("h1", [study.unit(pair.key, pair=pair) for pair in pairs])


def by_line(study: StudyOf, column: str, answers: list[Any], order: str = "") -> str:
    keys = study.study.units.order_by("position").values_list("key", flat=True)
    rows = [{"unit": key, column: answer, "order": order} for key, answer in zip(keys, answers, strict=True)]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("answers", "reply", "straight", "swapped"),
    [
        ({"no_difference": True}, "No difference.", 0, 0),
        ({"no_difference": True}, "b", 1, 2),
        ({"no_difference": True}, "neither", None, None),
        ({"neither": True}, "NEITHER", 3, 3),
        ({"strength": True}, "B by far", 11, 12),
        ({"strength": True, "no_difference": True}, "C slightly", 2, 1),
        ({"strength": True}, "B", None, None),
        ({"confidence": True}, "C, certain", 302, 301),
        ({"confidence": True, "strength": True, "neither": True}, "b by far, a guess", 111, 112),
        ({"confidence": True}, "C", None, None),
    ],
)
def test_a_reply_about_a_pair_is_what_people_can_answer(
    answers: dict[str, bool], reply: str, straight: int | None, swapped: int | None
) -> None:
    study = StudyOf(make_dataset("toy", {"a.jpg": []}), "pairwise", answers=answers).study
    kind = kind_of(study)
    assert can_have_judges(study)
    assert read_reply(kind, reply, swapped=False) == straight
    assert read_reply(kind, reply, swapped=True) == swapped
    if straight is not None:
        assert reply.removesuffix(".").lower() in instructions_of(kind, design_of(study)).lower()


def test_a_tie_of_a_judge_is_an_answer_like_people_s(chat: FakeChat) -> None:
    study, hit = pairs_study(no_difference=True)
    rng = np.random.default_rng(2)
    votes = rng.choice([1, 2, 0], size=(3, len(IMAGES)))
    for person, answers in zip(PEOPLE, votes.tolist(), strict=True):
        study.answer(hit, person, answers)
    chat.answers = lambda body: (
        "no difference"
        if shown(body)["B"].endswith(("0.jpg", "5.jpg"))
        else "B"
        if shown(body)["B"][0] == "a"
        else "C"
    )
    run = ask_model(study=study.study, name="m", model="small", **FREE)
    assert (run.answer_count, run.remaining_count) == (2 * len(IMAGES), 0)
    tied = [image.endswith(("0.jpg", "5.jpg")) for image in IMAGES]
    judge = np.where(tied, 0, 1)
    (entry,) = compare_judges_with_people(study=study.study).result["judges"]
    assert entry["agreement"]["value"] == pytest.approx(np.mean(votes == judge))
    assert entry["side"]["consistent"]["value"] == 1
    assert entry["side"]["first_shown"]["value"] == entry["side"]["by_chance"] == 0.5
    # People's share for the longer text, of "b", is that of its votes and half of those for neither side.
    share = np.mean(votes == 2) + np.mean(votes == 0) / 2
    assert entry["length"]["value"] == pytest.approx(np.mean(tied) / 2 - share)
    (estimate,) = (row for row in entry["estimates"] if row["of"] == "b")
    assert estimate["people"] == pytest.approx(share)
    test = alternative_annotator_test(
        np.tile(np.arange(40), 3), np.repeat(PEOPLE, 40), votes.ravel(), np.tile(judge, 3)
    )
    assert entry["test"]["advantage"] == pytest.approx(test.advantage)
    assert entry["test"]["people"] == 3


def test_answers_with_strength_are_imported_and_compared_by_side() -> None:
    study, hit = pairs_study(strength=True, neither=True)
    for person in PEOPLE:
        study.answer(hit, person, [11] * 20 + [3] * 20)
    store_answers(study=study.study, name="m", answers=by_line(study, "value", [1] * 20 + [12] * 20))
    (entry,) = compare_judges_with_people(study=study.study).result["judges"]
    assert entry["agreement"]["value"] == 0.5
    assert entry["agreement"]["n"] == 120
    with refuses(EvaluationError, "1", "value", "0", "2", "3", "11", "12"):
        store_answers(study=study.study, name="n", answers=by_line(study, "value", [0] * 40))


def best_of_study() -> tuple[StudyOf, np.ndarray[Any, Any]]:
    """Three texts an image, in turned orders; people mostly name that of "a", and never that of "c"."""
    dataset = make_dataset("toy", {image: [] for image in IMAGES})
    study = StudyOf(dataset, "best-worst", answers={"worst": False})
    systems_of(study, "abc")
    units = []
    for number, image in enumerate(IMAGES):
        texts = np.roll(texts_of(study, image), number).tolist()
        options = [{"key": candidate(dataset, text).key, "text": text} for text in texts]
        units.append(study.unit(image, image, content={"options": options}))
    hit = study.hit("h1", units)
    chosen = np.random.default_rng(3).choice(["a", "a", "b"], size=(3, len(IMAGES)))
    for person, names in zip(PEOPLE, chosen, strict=True):
        study.answer(hit, person, [{"best": position_of(name, number)} for number, name in enumerate(names)])
    return study, chosen


def position_of(name: str, number: int) -> int:
    return 1 + (("abc".index(name)) + number) % 3


def test_a_judge_names_the_best_of_several_in_both_orders(chat: FakeChat, tmp_path: Path) -> None:
    study, chosen = best_of_study()

    # It chooses the text of "a", but for every fifth image that which it is shown first.
    def answer(body: dict[str, Any]) -> str:
        texts = shown(body)
        if texts["1"].endswith(("0.jpg", "5.jpg")):
            return "1"
        return next(number for number, text in texts.items() if text.startswith("a at"))

    chat.answers = answer
    run = ask_model(study=study.study, name="m", model="small", own_systems=["a"], **FREE)
    assert (run.answer_count, run.failure_count) == (2 * len(IMAGES), 0)
    assert run.judge.prompt.endswith("Reply with the number of the best text, and nothing else.")
    rows = JudgeAnswer.objects.filter(unit__key="1.jpg").order_by("swapped")
    assert [row.answer for row in rows] == [{"best": position_of("a", 1)}] * 2
    assert [row.reply for row in rows] == ["2", "2"]  # of three in the reverse order, the same text
    call_command("compare_judges", study.study.slug, output=tmp_path / "judges.json")
    (entry,) = json.loads((tmp_path / "judges.json").read_text())["judges"]
    assert entry["side"]["consistent"]["value"] == pytest.approx(0.8)
    assert entry["side"]["by_chance"] == pytest.approx(1 / 3)
    shares = np.array([[np.mean(of_image == name) for name in "abc"] for of_image in chosen.T])
    judge = np.tile([1.0, 0.0, 0.0], (40, 1))
    for number in range(0, 40, 5):
        judge[number] = [np.mean([position_of(name, number) == end for end in (1, 3)]) for name in "abc"]
    assert entry["own"]["value"] == pytest.approx((judge - shares)[:, 0].mean())
    assert entry["length"]["value"] == pytest.approx((judge - shares)[:, 2].mean())
    assert entry["agreement"]["value"] == pytest.approx((judge * shares).sum(axis=1).mean())
    people = {row["of"]: row["people"] for row in entry["estimates"]}
    assert people == {name: pytest.approx(shares[:, column].mean()) for column, name in enumerate("abc")}
    page = _page(study, "judges")
    assert "<td>.33</td>" in page.replace(' class="n" data-label="Value without bias"', "")
    assert "how often people prefer the text of a system" in page


def _page(study: StudyOf, name: str) -> str:
    client = signed_in(User.objects.create_superuser("lead"))
    return client.get(f"/admin/judgments/study/{study.study.pk}/{name}/").content.decode()


def test_the_best_comes_in_by_its_id_as_exports_have_it() -> None:
    study, _ = best_of_study()
    units = list(study.study.units.order_by("position"))
    best = [{"best": unit.content["options"][1]["key"]} for unit in units]
    store_answers(study=study.study, name="m", answers=by_line(study, "answer", best, order="second-left"))
    assert set(JudgeAnswer.objects.values_list("answer__best", "swapped")) == {(2, True)}
    for answer, sentence in (
        ({"best": "x"}, "ids of two captions"),
        ("no", "Expecting value"),
        (None, "ids of two"),
    ):
        with pytest.raises(EvaluationError, match=f"Line 1 has answer .*{sentence}"):
            store_answers(study=study.study, name="n", answers=by_line(study, "answer", [answer] * 40))
    with refuses(EvaluationError, "answer"):
        store_answers(study=study.study, name="n", answers="unit,value\n0.jpg,1\n")


@pytest.mark.parametrize(
    ("reply", "straight", "swapped"),
    [
        ("2 3", {"best": 2, "worst": 3}, {"best": 2, "worst": 1}),
        (" 1 3. ", {"best": 1, "worst": 3}, {"best": 3, "worst": 1}),
        *((reply, None, None) for reply in ("2", "2 2", "1 2 3", "4 1", "0 1", "one two", "")),
    ],
)
def test_the_worst_is_named_too_where_people_name_it(reply: str, straight: Any, swapped: Any) -> None:
    study = StudyOf(make_dataset("toy", {"a.jpg": []}), "best-worst")
    kind, options = kind_of(study.study), [{"key": key, "text": key} for key in "abc"]
    unit = study.unit("u1", "a.jpg", content={"options": options})
    assert read_reply(kind, reply, swapped=False, unit=unit) == straight
    assert read_reply(kind, reply, swapped=True, unit=unit) == swapped
    assert "the number of the best text, a blank and the number of the worst" in instructions_of(
        kind, design_of(study.study)
    )


TEXT = "the cat the dog"


@pytest.mark.parametrize(
    ("reply", "spans"),
    [
        ({"errors": [], "score": 90}, []),
        ({"errors": [{"text": "the", "severity": "minor"}, {"text": "the", "severity": "major"}], "score": 3},
         [(0, 3, "minor"), (8, 11, "major")]),
        ({"errors": [{"text": None, "severity": "major"}, {"text": "cat", "severity": "major"}], "score": 3},
         [(4, 7, "major"), (None, None, "major")]),
        ({"errors": [{"text": "bird", "severity": "minor"}], "score": 3}, None),
        ({"errors": [{"text": "", "severity": "minor"}], "score": 3}, None),
        ({"errors": [{"text": "cat", "severity": "grave"}], "score": 3}, None),
        ({"errors": [{"text": "cat"}], "score": 3}, None),
        ({"errors": [], "score": 101}, None),
        ({"errors": []}, None),
        ({"errors": "none", "score": 3}, None),
        ([], None),
    ],
)  # fmt: skip
def test_marked_errors_are_read_from_the_words_that_a_reply_repeats(reply: Any, spans: Any) -> None:
    study = StudyOf(make_dataset("toy", {"a.jpg": []}), "spans")
    unit, kind = study.unit("u1", "a.jpg", first=TEXT), kind_of(study.study)
    for text in (json.dumps(reply), f"```json\n{json.dumps(reply)}\n```"):
        answer = read_reply(kind, text, swapped=False, unit=unit)
        if spans is None:
            assert answer is None
        else:
            assert [(span["start"], span["end"], span["severity"]) for span in answer["spans"]] == spans
    assert read_reply(kind, "the cat is wrong", swapped=False, unit=unit) is None
    assert '{"text": "the words that are wrong", "severity": "minor or major"}' in instructions_of(
        kind, design_of(study.study)
    )


def test_marked_errors_are_compared_by_their_characters_and_scores(chat: FakeChat) -> None:
    study = StudyOf(make_dataset("toy", {image: [] for image in IMAGES}), "spans")
    units = [study.unit(image, image, first=f"a wrong word {image}") for image in IMAGES]
    hit = study.hit("h1", units)
    wrong, word = ({"start": start, "end": end, "severity": "major"} for start, end in ((2, 7), (8, 12)))
    for person, spans in zip(PEOPLE, ([wrong], [word], [wrong, word]), strict=True):
        study.answer(hit, person, [{"spans": spans, "score": 40 + number % 9} for number in range(40)])
    error = {"text": "wrong", "severity": "major"}
    chat.answers = lambda body: json.dumps({"errors": [error], "score": 44})
    run = ask_model(study=study.study, name="m", model="small", **FREE)
    assert (run.answer_count, run.judge.options["max_tokens"]) == (40, MAX_MARKS_TOKENS)
    result = compare_judges_with_people(study=study.study).result
    (entry,) = result["judges"]
    both = 2 * 5 / (5 + 9), 2 * 4 / (4 + 9)  # F1 of one mark and of both
    assert entry["agreement"]["value"] == pytest.approx((1 + 0 + both[0]) / 3)
    among = (both[0] / 2 + both[1] / 2 + (both[0] + both[1]) / 2) / 3
    assert result["people"]["agreement"]["value"] == pytest.approx(among)
    assert entry["difference"]["value"] == pytest.approx(
        44 - np.mean([40 + number % 9 for number in range(40)])
    )
    assert entry["test"]["people"] == 3
    assert entry["side"] is None
    _page(study, "judges")


def test_distributions_are_predicted_by_the_side_of_a_judge_however_strong(tmp_path: Path) -> None:
    study, hit = pairs_study(strength=True)
    sides = [1] * 25 + [2] * 15
    for person, other in zip(PEOPLE, (0, 4, 8), strict=True):
        study.answer(hit, person, [3 - side if n % 12 == other else side for n, side in enumerate(sides)])
    for name, stronger in (("plain", 0), ("far", 10)):
        lines = by_line(study, "value", [side + stronger for side in sides])
        store_answers(study=study.study, name=name, answers=lines)
    output = tmp_path / "soft.json"
    call_command("soft_labels", study.study.slug, bootstraps=0, output=output)
    rows = json.loads(output.read_text())["predictors"]
    cost = {row["name"]: row["cross_entropy"]["value"] for row in rows}
    assert cost["plain"] == cost["far"] < cost["same for all"]
