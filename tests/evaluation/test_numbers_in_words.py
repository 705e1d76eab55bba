"""Numbers in sentences for staff."""

from django.utils.translation import override

from common.amounts import percent, spell_hours, spell_number, spell_seconds
from evaluation.presentation.content import format_cell
from evaluation.results.plots import progress_sentence
from judgments.templatetags.judgments_tags import coefficient, file_size


def test_one_imported_judgment_is_said_in_the_singular() -> None:
    assert progress_sentence({"judgments": 1, "wanted": 0}) == "One judgment was imported."
    with override("de"):
        assert progress_sentence({"judgments": 1, "wanted": 0}) == "Ein Urteil wurde importiert."


def test_no_comma_parts_thousands_on_german_pages() -> None:
    assert spell_seconds(5_000 * 3600) == "5,000 h"
    assert spell_hours(5_000) == "about 5,000 h"
    with override("de"):
        assert spell_seconds(5_000 * 3600) == "5\N{NARROW NO-BREAK SPACE}000 h"
        assert "," not in spell_hours(5_000)


def test_participants_read_decimals_as_in_their_language_and_staff_a_point() -> None:
    assert spell_number(97.5) == "97.5"
    assert file_size(1_234_567) == "1.2\N{NO-BREAK SPACE}MB"
    with override("de"):
        assert spell_number(97.5) == "97,5"
        assert spell_number(100.0) == "100"
        assert file_size(1_234_567) == "1.2\N{NO-BREAK SPACE}MB"


def test_what_a_metric_gives_captions_has_three_digits_and_coefficients_two() -> None:
    assert [format_cell(value, "score") for value in (0.3444, 1.0837, 0.5, None)] == [
        ".344",
        "1.084",
        ".500",
        "–",
    ]
    assert [format_cell(value, "coefficient") for value in (0.3444, -0.001)] == [".34", ".00"]


def test_a_coefficient_has_no_negative_zero() -> None:
    assert [coefficient(value) for value in (-0.001, -0.05, 0.62, 1.0, None)] == [
        ".00",
        "-.05",
        ".62",
        "1.00",
        "–",
    ]


def test_a_percentage_has_no_negative_zero() -> None:
    assert [percent(share) for share in (-0.001, -0.05)] == [f"{n}\N{NO-BREAK SPACE}%" for n in ("0", "-5")]


def test_a_duration_just_below_a_unit_is_rounded_to_that_unit() -> None:
    assert [spell_hours(minutes / 60) for minutes in (59.4, 59.6)] == ["about 59 min", "about 1 h"]
    assert [spell_seconds(seconds) for seconds in (119.4, 119.6, 7160, 7190)] == [
        "119 s",
        "2 min",
        "119 min",
        "2 h",
    ]
