"""The self-contained page of a HIT: small, closed, the same templates as the page of work, and read back exactly."""

import html
import re
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring

from annotation.crowds.mturk.answers import AnswersUnreadable
from annotation.crowds.mturk.pages import answers_of_page, html_page, html_question, possible_layouts
from annotation.crowds.mturk.questions import QuestionProblem
from annotation.crowds.mturk.styles import styles_for
from annotation.work.sheet.examples import WorkedExample
from annotation.work.sheet.units import arrange_units
from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.kinds import KINDS
from tests.annotation.crowds.framing import make_hit
from tests.fakes.mturk.questions import answers_document
from tests.refusals import refuses

HOSTS = ("https://www.mturk.com", "https://workersandbox.mturk.com")
CARRIED = [name for name, kind in KINDS.items() if kind.page.self_contained]


def page_of(protocol: str, **values: Any) -> str:
    design, hit, units = make_hit(protocol, **values)
    return html_page(design=design, hit=hit, units=units, hosts=HOSTS)


def read(protocol: str, fields: dict[str, str], **values: Any) -> Any:
    design, hit, units = make_hit(protocol, **values)
    return answers_of_page(answers_document(list(fields.items())), design=design, hit=hit, units=units)


def test_all_kinds_but_grounding_and_spans_are_carried() -> None:
    assert set(KINDS) - set(CARRIED) == {"grounding", "spans"}
    with refuses(QuestionProblem, "hit-0007", "grounding"):
        page_of("grounding")
    mturk = {"backend": "mturk", "question": "html"}
    with refuses(DesignError, field="crowd.question"):
        make_design({"name": "x", "dataset": "d", "protocol": "grounding", "crowd": mturk})
    assert (
        make_design({"name": "x", "dataset": "d", "protocol": "slider", "crowd": mturk}).crowd.question
        == "html"
    )


@pytest.mark.parametrize("protocol", CARRIED)
def test_a_page_loads_nothing_but_pictures(protocol: str) -> None:
    page = page_of(protocol)
    assert not re.findall(r'<link|<script[^>]+src=|@import|url\(|href="/|src="/|action=', page)
    assert set(re.findall(r'src="([^"]+)"', page)) <= {
        html.escape(f"https://pictures.example.org/photo-{n}.jpg?size=640&of=1") for n in range(4)
    }
    assert page.count("<script") == page.count("</script>") == 1
    assert "default-src &#x27;none&#x27;" in page


@pytest.mark.parametrize(
    ("protocol", "size"),
    [("triplet", {"units": 20}), ("relevance", {"images": 6, "captions": 10}), ("pairwise", {"units": 20})],
)
def test_the_papers_hits_take_far_less_than_the_limit(protocol: str, size: dict[str, int]) -> None:
    design, hit, units = make_hit(protocol, **size, instructions="Judge what is said.\n\n" * 20)
    question = html_question(design=design, hit=hit, units=units, hosts=HOSTS)
    assert len(question.encode()) < 48_000


def test_a_hit_that_is_too_large_is_named_with_its_size() -> None:
    design, hit, units = make_hit("triplet", units=60)
    with refuses(QuestionProblem, "hit-0007"):
        html_question(design=design, hit=hit, units=units, hosts=HOSTS)


def test_the_same_hit_makes_the_same_page() -> None:
    assert page_of("best-worst") == page_of("best-worst")
    assert page_of("best-worst") != page_of("best-worst", seed=8)


def test_captions_are_escaped_and_what_no_xml_holds_does_not_break_the_question() -> None:
    design, hit, units = make_hit("pairwise", units=1)
    units[0].first.text = "]]></HTMLContent><script>alert(1)</script>"  # type: ignore[union-attr]
    units[0].second.text = "a\x0bb \ud800 </textarea><!-- ‮"  # type: ignore[union-attr]
    question = html_question(design=design, hit=hit, units=units, hosts=HOSTS)
    page = fromstring(question)[0].text or ""
    assert "]]&gt;&lt;/HTMLContent&gt;&lt;script&gt;alert(1)" in page
    assert "a\ufffdb \ufffd &lt;/textarea&gt;&lt;!-- ‮" in page


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://pictures.example.org/a.jpg",
        "/pictures/a.jpg",
        "data:image/png;base64,",
        "https:///a.jpg",
        "https://[a",
    ],
)
def test_a_picture_that_workers_could_not_load_is_named(address: str) -> None:
    design, hit, units = make_hit("graded")
    units[2].item.url = address
    with refuses(QuestionProblem, "hit-0007", "photo-2.jpg"):
        html_page(design=design, hit=hit, units=units, hosts=HOSTS)
    design, hit, units = make_hit("triplet")
    units[2].item.url = address
    assert html_page(design=design, hit=hit, units=units, hosts=HOSTS)  # shows no picture


def test_worked_examples_are_shown_and_their_pictures_must_be_reachable_too() -> None:
    design, hit, units = make_hit("triplet")
    example = WorkedExample(
        picture="", scene="A dog", texts=(("A", "A dog runs."),), answer="B", explanation=""
    )
    assert "A dog runs." in html_page(design=design, hit=hit, units=units, hosts=HOSTS, examples=[example])
    with pytest.raises(QuestionProblem, match="worked example 1"):
        html_page(
            design=design,
            hit=hit,
            units=units,
            hosts=HOSTS,
            examples=[replace(example, picture="/s/x/1.jpg")],
        )


@pytest.mark.parametrize(
    "host", ["https://www.mturk.com/", "www.mturk.com", "ftp://a", "https://a b", "javascript:1", ""]
)
def test_answers_go_to_origins_only(host: str) -> None:
    design, hit, units = make_hit("triplet")
    with pytest.raises(QuestionProblem, match="no origin"):
        html_page(design=design, hit=hit, units=units, hosts=[host])


def test_a_page_speaks_the_language_that_is_asked_for_whoever_publishes_it() -> None:
    design, hit, units = make_hit("triplet", language="fr")
    page = html_page(design=design, hit=hit, units=units, hosts=HOSTS, language="de")
    assert '<html lang="de">' in page
    assert "Satz B" in page
    assert 'dir="auto" lang="fr"' in page


def test_a_study_s_consent_is_asked_for() -> None:
    assert 'name="consent" value="1" id="consent" required' in page_of("triplet", consent="You may **stop**.")
    assert 'name="consent"' not in page_of("triplet")
    agreed = read("triplet", {"consent": "1", "u1": "1"}, consent="You may **stop**.")
    assert agreed == read("triplet", {"u1": "1"})
    with pytest.raises(AnswersUnreadable, match="did not agree"):
        read("triplet", {"u1": "1"}, consent="You may **stop**.")


@pytest.mark.parametrize("protocol", ["triplet", "pairwise", "best-worst"])
def test_the_mirror_shows_the_same_the_other_way_round(protocol: str) -> None:
    design, hit, units = make_hit(protocol)
    kind = KINDS[protocol]
    drawn, mirror = possible_layouts(design=design, hit=hit, units=units)
    assert drawn.order == mirror.order
    for one, other in zip(
        arrange_units(units, drawn.order, drawn.sides),
        arrange_units(units, mirror.order, mirror.sides),
        strict=True,
    ):
        shown = [kind.present_unit(place.unit, side=place.side, picture_url="") for place in (one, other)]
        texts = [
            [option["text"] for option in each["options"]]
            if "options" in each
            else [each["b"]["text"], each["c"]["text"]]
            for each in shown
        ]
        assert texts[0] == list(reversed(texts[1]))
        assert kind.sides.mirror(other.side) == one.side


def test_kinds_without_sides_have_one_layout() -> None:
    for protocol in ("relevance", "graded", "slider", "caption", "keywords"):
        design, hit, units = make_hit(protocol)
        assert len(possible_layouts(design=design, hit=hit, units=units)) == 1


def test_a_unit_that_was_struck_after_publishing_keeps_its_place() -> None:
    design, hit, units = make_hit("triplet")
    before = possible_layouts(design=design, hit=hit, units=units)
    units[1].withdrawn = True
    assert possible_layouts(design=design, hit=hit, units=units) == before


GIVEN: dict[str, tuple[dict[str, str], Any]] = {
    "triplet": ({"u{n}": "2"}, 2),
    "pairwise": ({"u{n}": "1"}, 1),
    "relevance": ({"u{n}": "1"}, 1),
    "graded": ({"u{n}": "4"}, 4),
    "slider": ({"u{n}": "73"}, 73),
    "best-worst": ({"u{n}-best": "3", "u{n}-worst": "1"}, {"best": 3, "worst": 1}),
    "caption": ({"u{n}": "A dog sits near a red barn."}, "A dog sits near a red barn."),
    "template": ({"u{n}-0": "yes"}, {"sense": "yes"}),
    "keywords": ({"u{n}": "barn, people", "u{n}-c0": "1"}, ["barn", "people", "farm show"]),
}


@pytest.mark.parametrize("protocol", CARRIED)
def test_the_fields_of_the_page_come_back_as_answers(protocol: str) -> None:
    fields, expected = GIVEN[protocol]
    design, hit, units = make_hit(protocol)
    page = html_page(design=design, hit=hit, units=units, hosts=HOSTS)
    posted = {name.format(n=n): value for n in range(1, len(units) + 1) for name, value in fields.items()}
    for name in posted:
        assert f'name="{name}"' in page
    found = read(protocol, posted | {"layout": "0", "t1": "2.50", "comment": "Fine."})
    key = "answer" if KINDS[protocol].is_open else "value"
    assert [(one["position"], one[key]) for one in found.answers] == [
        (n, expected) for n in range(1, len(units) + 1)
    ]
    assert found.answers[0]["seconds"] == 2.5
    assert found.missing_positions == []


def test_the_layout_that_was_shown_decides_what_an_answer_means() -> None:
    kind = KINDS["triplet"]
    posted = {f"u{n}": "1" for n in range(1, 5)}
    drawn, mirror = (read("triplet", posted | {"layout": layout}) for layout in "01")
    assert read("triplet", posted) == drawn
    meant = [
        [
            kind.sides.to_canonical(one["value"], side=side)
            for one, side in zip(found.answers, found.layout.sides, strict=True)
        ]
        for found in (drawn, mirror)
    ]
    assert meant[0] == [3 - value for value in meant[1]]
    for layout in ("2", "", "0|1", "x" * 500):
        with refuses(AnswersUnreadable, "hit-0007"):
            read("triplet", posted | {"layout": layout})
    with pytest.raises(AnswersUnreadable):
        read("graded", {"layout": "1"})


def test_what_is_left_open_or_contradicts_itself_is_missing() -> None:
    found = read("triplet", {"u1": "1", "u3": "2", "u4": ""})
    assert ([one["position"] for one in found.answers], found.missing_positions) == ([1, 3], [2, 4])
    # pictures of three captions: ticked, none, neither, both
    found = read("relevance", {"u2": "1", "none4": "1", "none10": "1", "u11": "1"}, images=4)
    assert [one["value"] for one in found.answers] == [0, 1, 0, 0, 0, 0]
    assert found.missing_positions == [7, 8, 9, 10, 11, 12]
    found = read("best-worst", {"u1-best": "1", "u1-worst": "1", "u2-best": "1"}, units=2)
    assert found.missing_positions == [1, 2]


def test_what_the_kind_refuses_is_missing() -> None:
    found = read("caption", {"u1": "dog", "u2": "A dog sits near a red barn.", "u3": "  "}, units=3)
    assert found.missing_positions == [1, 3]
    found = read("keywords", {"u1": "submarine", "u2-none": "1"}, units=2)
    assert found.missing_positions == [1]
    assert found.answers == [{"position": 2, "answer": []}]


def test_fields_that_are_none_of_the_page_s_do_nothing() -> None:
    foreign = {"u99": "1", "workerId": "A1", "__proto__": "x", "u1x": "3", "c1": "x", "": "y"}
    answered = {f"u{n}": "1" for n in range(1, 5)}
    with pytest.raises(AnswersUnreadable, match="names no field"):
        read("triplet", answered | foreign)
    del foreign[""]
    kept = read("triplet", answered | foreign)
    assert [(one["position"], one["value"]) for one in kept.answers] == [(n, 1) for n in range(1, 5)]


SHEET = """
/* a comment { with braces } */
:root { --ink: light-dark(#111, #eee); }
.used, .other:is(.a, .b) > p { color : red;  margin: 0 auto }
p :is(.used, .never) { top: 0; }
dialog.used { left: 0; }
html:not(.js) .unused { right: 0; }
input[type="range"]::before { content: "a, b"; }
@media (max-width: 760px) { .used { bottom: 0; } .unused { top: 1px; } }
@media print { .unused { top: 2px; } }
"""


def test_only_the_rules_that_a_page_may_use_are_kept() -> None:
    page = '<p class="used x">x</p><input>'
    assert styles_for(page, SHEET) == (
        ":root{--ink:light-dark(#111, #eee)}"
        ".used{color:red;margin:0 auto}"
        "p :is(.used, .never){top:0}"
        'input[type="range"]::before{content:"a, b"}'
        "@media (max-width: 760px){.used{bottom:0}}"
    )


def test_every_class_of_a_page_that_has_a_rule_keeps_it() -> None:
    for page in map(page_of, CARRIED):
        styles = page.partition("<style>")[2].partition("</style>")[0]
        assert styles.count("{") == styles.count("}")
        used = set(chain.from_iterable(found.split() for found in re.findall(r'class="([^"]*)"', page)))
        assert {
            name for name in used if name in ("choice", "option", "sheet", "primary", "bar", "question")
        } <= set(re.findall(r"\.([a-z-]+)", styles))
