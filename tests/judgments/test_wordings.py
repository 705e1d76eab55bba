"""What is judged gives a page its words: in English, in German, and in the study's own."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.utils import translation

from common.errors import DesignError
from judgments.design.editing.form.design_form import DesignForm
from judgments.design.editing.form.fields import html_name
from judgments.design.editing.form.values import starting_values, value_at
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.reading.study_files import read_toml, write_toml
from judgments.design.wordings import TEXT_TYPES
from judgments.kinds import KINDS, Kind
from tests.judgments.desk import filled

WORDED = [name for name, kind in KINDS.items() if kind.wordings]
OF_CAPTIONS = {
    "graded": [
        "Describes the image without any errors",
        "Describes the image with minor errors",
        "Is somewhat related to the image",
        "Is unrelated to the image",
    ],
    "slider": [],
    "relevance": ["Does not describe it", "Describes it"],
    "best-worst": [],
    "pairwise": ["Description A", "Description B"],
}
QUESTIONS_OF_CAPTIONS = {
    "graded": "How well does the caption describe the image?",
    "slider": "How well does the caption describe the image?",
    "relevance": "Which of these captions describe the image?",
    "best-worst": "Which caption describes the image best, and which worst?",
    "pairwise": "Which is the better description?",
}
GERMAN = {
    "caption": "Bildunterschrift",
    "summary": "Zusammenfassung",
    "translation": "Übersetzung",
    "text": "Text",
}


def design(protocol: str, **values: Any) -> Any:
    return make_design({"name": "Words", "dataset": "any", "protocol": protocol} | values)


def asked(protocol: str, **values: Any) -> Kind:
    return KINDS[protocol].for_design(design(protocol, **values))


def said_by(kind: Kind) -> list[str]:
    """All the words of a kind's page that go by what is judged."""
    wording = kind.wording
    assert wording is not None
    words = [wording.question, *(choice.label for choice in kind.choices), *wording.translated_poles]
    return [
        *words,
        *map(str, (wording.label, wording.hint, wording.contradiction)),
        *(str(does) for _, does in kind.page.keys if kind.name != "slider"),
    ]


def test_the_kinds_whose_words_go_by_what_is_judged() -> None:
    assert set(WORDED) == {"pairwise", "relevance", "graded", "slider", "best-worst", "spans"}
    for name in WORDED:
        assert tuple(KINDS[name].wordings) == TEXT_TYPES


@pytest.mark.parametrize("protocol", [one for one in WORDED if one != "spans"])  # spans came later
def test_captions_are_asked_for_in_the_words_of_always(protocol: str) -> None:
    kind, bare = asked(protocol), KINDS[protocol]
    assert kind is bare
    assert [choice.label for choice in kind.choices] == OF_CAPTIONS[protocol]
    assert design(protocol).question == QUESTIONS_OF_CAPTIONS[protocol]
    assert bare.wording is not None
    assert bare.wording.title == bare.title


@pytest.mark.parametrize("judged", [one for one in TEXT_TYPES if one != "caption"])
@pytest.mark.parametrize("protocol", WORDED)
def test_no_word_speaks_of_captions_or_images_where_others_are_judged(protocol: str, judged: str) -> None:
    kind = asked(protocol, judged=judged)
    words = " ".join([*said_by(kind), kind.title]).lower()
    for foreign in ("caption", "image", "picture", "description"):
        assert foreign not in words
    assert design(protocol, judged=judged).question == kind.wordings[judged].question
    if judged != "text":
        assert judged[:-1] in words


@pytest.mark.parametrize("judged", TEXT_TYPES)
@pytest.mark.parametrize("protocol", WORDED)
def test_every_word_is_translated(protocol: str, judged: str) -> None:
    kind = asked(protocol, judged=judged)
    in_english = said_by(kind)
    with translation.override("de"):
        found = [translation.gettext(one) if one else "" for one in in_english]
        for english, german in zip(in_english, found, strict=True):
            assert (
                english == ""
                or german != english
                or english in ("Text", "Text A", "Text B")
                or not any(map(str.isalpha, english))
            )
        label = str(kind.wording.label) if kind.wording else ""
        assert label in ("", GERMAN[judged])


def test_a_study_s_own_labels_replace_the_grades() -> None:
    labels = ["Perfect", "Good", "Poor", "Nonsense"]
    kind = asked("graded", labels=labels, judged="translation")
    assert {choice.value: choice.text for choice in kind.choices} == {
        4: "Perfect",
        3: "Good",
        2: "Poor",
        1: "Nonsense",
    }
    assert kind.describe_answer(1) == "Nonsense"
    assert [choice.key for choice in kind.choices] == ["4", "3", "2", "1"]
    assert KINDS["graded"].describe_answer(1) == "Is unrelated to the image"


def test_a_study_s_own_labels_replace_the_poles() -> None:
    kind = asked("slider", labels=["none of it", "all of it"])
    assert kind.wording is not None
    assert kind.wording.translated_poles == ["none of it", "all of it"]


@pytest.mark.parametrize(
    ("protocol", "labels"),
    [
        ("graded", ["a", "b"]),
        ("slider", ["a", "b", "c", "d"]),
        ("pairwise", ["a", "b"]),
        ("best-worst", ["a"]),
    ],
)
def test_another_number_of_labels_is_refused(protocol: str, labels: list[str]) -> None:
    with pytest.raises(DesignError) as refused:
        design(protocol, labels=labels)
    assert refused.value.field == "labels"


def test_labels_that_cannot_be_told_apart_or_are_empty_are_refused() -> None:
    for labels in (["same", "same"], ["", "x"], ["  ", "x"]):
        with pytest.raises(DesignError) as refused:
            design("slider", labels=labels)
        assert refused.value.field.startswith("labels")


@pytest.mark.parametrize(
    ("typed", "near"),
    [("translatoin", "translation"), ("summaries", "summary"), ("captions", "caption"), (3, "")],
)
def test_an_unknown_sort_of_text_is_refused_and_the_nearest_named(typed: Any, near: str) -> None:
    with pytest.raises(DesignError) as refused:
        design("graded", judged=typed)
    assert refused.value.field == "judged"
    assert f"nearest one is '{near}" in str(refused.value)


def test_a_key_of_the_source_that_there_is_not_names_the_nearest() -> None:
    with pytest.raises(DesignError, match="language"):
        design("graded", source={"langauge": "de"})


@pytest.mark.parametrize("protocol", WORDED)
def test_a_stated_question_stays(protocol: str) -> None:
    assert design(protocol, judged="summary", question="Own?").question == "Own?"


def test_a_preset_s_built_in_question_goes_with_what_is_judged() -> None:
    made = make_design({"name": "X", "dataset": "d", "preset": "our-slider", "judged": "translation"})
    assert "translation" in made.question
    own = make_design({"name": "X", "dataset": "d", "preset": "hodosh-2013-captions", "judged": "caption"})
    assert own.question == PRESETS["hodosh-2013-captions"].values["question"]


def test_designs_stored_before_are_read_as_they_were() -> None:
    for name in ("our-slider", "somebody's own"):
        stored: dict[str, Any] = design("slider").model_dump(mode="json") | {"preset": name}
        for key in ("judged", "labels", "source"):
            del stored[key]
        if name == "our-slider":
            stored["question"] = "How well does the caption describe the image?"
        again = make_design(stored)
        assert (again.judged, again.labels, again.source.show) == ("caption", (), False)
        assert again.question == stored["question"]
        assert KINDS["slider"].for_design(again) is KINDS["slider"]


def test_a_study_file_is_written_and_read_again() -> None:
    made = design(
        "graded", judged="summary", labels=["a", "b", "c", "d"], source={"show": True, "language": "en-GB"}
    )
    assert read_toml(write_toml(made)) == made


@pytest.mark.parametrize(
    ("preset", "protocol", "judged"),
    [("direct-assessment-translation", "slider", "translation"), ("our-summaries", "graded", "summary")],
)
def test_the_presets_for_translations_and_summaries(preset: str, protocol: str, judged: str) -> None:
    made = make_design({"name": "X", "dataset": "d", "preset": preset})
    assert (made.protocol, made.judged, made.source.show) == (protocol, judged, True)
    assert made.question == KINDS[protocol].wordings[judged].question
    numbers = {"judgments_per_unit", "units_per_hit", "seconds_per_unit"}
    assert numbers | {"controls.per_hit", "controls.threshold"} <= set(PRESETS[preset].ours)


def form(protocol: str, changes: Mapping[str, Any]) -> DesignForm:
    typed = {html_name(key): value for key, value in changes.items()}
    return filled(starting_values(protocol=protocol), **typed)


def test_the_form_asks_for_what_is_judged_and_for_the_source() -> None:
    sent = form("graded", {"judged": "translation", "source.show": "on", "labels": "A\nB\nC\nD"})
    assert sent.is_valid(), sent.errors
    assert sent.design.judged == "translation"
    assert sent.design.source.show
    assert sent.design.labels == ("A", "B", "C", "D")
    assert "translation" in sent.design.question
    assert value_at(sent.values, "source.show") is True


def test_the_form_keeps_a_question_of_the_researcher_s_own() -> None:
    sent = form("graded", {"judged": "translation", "question": "Own?"})
    assert sent.is_valid(), sent.errors
    assert sent.design.question == "Own?"


def test_the_form_asks_for_no_source_where_a_kind_shows_its_own_text() -> None:
    fields = DesignForm(base=starting_values(protocol="keywords"), datasets=["d"]).fields
    assert not any(name.startswith("source-") for name in fields)
    assert "labels" not in fields
