"""Whom a study asks for: the papers' requirements as data, and which crowd can state them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from judgments.countries import COUNTRIES
from judgments.design import StudyDesign, make_design
from judgments.errors import DesignError
from judgments.presets import PRESETS
from judgments.requirements import approval_is_enough, not_stated, requirements_of


def design(**workers: Any) -> StudyDesign:
    return make_design({"name": "Asking", "dataset": "d", "protocol": "triplet", "workers": workers})


def test_the_requirements_of_v15_are_those_of_its_footnote() -> None:
    asked = design(requirements="vedantam-2015").workers
    assert (asked.countries, asked.approval_above, asked.approved_at_least) == (("US",), 0.95, 500)
    assert asked.hits_at_most == 0
    assert "United States" in requirements_of(asked)["countries"]


def test_a_named_set_fills_only_what_the_file_leaves_empty() -> None:
    asked = design(requirements="vedantam-2015", countries=["CA"], approved_at_least=0).workers
    assert (asked.countries, asked.approved_at_least) == (("CA",), 500)


def test_no_preset_of_a_paper_switches_requirements_on_by_itself() -> None:
    for name, preset in PRESETS.items():
        made = make_design({"name": "n", "dataset": "d", "preset": name})
        assert requirements_of(made.workers) == {}, preset.title


@pytest.mark.parametrize(
    ("workers", "said"),
    [
        ({"requirements": "v15"}, "there are no requirements 'v15'; there are vedantam-2015, hodosh-2013"),
        ({"countries": ["UK"]}, "'UK' is no country of ISO 3166-1"),
        ({"approval_above": 95.0}, "less than or equal to 1"),
    ],
)
def test_requirements_that_cannot_be_are_refused_by_name(workers: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError, match=re.escape(said)):
        design(**workers)


def test_a_crowd_of_another_site_cannot_tell_what_was_approved_there() -> None:
    asked = design(requirements="vedantam-2015").workers
    assert not_stated(asked, "mturk") == []
    assert not_stated(asked, "local") == []
    assert not_stated(asked, "external") == [
        "more than 95 % of their reviewed pages approved",
        "at least 500 pages approved",
    ]


@pytest.mark.parametrize(
    ("approved", "rejected", "enough"), [(0, 0, True), (95, 5, False), (96, 4, True), (0, 1, False)]
)
def test_the_share_approved_lies_above_the_mark_and_nobody_reviewed_has_nothing_against_them(
    approved: int, rejected: int, enough: bool
) -> None:
    assert approval_is_enough(approved, rejected, 0.95) is enough


def test_the_table_of_countries_is_the_whole_one() -> None:
    assert len(COUNTRIES) == 249
    assert (COUNTRIES["US"], COUNTRIES["GB"], COUNTRIES["DE"]) == (
        "United States",
        "United Kingdom",
        "Germany",
    )
    assert all(re.fullmatch("[A-Z]{2}", code) for code in COUNTRIES)
