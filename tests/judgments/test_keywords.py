"""Keywords: what is offered, what is taken, and what several people's keywords say together (MC12 §3.2)."""

from typing import Any

import pytest

from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import Batch, Image, Material, UnitSpec
from judgments.kinds import KINDS
from judgments.kinds.keywords import sum_by_stem
from tests.refusals import refuses

KEYWORDS = KINDS["keywords"]
NEWS = (
    "A tank stood in Red Square, said Mr. Li’s aide. Tanks had been in Red Square before; a well-known sight."
)


def material(*texts: str) -> Material:
    images = [
        Image(f"{n}.jpg", "test" if n < len(texts) - 1 else "dev", (), text=text)
        for n, text in enumerate(texts)
    ]
    return Material(name="news", images=tuple(images))


def design(**values: Any) -> StudyDesign:
    wanted = {"name": "News", "dataset": "news", "protocol": "keywords", "units_per_hit": 2}
    return make_design(wanted | values)


def unit(text: str = NEWS, collocations: tuple[str, ...] = ("Red Square",)) -> UnitSpec:
    return UnitSpec(key="u", image="0.jpg", content={"text": text, "collocations": list(collocations)})


def units_of(batch: Batch) -> list[UnitSpec]:
    return sorted((unit for hit in batch.hits for unit in hit.units), key=lambda unit: unit.image)


def refused(given: Any) -> str:
    with pytest.raises(ValueError) as caught:
        KEYWORDS.clean_answer(given, unit=unit(), design=design())
    return str(caught.value)


def test_five_people_are_asked_unless_the_study_says_otherwise():
    assert design().judgments_per_unit == 5
    preset = make_design({"name": "MC12", "dataset": "news", "preset": "mason-charniak-2012-keywords"})
    assert (preset.judgments_per_unit, preset.keywords.longest, preset.protocol) == (5, 7, "keywords")


def test_each_image_of_the_split_with_a_text_is_a_unit_and_no_hit_shows_one_twice():
    batch = KEYWORDS.draw_batch(design(), material(NEWS, "", "Another text", "Third", "control split"))
    assert [one.image for one in units_of(batch)] == ["0.jpg", "2.jpg", "3.jpg"]
    assert all(len({one.image for one in hit.units}) == len(hit.units) for hit in batch.hits)
    assert units_of(batch)[0].content["text"] == NEWS


def test_titles_are_offered_as_the_text_writes_them():
    titles = ["red square", "mr li's aide", "tiananmen square"]
    batch = KEYWORDS.draw_batch(design(keywords={"titles": titles}), material(NEWS, "other"))
    assert units_of(batch)[0].content["collocations"] == ["Red Square", "Mr Li’s aide"]
    assert batch.notes["sentences"] == [
        "Phrases offered to participants: 2, from the 3 titles of the design."
    ]


def test_without_titles_frequent_runs_are_offered_and_the_design_says_so():
    batch = KEYWORDS.draw_batch(design(), material(NEWS, "other"))
    assert units_of(batch)[0].content["collocations"] == ["Red Square"]
    assert "1, frequent ones of the texts, as the design names no titles" in batch.notes["sentences"][0]


@pytest.mark.parametrize(
    ("texts", "values", "said"),
    [
        (("", ""), {}, "stands with a text"),
        ((NEWS, NEWS), {"controls": {"per_hit": 1}}, "keywords"),
    ],
)
def test_a_design_that_cannot_be_drawn_says_why(texts, values, said):
    with pytest.raises(DesignError, match=said):
        KEYWORDS.draw_batch(design(**values), material(*texts))


def test_keywords_stay_as_they_were_given_and_count_once():
    given = [" TANK ", "tank", "Known", "li", "Red  Square", "red square"]
    assert KEYWORDS.clean_answer(given, unit=unit(), design=design()) == ["TANK", "Known", "li", "Red Square"]
    assert KEYWORDS.clean_answer([], unit=unit(), design=design()) == []


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (["car"], ["“car”", "occur in the text"]),
        (["tan"], ["“tan”", "occur in the text"]),
        (["in Red"], ["“in Red”", "occur in the text", "phrases"]),
        (["!"], ["“!”", "no keyword"]),
        ([""], ["“”", "no keyword"]),
        (["tank\x00"], ["no keyword"]),
        (["x" * 300], ["no keyword"]),
        ("tank", ["list of texts"]),
        ([1], ["list of texts"]),
        (["tank"] * 101, ["at most 100"]),
    ],
)
def test_what_is_no_word_of_the_text_is_refused_by_name(given, values):
    with refuses(ValueError, *values):
        KEYWORDS.clean_answer(given, unit=unit(), design=design())


def test_the_plain_form_takes_commas_line_breaks_and_ticks():
    text = "A crowd of 1,000 in Red Square saw a tank"
    form = {"u3": "tank, 1,000\ncrowd;", "u3-c0": "1"}
    assert KEYWORDS.read_form(form, 3, unit(text)) == ["tank", "1,000", "crowd", "Red Square"]
    assert KEYWORDS.read_form({"u3": " "}, 3, unit()) is None
    assert KEYWORDS.read_form({"u3": "", "u3-none": "1"}, 3, unit()) == []


def test_the_gold_standard_counts_workers_for_each_keyword():
    answers = [["Tank", "Red Square"], ["tank", "tanks"], ["tank"], [], ["sight"]]
    found = KEYWORDS.aggregation.consensus([7, 7, 7, 7, 8], answers)
    assert found[7].answer == {"tank": 3, "red square": 1, "tanks": 1}
    assert (found[7].n, found[7].share, found[7].value) == (4, 0.75, None)
    assert found[8].answer == {"sight": 1}


def test_one_stem_is_merged_in_a_view_so_that_a_count_may_exceed_the_annotators():
    # MC12 §3.2: "tank" and "tanks" have their counts merged
    assert sum_by_stem({"tank": 4, "tanks": 3, "red square": 1}) == {"tank": 7, "red squar": 1}


def test_agreement_is_measured_on_every_word_of_the_text_and_every_phrase():
    codes = KEYWORDS.aggregation.codes(unit("Red tanks in Red Square ."), ["tanks", "Red Square"])
    assert codes == {"red": 0, "tanks": 1, "in": 0, "square": 0, "red square": 1}


def test_a_word_with_a_joiner_is_a_keyword_of_the_text_that_holds_it():
    word = "می\u200cرود"
    text = unit(f"او {word} به خانه", ())
    assert KEYWORDS.clean_answer([word], unit=text, design=design()) == [word]


def test_a_word_with_a_control_character_is_none():
    with pytest.raises(ValueError, match="is no keyword"):
        KEYWORDS.clean_answer(["ta\x07nk"], unit=unit(), design=design())
