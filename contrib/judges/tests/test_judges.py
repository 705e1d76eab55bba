"""Judges that are no people: imported, asked at an endpoint with faults, and never part of what people say."""

import base64
import io
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from PIL import ExifTags, Image
from pytest_django import Settings

from common.errors import DataConflict, WrongState
from contrib.judges import runs
from contrib.judges.asking import ask_model
from contrib.judges.endpoint import AskLater, Endpoint, Reply
from contrib.judges.importing import store_answers
from contrib.judges.models import Judge, JudgeAnswer
from contrib.judges.operations import start_judge_run as ask_operation
from contrib.judges.prompts import ChatPrompt, instructions_of, picture_url_of, read_reply
from contrib.judges.results.comparison import compare_judges_with_people, sizes_of_curve, store_comparison
from contrib.judges.tests.chat import HANG_UP, KEY, NO_CHOICES, NO_JSON, FakeChat, fake_chat
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.errors import EvaluationError
from evaluation.models import Analysis, Consensus
from evaluation.presentation.content import DotPlot, estimate_of
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import compute_aggregation, store_aggregation
from judgments.access.roles import give_role
from judgments.models import Item, Study, StudyEvent, Unit
from judgments.studies.designs import design_of, kind_of
from judgments.studies.discarding import discard_hits
from judgments.studies.generation.hits import generate_hits
from tests.doors import signed_in
from tests.marks import long_except
from tests.refusals import refuses
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db
FREE: dict[str, Any] = {"budget": Decimal(0), "price_in": Decimal(0), "price_out": Decimal(0)}
PRICED: dict[str, Any] = {"price_in": Decimal(1), "price_out": Decimal(2)}


def longer(body: dict[str, Any]) -> str:
    """A model that prefers the longer text, and the first one where both are as long; else a middling answer."""
    system, user = (message["content"] for message in body["messages"])
    text = user if isinstance(user, str) else user[0]["text"]
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    if "B" in lines:
        return "C" if len(lines["C"]) > len(lines["B"]) else "B"
    return "1" if "0 (" in system else "3" if "whole number" not in system else "70"


@pytest.fixture
def chat(settings: Settings) -> Iterator[FakeChat]:
    with fake_chat(longer) as running:
        settings.JUDGE_API_URL, settings.JUDGE_API_KEY = running.url, KEY
        settings.JUDGE_BACKOFF_SECONDS = 0
        yield running


def answers_in(study: Study, values: Any, *, order: str = "") -> str:
    units = Unit.objects.filter(study=study, control=False).order_by("position")
    rows = [
        f"{key},{value},{order}"
        for key, value in zip(units.values_list("key", flat=True), values, strict=False)
    ]
    return "\n".join(["unit,value,order", *rows])


@pytest.mark.parametrize(
    "protocol", long_except(["triplet", "pairwise", "graded", "relevance", "slider"], "pairwise", "graded")
)
def test_a_model_is_asked_about_every_unit_in_both_orders_once(protocol: str, chat: FakeChat) -> None:
    study = make_study(protocol)
    units = Unit.objects.filter(study=study, control=False)
    asked = ask_model(study=study, name="m", model="small", **FREE)
    orders = 2 if kind_of(study).two_sided else 1
    assert (asked.answer_count, asked.failure_count, asked.remaining_count, asked.reason) == (
        units.count() * orders,
        0,
        0,
        "",
    )
    assert len(chat.served) == len(set(chat.names)) == asked.answer_count
    assert {body["model"] for body in chat.calls} == {"small"}
    judge = Judge.objects.get()
    assert judge.prompt == instructions_of(kind_of(study), design_of(study))
    assert judge.options["temperature"] == 0
    for row in judge.answers.select_related("unit__first", "unit__second"):
        assert row.answered_by == "small-2026-01"
        if orders == 2:
            assert row.unit.first is not None
            assert row.unit.second is not None
            lengths = len(row.unit.first.text), len(row.unit.second.text)
            first = lengths[0] > lengths[1] or (lengths[0] == lengths[1] and not row.swapped)
            assert row.value == (1 if first else 2)
        else:
            assert row.value == {"graded": 3, "relevance": 1, "slider": 70}[protocol]
    if protocol != "triplet":  # the picture is shown
        assert chat.calls[0]["messages"][1]["content"][1]["image_url"]["url"].startswith(
            "https://pictures.example/"
        )

    again = ask_model(study=study, name="m", model="small", **FREE)
    assert (again.answer_count, len(chat.calls)) == (asked.answer_count, asked.answer_count)
    earlier = JudgeAnswer.objects.filter(judge__study=study, request="x", state="answered").order_by("pk")
    assert "answers_by_request" in earlier.explain()  # asked for each unit, so never by reading all answers
    copied = ask_model(study=study, name="n", model="small", **FREE)  # the same request: the reply is kept
    assert (copied.answer_count, len(chat.calls)) == (asked.answer_count, asked.answer_count)
    assert JudgeAnswer.objects.filter(judge=copied.judge, cached=True).count() == asked.answer_count


def test_a_model_sees_a_photograph_as_people_do_and_nothing_that_a_camera_wrote(
    settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    exif[ExifTags.Base.ImageDescription] = "taken at home"
    Image.new("RGB", (60, 40)).save(tmp_path / "a.jpg", exif=exif, comment=b"taken at home")
    sent = base64.b64decode(picture_url_of(Item(name="a.jpg", picture="a.jpg")).partition(",")[2])
    assert b"taken at home" not in sent
    assert Image.open(io.BytesIO(sent)).size == (40, 60)  # upright


def test_faults_are_tried_again_and_no_answer_is_stored_twice(chat: FakeChat, caplog: Any) -> None:
    study = make_study("pairwise")
    caplog.set_level(logging.DEBUG)
    chat.faults = [
        429,
        500,
        None,
        HANG_UP,
        NO_JSON,
        503,
        None,
        NO_CHOICES,
        {"says": "B, I think"},
        {"says": ""},
    ]
    asked = ask_model(study=study, name="m", model="small", budget=Decimal(1), **PRICED)
    count = Unit.objects.filter(study=study, control=False).count() * 2
    assert (asked.answer_count, asked.remaining_count, asked.reason) == (count, 0, "")
    assert JudgeAnswer.objects.filter(judge=asked.judge).count() == count
    # answered and unreadable calls cost 40 + 2 * 2; of three that broke off nobody knows, and they count in full
    readable = len(chat.served) - 3
    assert asked.judge.spent > readable * 44
    assert asked.judge.spent == sum(JudgeAnswer.objects.values_list("cost", flat=True))
    assert asked.judge.reserved == 0
    for model in (Judge, JudgeAnswer, StudyEvent):
        assert KEY not in str(list(model.objects.values()))
    assert KEY not in caplog.text


def test_calls_that_come_too_early_together_are_one_pause(chat: FakeChat) -> None:
    study = make_study("graded")
    chat.faults = [503] * runs.PARALLEL_CALLS * (runs.MAX_WAITS - 1)
    asked = ask_model(study=study, name="m", model="small", **FREE)
    assert (asked.remaining_count, asked.reason) == (0, "")


@pytest.mark.parametrize(
    ("status", "served"), [(408, True), (429, False), (500, True), (502, True), (503, False), (504, True)]
)
def test_what_a_gateway_may_have_charged_counts(status: int, served: bool, chat: FakeChat) -> None:
    chat.faults = [status]
    with Endpoint() as opened, pytest.raises(AskLater) as caught:
        opened.ask(ChatPrompt((), 0), options={"model": "small"}, call_id="1")
    assert caught.value.may_have_charged is served


def test_replies_that_no_database_stores_are_cleaned(chat: FakeChat) -> None:
    chat.faults = [{"says": "B\0 \ud800"}, {"sends": b"[" * 200_000}]
    with Endpoint() as opened:
        found = opened.ask(ChatPrompt((), 0), options={"model": "small\0"}, call_id="1")
        assert (found.text, found.model) == ("B ?", "small-2026-01")
        with pytest.raises(AskLater, match="completion"):
            opened.ask(ChatPrompt((), 0), options={"model": "small"}, call_id="2")


def test_an_answer_that_is_none_is_never_guessed(chat: FakeChat) -> None:
    study = make_study("graded")
    (first, *others) = Unit.objects.filter(study=study, control=False).order_by("position")
    assert first.first is not None
    text = first.first.text
    chat.answers = lambda body: "3" if text in body["messages"][1]["content"][0]["text"] else "4 or 3"
    asked = ask_model(study=study, name="m", model="small", **FREE)
    assert (asked.answer_count, asked.failure_count) == (1, len(others))
    assert len(chat.calls) == 1 + len(others) * runs.MAX_TRIES
    assert set(JudgeAnswer.objects.values_list("reply", "value")) == {("3", 3), ("4 or 3", None)}
    assert "without a usable one" in asked.describe()


def test_a_model_whose_replies_are_never_readable_is_soon_left_alone(chat: FakeChat) -> None:
    chat.answers = lambda body: "Let me think"
    asked = ask_model(study=make_study("graded"), name="m", model="small", **FREE)
    assert asked.reason.startswith(
        "None of the replies to 12 questions could be read, the last of which is 'Let me think'; expected"
    )
    assert len(chat.calls) == 12
    assert asked.remaining_count > 0


@pytest.mark.parametrize(
    ("protocol", "reply", "swapped", "value"),
    [
        ("triplet", " b. ", False, 1),
        ("triplet", "B", True, 2),
        ("triplet", "C", True, 1),
        ("triplet", "1", False, None),
        ("relevance", "0", False, 0),
        ("relevance", "yes", False, None),
        ("slider", "100", False, 100),
        ("slider", "101", False, None),
        ("slider", "-1", False, None),
    ],
)
def test_replies_are_read_strictly(protocol: str, reply: str, swapped: bool, value: int | None) -> None:
    assert read_reply(kind_of(make_study(protocol, opened=False)), reply, swapped=swapped) == value


def test_the_budget_is_never_exceeded(chat: FakeChat) -> None:
    study = make_study("triplet")
    budgets = [Decimal("0.0008"), Decimal("0.001")]
    for budget in budgets:
        asked = ask_model(study=study, name="m", model="small", budget=budget, **PRICED)
        assert asked.reason == "The budget does not cover another call."
        assert 0 < asked.judge.spent <= int(budget * 1_000_000)
        assert asked.judge.spent == 44 * len(chat.served)
    with pytest.raises(EvaluationError, match="spent"):
        ask_model(study=study, name="m", model="small", budget=Decimal(0), **PRICED)
    chat.tokens_in = 1_000_000
    asked = ask_model(study=study, name="m", model="small", budget=Decimal(1), **PRICED)
    assert "charged more than a call can cost" in asked.reason
    assert asked.remaining_count > 0


def test_a_run_that_was_killed_is_continued_and_its_open_calls_are_paid_once_more(chat: FakeChat) -> None:
    study = make_study("triplet")

    class Killed(BaseException):
        pass

    class Deadly(Endpoint):
        def ask(self, chat_prompt: ChatPrompt, *, options: Mapping[str, Any], call_id: str) -> Reply:
            raise Killed

    def dies(share: float, words: str) -> None:
        raise Killed

    with pytest.raises(Killed):  # as at a worker's restart: nothing is claimed yet
        ask_model(study=study, name="m", model="small", budget=Decimal(1), progress=dies, **PRICED)
    assert set(JudgeAnswer.objects.values_list("state", flat=True)) == {"waiting"}
    with pytest.raises(Killed):  # between the rows that announce calls and those of the replies
        ask_model(study=study, name="m", model="small", budget=Decimal(1), endpoint=Deadly(), **PRICED)
    judge = Judge.objects.get()
    assert (judge.spent, judge.answers.filter(state="asked").count()) == (0, runs.PARALLEL_CALLS)
    open_money = judge.reserved

    early = ask_model(study=study, name="m", model="small", budget=Decimal(1), **PRICED)
    assert early.reason.startswith("4 calls of another run may be in progress")
    JudgeAnswer.objects.filter(state="asked").update(asked_at=timezone.now() - 2 * runs.STALE_AFTER)
    late = ask_model(study=study, name="m", model="small", budget=Decimal(1), **PRICED)
    count = Unit.objects.filter(study=study, control=False).count() * 2
    assert (late.answer_count, late.remaining_count, late.reason) == (count, 0, "")
    assert late.judge.spent == open_money + 44 * count
    assert late.judge.reserved == 0
    assert Counter(JudgeAnswer.objects.values_list("state", flat=True)) == {"answered": count}


def test_an_endpoint_that_refuses_stops_the_run_without_telling_the_key(
    chat: FakeChat, settings: Settings
) -> None:
    study = make_study("pairwise")
    settings.JUDGE_API_KEY = "sk-wrong"
    asked = ask_model(study=study, name="m", model="small", **FREE)
    assert "refuses to answer (401)" in asked.reason
    assert "sk-wrong" not in asked.reason
    settings.JUDGE_API_KEY = "sk-wrong" * 50  # longer than what is quoted
    assert "sk-wrong" not in ask_model(study=study, name="m", model="small", **FREE).reason
    settings.JUDGE_API_KEY = KEY
    chat.faults = [503] * 50
    asked = ask_model(study=study, name="m", model="small", **FREE)
    assert "does not answer: it answers 503" in asked.reason
    with pytest.raises(DataConflict, match="was asked otherwise"):
        ask_model(study=study, name="m", model="large", **FREE)
    with pytest.raises(DataConflict, match="was asked otherwise"):
        ask_model(study=study, name="m", model="small", own_systems=["system-0"], **FREE)
    settings.JUDGE_API_URL = ""
    with pytest.raises(EvaluationError, match="JUDGE_API_URL is empty"):
        ask_model(study=study, name="m", model="small", **FREE)
    settings.JUDGE_API_URL = "http://example.org/v1"
    with pytest.raises(EvaluationError, match="https address"):
        ask_model(study=study, name="m", model="small", **FREE)


@pytest.mark.parametrize("given", [{"budget": 0}, {"budget": 1, "price_in": 1}])
def test_without_a_command_nothing_is_asked_at_anothers_endpoint_without_a_limit(
    given: dict[str, int], settings: Settings
) -> None:
    study = make_study("graded")
    values = {name: Decimal(value) for name, value in given.items()}
    assert ask_operation.prepare is not None
    settings.JUDGE_API_URL = "https://api.example.org/v1"
    with pytest.raises(EvaluationError, match="prices"):
        ask_operation.prepare(study=study, name="m", model="small", **values)
    settings.JUDGE_API_URL = "http://localhost:8080/v1"
    assert ask_operation.prepare(study=study, name="m", model="small", **values)["name"] == "m"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "unit"),
        ("unit,value\n", "hold no row"),
        ("unit,value\nnone,1\n", r"\b2\b.*none"),
        ("unit,value\n{unit},3\n", r"\b2\b.*value.*\b3\b.*\b1\b"),
        ("unit,value,order\n{unit},1,left\n", r"\b2\b.*first-left.*second-left"),
        ("unit,value\n{unit},1\n{unit},2\n", "Line 3 answers unit"),
        (
            "unit,value,rater\n{unit},1," + "x" * 81,
            r"\b2\b.*\b81\b.*\b80\b",
        ),
        ('{{"unit": 1\n', r"\b1\b.*object"),
        ("unit,value\n{unit},1\n" + "x" * 140_000, r"\b3\b.*is no CSV"),
    ],
)
def test_a_wrong_file_is_refused_whole(text: str, sentence: str) -> None:
    study = make_study("pairwise")
    unit = Unit.objects.filter(study=study, control=False).first()
    assert unit is not None
    with pytest.raises(EvaluationError, match=sentence):
        store_answers(study=study, name="m", answers=text.format(unit=unit.key))
    assert not Judge.objects.exists()
    with refuses(EvaluationError, "own_systems", "x", "system-0"):
        store_answers(study=study, name="m", answers=f"unit,value\n{unit.key},1", own_systems=["x"])


def test_the_same_file_again_is_the_same_judge_or_refused() -> None:
    study = make_study("pairwise")
    values: dict[str, Any] = {"study": study, "name": "m", "answers": answers_in(study, [1, 2])}
    assert store_answers(**values).is_new
    assert not store_answers(**values).is_new
    changes: list[dict[str, Any]] = [{"source": "crowd"}, {"model": "small"}, {"own_systems": ["system-0"]}]
    for change in changes:
        with refuses(DataConflict, "m", "model", "family"):
            store_answers(**values, **change)
    with refuses(DataConflict, "m"):
        store_answers(**values | {"answers": answers_in(study, [2, 2])})


def test_people_never_hear_of_judges(tmp_path: Path, settings: Settings) -> None:
    """Nothing that people's judgments go into changes by a byte when judges answer, or where they are compared."""
    settings.EXPORT_ROOT = settings.RELEASE_ROOT = tmp_path / "var"
    study = make_study("pairwise", judgments_per_unit=3)
    rehearse(study=study, crowd=RehearsalCrowd(spammers=0.2))

    def everything(folder: Path) -> dict[str, Any]:
        folder.mkdir()
        store_aggregation(compute_aggregation(study=study))
        found: dict[str, Any] = {}
        formats = ("jsonl", "csv", "reliability")
        commands = ["aggregate {} --output {}", "evaluate {} --metrics bleu-4 --output {}"]
        commands += [f"export_judgments {{}} --format {name} --output {{}}" for name in formats]
        for number, command in enumerate(commands):
            place = folder / str(number)
            call_command(*command.format(study.slug, place).split())
            found[command] = _bytes(place)
        found["consensus"] = list(
            Consensus.objects.order_by("unit__key").values("unit__key", "value", "votes", "n")
        )
        found["tables"] = _counts()
        return found

    before = everything(tmp_path / "before")
    rng = np.random.default_rng(0)
    count = Unit.objects.filter(study=study, control=False).count()
    store_answers(study=study, name="m", answers=answers_in(study, rng.integers(1, 3, count)))
    crowd = answers_in(study, rng.integers(1, 3, count)).replace("unit,value,order", "unit,value,rater")
    store_answers(study=study, name="c", answers=crowd, source="crowd")
    call_command("compare_judges", study.slug)
    assert everything(tmp_path / "after") == before


def _bytes(place: Path) -> bytes:
    text = place.read_bytes() if place.exists() else b"".join(
        one.read_bytes() for one in sorted(place.parent.glob(f"{place.name}*"))
    )  # fmt: skip
    return b"\n".join(line for line in text.splitlines() if b"_at" not in line and b"seconds" not in line)


def _counts() -> dict[str, int]:
    """Return how many rows of people's work, money and quality there are."""
    models = apps.get_app_config("annotation").get_models()
    return {model.__name__: model._default_manager.count() for model in models}


def test_a_comparison_finds_what_was_put_in(tmp_path: Path) -> None:
    """A judge that chooses its own family, but for a quarter of the items, of which it takes the text shown first."""
    make_dataset(images=60)
    study = make_study(
        "pairwise", judgments_per_unit=3, sampling={"pairs": {"MM": 30}}, controls={"per_hit": 0}
    )
    rehearse(
        study=study,
        crowd=RehearsalCrowd(spammers=0.0, workers=4),
    )
    store_aggregation(compute_aggregation(study=study))
    units = list(Unit.objects.filter(study=study, control=False).select_related("pair").order_by("position"))
    rows = ["unit,value,order"]
    for number, unit in enumerate(units):
        assert unit.pair is not None
        own = 1 if unit.pair.first_system and unit.pair.first_system.name == "system-1" else 2
        value = own
        for order, shown_first in (("first-left", 1), ("second-left", 2)):
            rows.append(f"{unit.key},{shown_first if number % 4 == 0 else value},{order}")
    store_answers(study=study, name="m", answers="\n".join(rows), own_systems=["system-1"])
    call_command("compare_judges", study.slug, "--epsilon", "0.1", "--output", str(tmp_path / "judges.json"))
    found = json.loads((tmp_path / "judges.json").read_text())
    (judge,) = found["judges"]
    assert judge["units"] == len(units)
    assert judge["side"]["consistent"]["value"] == pytest.approx(1 - len(units[::4]) / len(units))
    assert judge["side"]["first_shown"]["value"] == pytest.approx(0.5 + len(units[::4]) / len(units) / 2)
    assert judge["own"]["low"] > 0
    assert judge["length"]["n"] == 0  # all texts are equally long
    assert 0.1 < judge["agreement"]["value"] < 0.5  # people find the other system better
    assert {one["of"] for one in judge["estimates"]} >= {"system-0", "system-1"}
    assert judge["estimates"][0]["reason"].startswith("people judged all items")
    assert all(0.8 < one["coverage"] <= 1 for one in judge["savings"])
    assert found["people"]["agreement"]["n"] > 0

    client = signed_in(User.objects.create_superuser("lead"))
    page = client.get(f"/admin/judgments/study/{study.pk}/judges/").content.decode()
    assert "The judge was not tested: no person judged 30 or more" in page
    assert "chooses the text that is shown first" in page
    assert "Results with fewer judgments by people" in page
    assert re.search(r"The results below were computed on \d+\s\w+\s\d{4}\s\d\d:\d\d\.", page)
    stored = client.get(f"/api/studies/{study.slug}/judges/").json()
    assert stored["result"]["judges"] == found["judges"]
    assert client.get(f"/api/judges/?study={study.slug}").json()["results"][0]["own_systems"] == ["system-1"]
    rows = client.get(f"/api/judge-answers/?study={study.slug}").json()["results"]
    assert {row["judge"] for row in rows} == {"m"}
    _reported(study, judge)


def _reported(study: Study, judge: dict[str, Any]) -> None:
    """The report has the stored figures, what people would say where a judge was alone, and says if they are old."""
    (held,) = [one for one in build_report(study).sections if one.name == "judges"]
    assert held.sentences == ("m: not tested, as " + judge["test"]["reason"] + ".",)
    (figures,) = held.tables
    values = {row[1]: row[2] for row in figures.rows if row[0] == "m"}
    assert values["says the same in both orders"] == estimate_of(judge["side"]["consistent"])
    assert values["favours systems of its family, more than people"] == estimate_of(judge["own"])
    assert figures.rows[0][0] == "people among themselves"
    analysis = Analysis.objects.get(study=study, what=Analysis.Kind.JUDGES)
    analysis.result["judges"][0]["estimates"][0] |= {"unlabelled": 7}
    Analysis.objects.filter(pk=analysis.pk).update(result=analysis.result, judgments="of yesterday")
    (held,) = [one for one in build_report(study).sections if one.name == "judges"]
    assert held.sentences[1] == "People have judged more since; compute the comparison anew."
    row = held.tables[1].rows[0]
    estimate = judge["estimates"][0]
    assert row[:3] == ("m", estimate["of"], estimate_of(estimate))
    assert row[5] == estimate["labelled"] + 7
    drawing = held.plots[0].drawing
    assert isinstance(drawing, DotPlot)
    assert [panel.title for panel in drawing.panels] == ["people alone", "with m"]


def test_smaller_studies_are_drawn_from_every_number_of_items_that_suffices() -> None:
    assert [n for n in range(100) if not sizes_of_curve(n)] == list(range(10))
    assert sizes_of_curve(103) == [10, 26, 52]


def test_grades_are_compared_by_distance_and_length() -> None:
    make_dataset(images=40)
    study = make_study("graded", judgments_per_unit=3, controls={"per_hit": 0})
    rehearse(study=study, crowd=RehearsalCrowd())
    units = list(Unit.objects.filter(study=study, control=False).order_by("position"))
    store_answers(
        study=study, name="high", answers=answers_in(study, [4] * len(units)), own_systems=["system-0"]
    )
    (judge,) = compare_judges_with_people(study=study).result["judges"]
    assert judge["agreement"] is judge["side"] is None
    assert judge["difference"]["low"] > 0
    assert judge["own"]["low"] < 0.5
    (everything, *_) = judge["estimates"]
    assert everything["of"] == ""
    assert everything["judge"] == 4
    with pytest.raises(EvaluationError, match="judge yet"):
        compare_judges_with_people(study=make_study("slider", name="Another"))
    with refuses(EvaluationError, "caption"):
        store_answers(study=make_study("caption", name="Written", controls={}), name="m", answers="")


def test_a_judge_is_removed_and_what_was_computed_with_it_says_so(
    designer: Client, chat: FakeChat, capsys: Any
) -> None:
    study = make_study("pairwise")
    rehearse(study=study, crowd=RehearsalCrowd(workers=5, spammers=0.0, seed=5, drop_outs=0.0))
    for name in ("a", "b"):
        store_answers(study=study, name=name, answers=answers_in(study, [1] * 100))
    asked = ask_model(study=study, name="m", model="small", budget=Decimal(1), **PRICED)
    store_comparison(compare_judges_with_people(study=study))
    page = reverse("admin:judgments_study_judges", args=[study.pk])
    assert "was removed after the results" not in designer.get(page).content.decode()

    do = reverse("admin:judgments_study_do", args=[study.pk, "remove-judge"])
    gone = Judge.objects.get(name="a")
    shown = designer.post(do, {"page": "judges", "judge": gone.pk}, follow=True).content.decode()
    assert shown.count("was removed after the results") == 1
    assert not JudgeAnswer.objects.filter(judge_id=gone.pk).exists()
    asked_row = JudgeAnswer.objects.filter(judge=asked.judge).first()
    assert asked_row is not None
    JudgeAnswer.objects.filter(pk=asked_row.pk).update(state="asked", asked_at=timezone.now())
    answer = designer.delete(f"/api/judges/{asked.judge.pk}/")
    assert (answer.status_code, "at this moment" in answer.json()["detail"]) == (409, True)
    JudgeAnswer.objects.filter(pk=asked_row.pk).update(state="answered", value=1)
    assert designer.delete(f"/api/judges/{asked.judge.pk}/").status_code == 204
    call_command("remove_judge", study.slug, "b")
    assert "Judge 'b' was removed with" in capsys.readouterr().out
    told = designer.get(f"/api/studies/{study.slug}/judges/").json()["result"]["judges"]
    assert all(one["removed_at"] for one in told)
    (reported,) = [one for one in build_report(study).sections if one.name == "judges"]
    assert "a was removed since; its figures are of the answers that it had." in reported.sentences
    events = StudyEvent.objects.filter(study=study, what="judge-removed").values_list("words", flat=True)
    assert any("had been spent on it" in words for words in events)
    assert not Judge.objects.filter(study=study).exists()

    viewer = User.objects.create_user("vera", is_staff=True)
    give_role(study=study, user=viewer, role="viewer")
    store_answers(study=study, name="c", answers=answers_in(study, [1] * 100))
    left = signed_in(viewer)
    assert left.delete(f"/api/judges/{Judge.objects.get().pk}/").status_code == 403


def test_pages_of_work_that_a_judge_answers_are_kept(designer: Client) -> None:
    study = make_study(opened=False)
    generate_hits(study=study)
    Judge.objects.create(study=study, name="model")
    study.refresh_from_db()
    with pytest.raises(WrongState, match="Remove the judge"):
        discard_hits(study=study)
    shown = designer.get(reverse("admin:judgments_study_discard", args=[study.pk])).content.decode()
    assert "Remove the judge first" in shown
    assert study.hits.exists()
