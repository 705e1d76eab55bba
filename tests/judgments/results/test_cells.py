"""Times, money and answers in the forms in which they were found."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgments.importers.foreign import button_groups, command_line_answers, form_answers, selected_values
from judgments.importers.times import parse_time

PACIFIC = timezone(timedelta(hours=-8))
SIX_PACIFIC = datetime(2026, 11, 20, 14, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Fri Nov 20 06:00:00 PST 2026",
        "Fri Nov 20 07:00:00 PDT 2026",
        "Fri Nov 20 14:00:00 GMT 2026",
        "Fri Nov 20 15:00:00 GMT+01:00 2026",
        "Fri Nov 20 2026 06:00:00 GMT-0800 (PST)",
        "Fri Nov 20 2026 06:00:00 GMT-0800 (Pacific Standard Time)",
        "2026-11-20 14:00:00 UTC",
        "2026-11-20T14:00:00Z",
        "2026-11-20 06:00:00-08:00",
        "2026-11-20 14:00:00.000000+00:00",
    ],
)
def test_a_time_is_read_whatever_wrote_it(text: str) -> None:
    assert parse_time(text) == SIX_PACIFIC


@pytest.mark.parametrize("text", ["11/20/2026 6:00", "11/20/26 6:00:00 AM", "2026-11-20 06:00:00"])
def test_a_time_without_a_zone_is_taken_for_the_zone_that_is_named_and_for_no_other(text: str) -> None:
    assert parse_time(text, PACIFIC) == SIX_PACIFIC
    with pytest.raises(ValueError, match="without a zone"):
        parse_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "Fri Nov 31 06:00:00 PST 2026",
        "Fri Nov 20 25:00:00 PST 2026",
        "Fri Nov 20 06:00:00 XYZT 2026",
        "Fri Foo 20 06:00:00 PST 2026",
        "Fri Nov 20 06:00:00 PST 0000",
        "Sat Jan 01 00:00:00 CET 0001",
        "11/20/2026 13:00 PM",
        "١١/٢٠/٢٠٢٦ ٦:٠٠",
        "",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text, PACIFIC)


@given(st.integers(-30_000_000_000, 200_000_000_000))
def test_a_written_time_reads_back_to_the_second(second: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second, microseconds=7)
    written = f"{moment:%a %b %d %H:%M:%S} UTC {moment.year:04}"
    assert parse_time(written) == moment.replace(microsecond=0)


def read(**cells: str) -> dict[str, str]:
    """The answers in cells whose names have ``__`` for a dot."""
    named = {name.replace("__", "."): cell for name, cell in cells.items() if name != "Input__a"}
    groups = button_groups(named, ".", "Answer.")
    if form := named.get("Answer.taskAnswers"):
        named |= dict(form_answers(form, "Answer."))
    for group, buttons in groups.items():
        state = selected_values({value: named[column] for value, column in buttons}, flags=True)
        named |= {} if state is None else {group: state}
    return {name.removeprefix("Answer."): cell for name, cell in named.items()}


def test_a_plain_field_is_its_value() -> None:
    assert read(Answer__Q1Answer="yes", Input__a="no") == {"Q1Answer": "yes"}


def test_radio_buttons_as_true_and_false_become_the_value_of_their_group() -> None:
    answers = read(Answer__choice__left="true", Answer__choice__right="False")
    assert answers["choice"] == "left"
    assert answers["choice.left"] == "true"
    assert read(Answer__fits__a="TRUE", Answer__fits__b="true", Answer__fits__c="")["fits"] == "a|b"
    assert read(Answer__fits__a="false", Answer__fits__b="false")["fits"] == ""


def test_a_dot_may_belong_to_the_name_or_to_the_value() -> None:
    assert read(**{"Answer.score.0.5": "true", "Answer.score.1": "false"})["score"] == "0.5"
    answers = read(**{"Answer.q.1.yes": "true", "Answer.q.1.no": "false", "Answer.q.2.yes": "false"})
    assert answers["q.1"] == "yes"
    assert answers["q.2"] == ""


def test_what_are_no_buttons_stays_alone() -> None:
    assert read(Answer__sentiment__label="Neutral") == {"sentiment.label": "Neutral"}
    assert "choice" not in read(Answer__choice__left="", Answer__choice__right="")


def test_the_json_of_a_crowd_form_is_taken_apart() -> None:
    answers = read(
        Answer__taskAnswers='[{"fits": {"no": false, "yes": true}, "sentiment": {"label": "Neutral"}, "stars": 4,'
        ' "why": "it \\"fits\\"", "boxes": [1, 2], "more": null, "sure": true}]'
    )
    assert answers["fits"] == "yes"
    assert answers["fits.no"] == "false"
    assert answers["sentiment.label"] == "Neutral"
    assert answers["stars"] == "4"
    assert answers["why"] == 'it "fits"'
    assert answers["boxes"] == "[1, 2]"
    assert answers["more"] == ""
    assert answers["sure"] == "true"


def test_a_list_of_names_and_values_is_taken_apart_too() -> None:
    assert read(Answer__taskAnswers='[{"name": "q", "value": "yes"}, {"name": "r", "value": 2}]')["r"] == "2"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[{", "is not JSON"),
        ("7", "object of answers"),
        ('["a"]', "object of answers"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_cannot_be_answers_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read(Answer__taskAnswers=text)


@pytest.mark.parametrize(
    "cells",
    [
        ["choice", "left", "why", "it fits"],
        ["choice\tleft\twhy\tit fits"],
        ["choice\tleft\nwhy\tit fits\n"],
        ["choice", "left", "why", "it fits", "", ""],
    ],
)
def test_the_oldest_answers_are_names_and_values_in_turn(cells: list[str]) -> None:
    assert command_line_answers(cells, "Answer.") == {"Answer.choice": "left", "Answer.why": "it fits"}


def test_an_old_answer_may_be_empty_or_given_several_times() -> None:
    assert command_line_answers(["choice", "left", "why"], "Answer.") == {
        "Answer.choice": "left",
        "Answer.why": "",
    }
    assert command_line_answers(["fits", "a", "fits", "b"], "Answer.") == {"Answer.fits": "a|b"}
    assert command_line_answers([""], "Answer.") == {}
    with pytest.raises(ValueError, match="without a name"):
        command_line_answers(["choice", "left", "", "it fits"], "Answer.")
