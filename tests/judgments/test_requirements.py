"""Whom a study asks for: the papers' requirements as data, and which crowd can state them."""

import html
import re
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Judgment
from common.errors import DesignError
from judgments.design.countries import COUNTRIES
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.requirements import (
    approval_is_enough,
    requirement_phrases,
    unsupported_requirements,
    why_nobody_may_qualify,
)
from judgments.design.study_design import StudyDesign
from judgments.studies.designs import design_of
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import create_study
from tests.judgments.desk import page
from tests.studies import make_dataset, make_study


def design(**workers: Any) -> StudyDesign:
    return make_design({"name": "Asking", "dataset": "d", "protocol": "triplet", "workers": workers})


def test_the_requirements_of_v15_are_those_of_its_footnote() -> None:
    asked = design(requirements="vedantam-2015").workers
    assert (asked.countries, asked.approval_above, asked.approved_at_least) == (("US",), 0.95, 500)
    assert asked.hits_at_most == 0
    assert "United States" in requirement_phrases(asked)["countries"]


def test_a_named_set_fills_only_what_the_file_leaves_empty() -> None:
    asked = design(requirements="vedantam-2015", countries=["CA"], approved_at_least=0).workers
    assert (asked.countries, asked.approved_at_least) == (("CA",), 500)


V15 = (("US",), 0.95, 500)
ASKED = {  # V15, footnote 3, of all its studies; H13 section 2.3.2 of who wrote captions; the others say nothing
    "vedantam-2015-triplet": V15,
    "vedantam-2015-pairwise": V15,
    "vedantam-2015-captions": V15,
    "hodosh-2013-captions": (("US",), 0.0, 0),
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_asks_of_workers_what_its_paper_asked(name: str) -> None:
    made = make_design({"name": "n", "dataset": "d", "preset": name})
    asked = (made.workers.countries, made.workers.approval_above, made.workers.approved_at_least)
    assert asked == ASKED.get(name, ((), 0.0, 0))
    assert made.quiz.preset == ("hodosh-2013-english" if name == "hodosh-2013-captions" else "")


@pytest.mark.parametrize("name", ASKED)
def test_a_study_file_takes_them_off(name: str) -> None:
    off = {"workers": {"requirements": ""}, "quiz": {"preset": ""}}
    made = make_design({"name": "n", "dataset": "d", "preset": name} | off)
    assert requirement_phrases(made.workers) == {}
    assert made.quiz.preset == ""


def test_a_stored_design_stays_as_it_is() -> None:
    """It was made before presets asked anything, and holds every key."""
    stored = make_design(
        {"name": "n", "dataset": "d", "preset": "vedantam-2015-triplet", "workers": {"requirements": ""}}
    ).model_dump(mode="json")
    assert requirement_phrases(make_design(stored).workers) == {}


@pytest.mark.parametrize(
    ("workers", "backend", "off"),
    [
        ({"requirements": "vedantam-2015"}, "local", 'requirements = ""'),
        ({"approved_at_least": 3}, "local", "approved_at_least = 0"),
        ({"requirements": "vedantam-2015"}, "mturk", None),
        ({"requirements": "hodosh-2013"}, "local", None),
        ({}, "local", None),
    ],
)
def test_what_only_this_site_s_record_can_meet_is_said(
    workers: dict[str, object], backend: str, off: str | None
) -> None:
    said = why_nobody_may_qualify(design(**workers).workers, backend)
    assert bool(said) == (off is not None)
    assert (off or "") in said


@pytest.mark.parametrize(
    ("workers", "said"),
    [
        ({"requirements": "v15"}, "vedantam-2015"),
        ({"countries": ["UK"]}, "'UK' is not an ISO 3166-1 code of a country"),
        ({"approval_above": 95.0}, "equal"),
        ({"quotas": [{"by": "age", "value": "old"}]}, "old"),
        ({"quotas": [{"by": "country", "value": "UK"}]}, "'UK' is not an ISO 3166-1 code of a country"),
        ({"quotas": [{"by": "sex", "value": "Male"}] * 2}, "Male"),
        (
            {"quotas": [{"by": "age", "value": "18-29"}, {"by": "age", "value": "40-49"}]},
            "29",
        ),
        (
            {"countries": ["US"], "quotas": [{"by": "country", "value": "GB"}]},
            "countries",
        ),
    ],
)
def test_requirements_that_cannot_be_are_refused_by_name(workers: dict[str, Any], said: str) -> None:
    with pytest.raises(DesignError, match=re.escape(said)):
        design(**workers)


def test_a_crowd_of_another_site_cannot_tell_what_was_approved_there() -> None:
    asked = design(requirements="vedantam-2015").workers
    assert unsupported_requirements(asked, "mturk") == []
    assert unsupported_requirements(asked, "local") == []
    assert unsupported_requirements(asked, "prolific") == []
    assert unsupported_requirements(asked, "external") == [
        "more than 95 % of reviewed pages of work approved",
        "approved pages of work: at least 500",
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


@pytest.mark.django_db
def test_a_study_of_v15_here_says_who_can_join_and_is_rehearsed(designer: Client) -> None:
    make_dataset()
    small = {"pairs": {"HC": 2, "HI": 2, "HM": 0, "MM": 2}, "references": 2}
    values = {"name": "V15", "dataset": "animals", "preset": "vedantam-2015-triplet", "sampling": small}
    study = create_study(design=make_design(values))
    said = why_nobody_may_qualify(design_of(study).workers, "local")

    plan = designer.get(page(study, "plan")).content.decode()
    assert said in html.unescape(plan)
    generate_hits(study=study)
    study.refresh_from_db()
    assert said in study.notes["sentences"]
    assert said in html.unescape(designer.get(page(study, "hits")).content.decode())

    call_command("rehearse", study.slug, "--workers", "6")
    assert Judgment.objects.of_study(study).count() == 6 * 2 * 3


@pytest.mark.django_db
def test_a_study_without_requirements_says_nothing_of_them(designer: Client) -> None:
    make_dataset()
    study = make_study(opened=False)
    assert why_nobody_may_qualify(design_of(study).workers, "local") == ""
    assert "sentences" not in study.notes
