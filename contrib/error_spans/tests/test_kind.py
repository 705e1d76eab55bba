"""Marked spans: what an answer may be, consensus, MQM's weights, check questions, documents, and a simulated crowd."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.template.loader import render_to_string

from common.errors import DesignError
from common.texts import word_bounds
from contrib.error_spans.kind.answers import character_f1
from contrib.error_spans.kind.mqm import MQM
from contrib.error_spans.kind.rehearsal import SpanRehearsal
from contrib.error_spans.kind.spans import SpanAnnotation
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.makers import ControlSlot
from judgments.drawing.material import SCREENS, Image, Material, Text, UnitSpec, screen_of
from judgments.kinds import KINDS
from tests.judgments.material import units_of
from tests.refusals import refuses

TEXT = "Der Hund 🐕 beißt den Mann."
MINOR = {"start": 4, "end": 8, "severity": "minor"}
MAJOR: dict[str, Any] = {"start": 11, "end": 16, "severity": "major"}
LACKING = {"start": None, "end": None, "severity": "major"}


def design(**values: Any) -> StudyDesign:
    return make_design(
        {"name": "ESA", "dataset": "news", "protocol": "spans", "judged": "translation"} | values
    )


def of(**asked: Any) -> SpanAnnotation:
    kind = KINDS["spans"].for_design(design(spans=asked))
    assert isinstance(kind, SpanAnnotation)
    return kind


def unit(text: str = TEXT, **values: Any) -> UnitSpec:
    return UnitSpec(key="u", image="1", first=Text("c", text), **values)


def check(given: Any, **asked: Any) -> Any:
    return KINDS["spans"].clean_answer(given, unit=unit(), design=design(spans=asked))


def test_an_answer_is_spans_in_code_points_and_a_score() -> None:
    assert TEXT[8 + 1 : 10] == "🐕"
    assert TEXT[MAJOR["start"] : MAJOR["end"]] == "beißt"
    given = {"spans": [LACKING, MAJOR, MINOR, MINOR], "score": 60}
    assert check(given) == {"spans": [MINOR, MAJOR, LACKING], "score": 60}
    assert check({"spans": [], "score": 100}) == {"spans": [], "score": 100}
    assert check({"spans": [MINOR]}, score=False) == {"spans": [MINOR]}
    typed = {**MINOR, "category": "fluency/grammar"}
    assert check({"spans": [typed], "score": 0}, categories="mqm")["spans"] == [typed]
    own = {**MINOR, "category": "tone"}
    assert check({"spans": [own], "score": 0}, categories="own", own=["tone"])["spans"] == [own]


@pytest.mark.parametrize(
    ("given", "asked", "values"),
    [
        ([], {}, ['{"spans": [...], "score": 0 to 100}']),
        ({"spans": [], "score": 1, "more": 1}, {}, ['{"spans": [...], "score": 0 to 100}']),
        ({"spans": [], "score": 50}, {"score": False}, ['{"spans": [...]}']),
        ({"spans": []}, {}, ["score is missing", "0 to 100"]),
        ({"spans": [], "score": True}, {}, ["a whole number from 0 to 100"]),
        ({"spans": [], "score": 101}, {}, ["a whole number from 0 to 100"]),
        ({"spans": [{**MINOR, "end": 28}], "score": 1}, {}, ["4 to 28", "0 to 26"]),
        ({"spans": [{**MINOR, "start": 8}], "score": 1}, {}, ["8 to 8"]),
        ({"spans": [{**MINOR, "start": None}], "score": 1}, {}, ["None to 8"]),
        ({"spans": [LACKING], "score": 1}, {"missing": False}, ["None to None"]),
        ({"spans": [{**MINOR, "severity": "critical"}], "score": 1}, {}, ["severity", "critical", "minor, major"]),
        ({"spans": [MINOR], "score": 1}, {"categories": "mqm"}, ["category, end, severity, start"]),
        ({"spans": [{**MINOR, "category": "x"}], "score": 1}, {"categories": "mqm"}, ["category", "x"]),
        ({"spans": ["a"], "score": 1}, {}, ["unexpected keys"]),
        ({"spans": [MINOR] * 201, "score": 1}, {}, ["at most 200"]),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_by_what_is_wrong(
    given: Any, asked: dict[str, Any], values: list[object]
) -> None:
    with refuses(ValueError, *values):
        check(given, **asked)


def test_a_plain_form_marks_words_and_neighbours_become_one_span() -> None:
    kind, text = KINDS["spans"], "a bb cc dd"
    form = {"u3": "70", "u3-w0": "", "u3-w1": "minor", "u3-w2": "minor", "u3-w3": "major", "u3-m": "minor"}
    assert kind.read_form(form, 3, unit(text)) == {
        "spans": [
            {"start": 2, "end": 7, "severity": "minor"},
            {"start": 8, "end": 10, "severity": "major"},
            {"start": None, "end": None, "severity": "minor"},
        ],
        "score": 70,
    }
    assert kind.read_form({"u3": "", "u3-w1": ""}, 3, unit(text)) is None
    assert kind.read_form({"u3-none": "1"}, 3, unit(text)) == {"spans": []}
    assert kind.read_form({"u3": "much"}, 3, unit(text)) == {"spans": [], "score": "much"}
    typed = kind.read_form(
        {"u3-w0": "minor", "u3-k0": "other", "u3-m": "major", "u3-mk": "other"}, 3, unit(text)
    )
    assert [span["category"] for span in typed["spans"]] == ["other", "other"]


def test_a_form_without_scripts_stays_light_and_the_largest_page_is_taken(settings: Any) -> None:
    kind, words = of(categories="mqm"), 120
    one = unit(text_of("w", words))
    shown = {**kind.present_unit(one, side=None, picture_url=""), "image": {"url": ""}, "question": "?"}
    given = {"start": 0, "end": 2, "severity": "major", "category": "other"}
    row = SimpleNamespace(position=1, shown=shown, unfinished=None, value={"spans": [given], "score": 7})
    html = render_to_string(
        "annotation/kinds/spans.html",
        {"step": SimpleNamespace(first=row, rows=[row]), "kind": kind, "design": design()},
    )
    assert html.count("accuracy/omission") == 2  # as a choice for every word, and for scripts
    assert html.count('value="other"') == 2  # as a choice, and of the first word
    assert len(html) < 700 * words
    assert 200 * html.count('name="u1') < settings.DATA_UPLOAD_MAX_NUMBER_FIELDS


def test_words_of_scripts_without_blanks_are_their_letters() -> None:
    assert [TEXT[start:end] for start, end in word_bounds(TEXT)] == [
        "Der",
        "Hund",
        "🐕",
        "beißt",
        "den",
        "Mann.",
    ]
    assert word_bounds("我们 go") == [(0, 1), (1, 2), (3, 5)]


def test_weights_are_those_of_mqm() -> None:
    def weight(severity: str, category: str = "") -> float:
        return MQM.weight({"severity": severity, **({"category": category} if category else {})})

    assert [weight(one) for one in ("minor", "major", "critical")] == [1, 5, 25]
    assert (weight("minor", "fluency/punctuation"), weight("major", "fluency/punctuation")) == (0.1, 5)
    assert (weight("major", "non-translation!"), weight("minor", "source issue")) == (25, 0)
    assert MQM.score([MINOR, MAJOR]) == -6
    assert MQM.score([]) == 0


def test_the_consensus_is_the_mean_score_and_what_most_people_mark() -> None:
    answers = [
        {"spans": [{"start": 0, "end": 6, "severity": "minor"}], "score": 80},
        {"spans": [{"start": 3, "end": 8, "severity": "major"}, LACKING], "score": 60},
        {"spans": [{"start": 4, "end": 6, "severity": "major"}, LACKING], "score": 40},
    ]
    found = KINDS["spans"].aggregation.consensus([7] * 3, answers)[7]
    assert (found.n, found.value, found.tie) == (3, 60, False)
    # characters 3, 4 and 5 are marked by two or three; of 3 the two severities are as frequent, so the lesser counts
    assert found.answer == {
        "spans": [
            {"start": 3, "end": 4, "severity": "minor"},
            {"start": 4, "end": 6, "severity": "major"},
            LACKING,
        ],
        "score": 60,
    }
    assert found.votes == {"major": 4, "minor": 1}
    without = KINDS["spans"].aggregation.consensus([7, 7], [{"spans": [MINOR]}, {"spans": [MAJOR]}])[7]
    assert (without.value, without.answer) == (-3, {"spans": []})
    typed = {**MINOR, "category": "other"}
    assert KINDS["spans"].aggregation.consensus([7], [{"spans": [typed]}])[7].answer == {"spans": [typed]}


def text_of(name: str, words: int = 8) -> str:
    return " ".join(f"{name}{number}" for number in range(words))


def material(*, documents: int = 3, segments: int = 4, systems: int = 2, references: bool = True) -> Material:
    images = []
    for split in ("test", "dev"):
        for document in range(documents):
            for segment in range(segments):
                name = f"{split}-{document}-{segment}"
                given = [
                    (
                        f"system-{number}",
                        Text(f"{name}/{number}", text_of(f"s{number}d{document}p{segment}w")),
                    )
                    for number in range(systems)
                ]
                own = (Text(f"{name}#0", text_of(f"{split}r{document}p{segment}w")),) if references else ()
                images.append(
                    Image(name, split, own, tuple(given), fields=(("document", f"{split}-{document}"),))
                )
    return Material(name="news", images=tuple(images))


def test_each_text_of_a_system_is_a_unit() -> None:
    batch = KINDS["spans"].draw_batch(design(), material())
    assert len(units_of(batch)) == 24
    shown = of(reference=True, categories="mqm").present_unit(
        KINDS["spans"].draw_batch(design(spans={"reference": True}), material()).hits[0].units[0],
        side=None,
        picture_url="",
    )
    assert shown["reference"]["text"].startswith("testr")
    assert {"name": "accuracy/omission", "label": "Omission"} in shown["categories"]
    assert "expected" not in json.dumps(shown)
    with refuses(DesignError, field="spans.reference"):
        KINDS["spans"].draw_batch(design(spans={"reference": True}), material(references=False))


def test_documents_stay_whole_in_their_order_and_no_page_has_one_twice() -> None:
    asked = design(spans={"documents": True}, units_per_hit=10, controls={"per_hit": 1})
    batch = KINDS["spans"].draw_batch(asked, material())
    pages = [[unit for unit in hit.units if not unit.control] for hit in batch.hits]
    assert sorted(map(len, pages)) == [8, 8, 8]  # two of six runs of four, where ten have room
    assert all(sum(unit.control for unit in hit.units) == 1 for hit in batch.hits)
    for page in pages:
        runs = [page[:4], page[4:]]
        assert len({run[0].image for run in runs}) == 2
        for run in runs:
            assert [unit.content["document"]["part"] for unit in run] == [1, 2, 3, 4]
            assert len({KINDS["spans"].passage(unit) for unit in run}) == 1
            assert [unit.image[-1] for unit in run] == list("0123")
            texts = [unit.first.text for unit in run if unit.first]
            assert [unit.content["document"]["before"] for unit in run] == ["", *texts[:3]]
    drawn = KINDS["spans"].draw_batch(design(spans={"documents": True}, sampling={"images": 1}), material())
    assert len({unit.image.rpartition("-")[0] for unit in units_of(drawn)}) == 1
    assert drawn.notes["sentences"][0].startswith("Documents: 1, judged as 2 texts")
    long = KINDS["spans"].draw_batch(design(spans={"documents": True}, units_per_hit=3), material())
    assert {len(hit.units) for hit in long.hits} == {4}
    said = long.notes["sentences"][1]
    assert said.startswith("Pages longer than units_per_hit: 6, of up to 4 texts; pay and lease_minutes")
    asked = design(
        spans={"documents": True}, seconds_per_unit=40, crowd={"lease_minutes": 2}, units_per_hit=3
    )
    with refuses(DesignError, "is 4.", "40", field="crowd.lease_minutes"):
        KINDS["spans"].draw_batch(asked, material())


def screens_of(units: Any) -> list[list[UnitSpec]]:
    """The units of a page by screen, in their order."""
    screens: dict[Any, list[UnitSpec]] = {}
    for one in units:
        screens.setdefault(screen_of(one) or one.key, []).append(one)
    return list(screens.values())


def test_two_texts_of_an_item_share_a_screen_and_are_the_units_they_were() -> None:
    plain = design(controls={"per_hit": 0}, units_per_hit=6)
    asked = design(controls={"per_hit": 0}, units_per_hit=6, spans={"contrastive": True})
    kind = KINDS["spans"]
    batch, alone = kind.draw_batch(asked, material(systems=4)), kind.draw_batch(plain, material(systems=4))
    assert sorted(one.key for one in units_of(batch)) == sorted(one.key for one in units_of(alone))
    assert sorted(len(hit.units) for hit in batch.hits) == [6] * 8
    met = set()
    for hit in batch.hits:
        screens = screens_of(hit.units)
        assert [len({one.image for one in screen}) for screen in screens] == [1, 1, 1]
        assert len({screen[0].image for screen in screens}) == 3  # no page has an item twice
        for screen in screens:
            one, other = screen
            assert one.first is not None
            assert other.first is not None
            assert hit.units.index(other) == hit.units.index(one) + 1
            met.add(frozenset(text.key[-1] for text in (one.first, other.first)))
    assert len(met) == 6  # chance brings every two of four systems together
    assert batch.notes[SCREENS] == 3
    assert batch.notes["sentences"] == ["Screens with two texts side by side: 24."]
    assert batch.hits == kind.draw_batch(asked, material(systems=4)).hits
    other_seed = kind.draw_batch(asked.model_copy(update={"seed": 9}), material(systems=4))
    assert {len(screen) for hit in other_seed.hits for screen in screens_of(hit.units)} == {2}
    assert "screen" in kind.present_unit(batch.hits[0].units[0], side=None, picture_url="")


def test_a_text_without_another_of_its_item_stays_alone() -> None:
    batch = KINDS["spans"].draw_batch(
        design(controls={"per_hit": 0}, spans={"contrastive": True}), material(systems=3)
    )
    sizes = [len(screen) for hit in batch.hits for screen in screens_of(hit.units)]
    assert (sizes.count(2), sizes.count(1)) == (12, 12)
    assert (
        batch.notes["sentences"][1] == "Texts alone on their screen, as no other of their item was left: 12."
    )
    with refuses(DesignError, field="spans.contrastive"):
        KINDS["spans"].draw_batch(
            design(controls={"per_hit": 0}, spans={"contrastive": True}), material(systems=1)
        )


def test_damages_of_equal_texts_are_not_shown_side_by_side() -> None:
    given = tuple((f"system-{number}", Text(f"same/{number}", "the cat sat down")) for number in range(2))
    image = Image("same", "dev", (), given)
    other = Image("other", "dev", (), (("system-0", Text("other/0", "red dogs run")),))
    asked = design(spans={"contrastive": True})
    make = KINDS["spans"].control_items(asked).degraded
    assert make is not None
    for seed in range(100):
        group = make(ControlSlot(asked, "place", [image, other], np.random.default_rng(seed)), image)
        assert group is not None
        (check,) = group.units
        assert screen_of(check) is None


def test_a_system_s_text_is_damaged_where_the_reference_is_too_short() -> None:
    image = Image(
        "bye", "dev", (Text("bye#0", "Tschüss!"),), (("north", Text("bye/0", "auf bald und gute Reise")),)
    )
    other = Image("other", "dev", (), (("north", Text("other/0", "rote Hunde laufen")),))
    asked = design()
    make = KINDS["spans"].control_items(asked).reference
    assert make is not None
    slot = ControlSlot(asked, "place", [image, other], np.random.default_rng(1))
    (check,) = make(slot, image).units
    assert check.control_kind == "reference"
    assert isinstance(check.first, Text)
    start, end = check.expected["within"]
    assert check.first.text[start:end] in "rote Hunde laufen"
    with refuses(DesignError, "other", field="controls.split"):
        make(slot, other)


def test_a_plan_says_that_pages_are_short() -> None:
    asked = design(controls={"per_hit": 0}, units_per_hit=30, spans={"contrastive": True})
    batch = KINDS["spans"].draw_batch(asked, material(documents=3, segments=4))
    assert batch.notes["sentences"][-1].startswith("Pages with fewer texts than units_per_hit")


@pytest.mark.parametrize("control", ["reference", "degraded", "repeated"])
def test_check_questions_side_by_side_are_two(control: str) -> None:
    asked = design(controls={"per_hit": 2, "kinds": [control]}, units_per_hit=8, spans={"contrastive": True})
    batch = KINDS["spans"].draw_batch(asked, material())
    assert all(len(hit.units) == 8 for hit in batch.hits)
    for hit in batch.hits:
        (checks,) = [screen for screen in screens_of(hit.units) if screen[0].control]
        assert [one.control_kind for one in checks] == [control, control]
        assert len({one.image for one in checks}) == 1
        texts = [one.first.text for one in checks if one.first]
        assert len(set(texts)) == 2
        if control == "repeated":
            assert [one.content["repeats"] for one in checks if one.content["repeats"] in
                    {unit.key for unit in hit.units}] == [one.content["repeats"] for one in checks]  # fmt: skip
        else:
            assert all("within" in one.expected for one in checks)


def test_two_systems_side_by_side_keep_their_document_in_order() -> None:
    asked = design(spans={"documents": True, "contrastive": True}, units_per_hit=8, controls={"per_hit": 0})
    kind = KINDS["spans"]
    batch = kind.draw_batch(asked, material(systems=3))
    runs: dict[str, list[UnitSpec]] = {}
    for one in units_of(batch):
        runs.setdefault(kind.passage(one), []).append(one)
    assert sorted(map(len, runs.values())) == [4, 4, 4, 8, 8, 8]
    assert batch.notes[SCREENS] == 8  # a page of two documents that stand alone
    for run in runs.values():
        screens = screens_of(run)
        assert len(screens) == 4
        assert [screen[0].content["document"]["part"] for screen in screens] == [1, 2, 3, 4]
        assert [screen[0].image[-1] for screen in screens] == list("0123")
        for side in range(len(screens[0])):
            texts = [text.text for screen in screens if (text := screen[side].first)]
            assert [screen[side].content["document"]["before"] for screen in screens] == ["", *texts[:3]]
            assert len({screen[side].content["document"]["name"] for screen in screens}) == 1


def document_of(given: Mapping[str, Sequence[str]]) -> Material:
    """A document in parts, each with its systems."""
    images = [
        Image(name, "test", (), tuple((system, Text(f"{name}/{system}", text_of(system))) for system in systems),
              fields=(("document", "a"),))
        for name, systems in given.items()
    ]  # fmt: skip
    return Material("news", tuple(images))


def test_a_part_that_one_system_lacks_leaves_the_other_alone() -> None:
    given = {"a-1": ("north",), "a-2": ("north", "south"), "a-3": ("south",)}
    asked = design(spans={"documents": True, "contrastive": True}, controls={"per_hit": 0})
    (hit,) = KINDS["spans"].draw_batch(asked, document_of(given)).hits
    assert [len(screen) for screen in screens_of(hit.units)] == [1, 2, 1]
    assert [screen[0].content["document"]["part"] for screen in screens_of(hit.units)] == [1, 2, 3]


def test_systems_that_gave_the_same_document_are_judged_once() -> None:
    images = [
        Image(f"{n}", "test", (), tuple((name, Text(f"c{n}", text_of(f"p{n}"))) for name in ("a", "b")),
              fields=(("document", "d"),))
        for n in range(3)
    ]  # fmt: skip
    batch = KINDS["spans"].draw_batch(design(spans={"documents": True}), Material("news", tuple(images)))
    assert len(units_of(batch)) == 3


def test_no_page_has_a_document_of_two_systems_that_begin_at_other_parts() -> None:
    given = {"a-1": ("north",), "a-2": ("north", "south")}
    batch = KINDS["spans"].draw_batch(design(spans={"documents": True}), document_of(given))
    assert sorted(len(hit.units) for hit in batch.hits) == [1, 2]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"spans": {"categories": "own"}}, "spans.own is empty"),
        ({"spans": {"own": ["a", "a"]}}, r"spans\.own"),
        ({"spans": {"documents": True}, "sampling": {"pairs_from": "references"}}, "pairs_from = 'outputs'"),
        ({"spans": {"documents": True}, "filter": {"bleu_pre": 0.5}}, "parts"),
        (
            {"spans": {"documents": True}, "controls": {"per_hit": 1, "kinds": ["repeated"]}},
            "repeat whole doc",
        ),
        ({"spans": {"severities": ["grave"]}}, "spans.severities"),
        ({"spans": {"contrastive": True}, "units_per_hit": 9}, r"units_per_hit.*\b9\b"),
        (
            {"spans": {"contrastive": True}, "controls": {"per_hit": 1}},
            r"controls\.per_hit.*\b1\b",
        ),
    ],
)
def test_contradictions_are_said_with_their_key(values: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError, match=said):
        design(**values)


def test_documents_that_nobody_names_are_no_material() -> None:
    nameless = Material("news", tuple(Image(f"{n}", "test", (), (("a", Text("c", "x")),)) for n in range(3)))
    with pytest.raises(DesignError, match="item with both a document"):
        KINDS["spans"].draw_batch(design(spans={"documents": True}), nameless)


@pytest.mark.parametrize("control", ["reference", "degraded", "repeated"])
def test_a_check_question_is_damage_that_must_be_marked_or_an_item_again(control: str) -> None:
    asked = design(controls={"per_hit": 1, "kinds": [control]})
    kind = KINDS["spans"]
    controls = [one for one in units_of(kind.draw_batch(asked, material())) if one.control]
    assert controls
    for one in controls:
        assert one.control_kind == control
        assert one.first is not None
        if control == "repeated":
            first = {"spans": [MINOR], "score": 50}
            assert kind.is_right({"spans": [], "score": 65}, kind.expected_on_repeat(first))
            assert not kind.is_right({"spans": [], "score": 66}, kind.expected_on_repeat(first))
            assert kind.is_right({"spans": [MINOR]}, kind.expected_on_repeat({"spans": [MINOR]}))
            assert not kind.is_right({"spans": [MAJOR]}, kind.expected_on_repeat({"spans": [MINOR]}))
            continue
        start, end = one.expected["within"]
        words = one.first.text.split()
        strange = {word.rpartition("w")[0] for word in one.first.text[start:end].split()}
        own = {word.rpartition("w")[0] for word in words} - strange
        assert (len(strange), len(own)) == (1, 1)  # two of eight words are of another item
        assert (len(one.first.text[start:end].split()), len(words)) == (2, 8)
        touched = {"start": end - 1, "end": end, "severity": "minor"}
        assert kind.is_right({"spans": [touched], "score": 90}, one.expected)
        beside = (
            {"start": 0, "end": start, "severity": "minor"}
            if start
            else {**touched, "start": end, "end": end + 1}
        )
        assert not kind.is_right({"spans": [beside], "score": 0}, one.expected)
    short = Material("news", tuple(Image(f"{n}", "", (Text(f"{n}", "too short"),)) for n in range(30)))
    if control == "reference":
        with refuses(DesignError, field="controls.split"):
            kind.draw_batch(design(sampling={"pairs_from": "references"}, controls={"per_hit": 1}), short)


@pytest.mark.parametrize("asked", [{}, {"score": False, "categories": "mqm"}])
@pytest.mark.parametrize("expected", [None, {"within": [4, 16]}])
def test_a_simulated_crowd_gives_what_the_page_would_take(asked: dict[str, Any], expected: Any) -> None:
    rng, kind, plan = np.random.default_rng(5), of(**asked), design(spans=asked)
    one = unit(control=expected is not None, expected=expected)
    rehearsal = SpanRehearsal(kind)
    truth = expected or rehearsal.draw_truth(one, [2.0], rng)
    answers: dict[Any, list[Any]] = {True: [], False: [], None: []}
    for right, given in answers.items():
        for _ in range(40):
            answer = rehearsal.draw_answer(one, truth, right=right, rng=rng)
            assert kind.clean_answer(answer, unit=one, design=plan) == answer
            if expected and right is not None:
                assert kind.is_right(answer, expected) is right
            given.append(answer)
    if not expected:
        found = kind.aggregation.consensus([1] * 40, answers[True])[1]
        assert rehearsal.matches(found, truth)
    assert not rehearsal.draw_truth(unit(""), [1.0], rng)["spans"]
    assert not rehearsal.draw_truth(one, [4.5], rng)["spans"]  # of the best system


def test_a_simulated_wrong_answer_marks_something_where_nothing_is_to_be_marked() -> None:
    rehearsal, rng = SpanRehearsal(of(score=False)), np.random.default_rng(5)
    answers = [rehearsal.draw_answer(unit(), {"spans": []}, right=False, rng=rng)["spans"] for _ in range(40)]
    assert all(answers)


def test_a_careful_reader_misses_a_few_errors_and_ends_a_few_at_one_of_the_next_words() -> None:
    rehearsal = SpanRehearsal(KINDS["spans"])
    text = "one two three four five six seven eight nine ten"
    ends = [index for index, letter in enumerate(f"{text} ") if letter == " "]
    marked: dict[str, Any] = {"start": text.index("three"), "end": ends[2], "severity": "minor"}
    shown, rng, draws = unit(text), np.random.default_rng(3), 4_000
    found: Counter[int] = Counter()
    for _ in range(draws):
        answer = rehearsal.draw_answer(shown, {"spans": [marked], "score": 80}, right=True, rng=rng)
        found.update(span["end"] for span in answer["spans"] if span["start"] == marked["start"])
    # .85 are not missed; of these a fifth end at one of the next three words, or at a later one taken for the third
    others = {end: count / draws for end, count in found.items() if end != marked["end"]}
    assert pytest.approx(found[marked["end"]] / draws, abs=0.03) == 0.85 * (0.8 + 0.2 / 8)
    assert others[ends[3]] == pytest.approx(0.85 * 0.2 / 8, abs=0.012)
    assert others[ends[4]] == pytest.approx(0.85 * 0.2 * 6 / 8, abs=0.02)
    assert sum(others.values()) - others[ends[3]] - others[ends[4]] < 0.03  # invented ones, at the same start


def test_what_people_say_together_is_quoted() -> None:
    answer = {"spans": [MINOR, {**LACKING, "category": "accuracy/omission"}], "score": 71.5}
    assert KINDS["spans"].describe_consensus(answer, unit=unit()) == [
        "“Hund” (minor)",
        "something missing (major, accuracy/omission)",
    ]
    assert KINDS["spans"].describe_answer(answer) == "4–8 minor, … major, 71.5"
    assert KINDS["spans"].describe_answer({"spans": []}) == "–"
    assert KINDS["spans"].describe_answer({"within": [4, 9]}) == "4–9"
    assert character_f1([MINOR], [MINOR]) == character_f1([], [LACKING]) == 1
