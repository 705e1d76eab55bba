"""A preset cut to what its dataset has: own data never opens in error, and what was cut is said."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from judgments.design.editing.fitting import fit_to_dataset, holdings_of
from judgments.design.editing.form import starting_values
from judgments.design.reading import PRESETS, make_design
from judgments.models import Dataset, Item, Job, System
from judgments.studies.generation import plan_study
from tests.judgments.desk import do, page, words
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db
NEW = "admin:judgments_study_add"


def cut(preset: str, dataset: Dataset) -> tuple[dict[str, Any], list[str]]:
    return fit_to_dataset(starting_values(preset=preset), dataset, maker=None)


@pytest.mark.parametrize("shape", ["two systems", "people alone", "other splits"])
def test_what_a_card_offers_can_be_drawn(designer: Client, shape: str) -> None:
    dataset = make_dataset()
    if shape == "people alone":
        System.objects.filter(dataset=dataset).delete()
    if shape == "other splits":
        Item.objects.filter(dataset=dataset).update(split="spring")
    holdings = holdings_of(dataset, designer.get("/admin/").wsgi_request.user)
    offered = [name for name in PRESETS if not holdings.missing_for(PRESETS[name])]
    for preset in offered:
        values, _ = cut(preset, dataset)
        design = make_design(values | {"name": "Own", "slug": "own"})
        assert plan_study(design, dataset).units, preset
    assert "vedantam-2015-triplet" in offered


def test_pairs_and_references_are_cut_and_the_sentence_says_so() -> None:
    values, said = cut("vedantam-2015-triplet", make_dataset())
    assert values["sampling"]["references"] == "all"
    assert 0 < values["sampling"]["pairs"]["MM"] < 1000
    assert any("The preset asks for 1,000 of each kind." in one for one in said)
    assert any("fewer than the 48 of the preset" in one for one in said)
    assert any("requirements of the paper" in one for one in said)
    assert values["workers"]["approved_at_least"] == 0


def test_the_form_begins_filled_cut_and_named(designer: Client) -> None:
    make_dataset()
    make_study("triplet", slug="triplets-animals")
    shown = designer.get(reverse(NEW) + "?preset=vedantam-2015-triplet&dataset=animals")
    assert "Cut to the data" in words(shown)
    assert shown.context["form"]["name"].value() == "Triplets, animals (2)"
    design = shown.context["form"].sketch()
    assert plan_study(design, Dataset.objects.get()).units


def test_a_card_says_what_the_dataset_lacks_and_leads_nowhere(designer: Client) -> None:
    make_dataset()
    shown = designer.get(reverse(NEW))
    assert "It needs images with labelled boxes and a caption, and this dataset has none." in words(shown)
    assert "preset=wang-gaizauskas-2015-grounding" not in shown.content.decode()
    assert "preset=vedantam-2015-pairwise&amp;dataset=animals" in shown.content.decode()


def test_an_impossible_design_is_one_message_and_a_button_cuts_it_to_the_data(designer: Client) -> None:
    study = make_study(opened=False, sampling={"pairs": {"MM": 5000}})
    answer = designer.post(do(study, "generate"), {"page": "change"}, follow=True)
    assert words(answer).count("asks for 5000 MM pairs") == 1
    assert not Job.objects.exists()
    form = designer.get(page(study, "change")).context["form"]
    shown = designer.post(page(study, "change"), form.as_posted() | {"_fit": ""})
    assert int(shown.context["form"]["sampling-pairs-MM"].value()) < 5000
    study.refresh_from_db()
    assert study.design["sampling"]["pairs"] == {"MM": 5000}  # until it is saved
