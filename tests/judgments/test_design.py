"""A study design says what is wrong with it, and survives its file."""

from pathlib import Path

import pytest

from common.errors import DesignError
from judgments.design.reading.checking import make_design, problems_in
from judgments.design.reading.presets import PRESET_FOLDER, PRESETS
from judgments.design.reading.study_files import read_toml, write_toml
from tests.refusals import refuses

LEAST = {"name": "Similar sentences?", "dataset": "animals", "protocol": "triplet"}


def test_name_dataset_and_protocol_are_enough() -> None:
    design = make_design(LEAST)
    assert design.slug == "similar-sentences"
    assert design.question == "Which of the two sentences, B or C, is more similar to A?"
    assert (design.judgments_per_unit, design.seed, design.sampling.references) == (3, 0, "all")


@pytest.mark.parametrize(
    ("values", "field", "named"),
    [
        ({"a]b": 1}, "a]b", []),
        ({"protocl": "x"}, "protocl", ["protocl", "'protocol'"]),
        ({"controls": {"treshold": 0.5}}, "controls.treshold", ["controls.treshold", "'threshold'"]),
        ({"seed": -1}, "seed", ["seed", -1, "or equal to 0"]),
        ({"seed": True}, "seed", ["seed", "True", "integer"]),
        ({"units_per_hit": "ten"}, "units_per_hit", ["units_per_hit", "'ten'", "integer"]),
        (
            {"sampling": {"references": "some"}},
            "sampling.references",
            ["sampling.references", "'some'", "'all'", "integer"],
        ),
        (
            {"sampling": {"pairs": {"HX": 3}}},
            "sampling.pairs.HX",
            ["sampling.pairs.HX", "'HX'", "'HC', 'HI', 'HM' or 'MM'"],
        ),
        ({"controls": {"threshold": 1.5}}, "controls.threshold", ["controls.threshold", 1.5, "equal to 1"]),
        (
            {"units_per_hit": 3, "controls": {"per_hit": 3}},
            "controls.per_hit",
            ["controls.per_hit is 3", "page of work is 3"],
        ),
        ({"slug": "a/b"}, "slug", ["'a/b'", "letters, digits, hyphens"]),
        ({"crowd": {"currency": "usd"}}, "crowd.currency", ["crowd.currency", "'usd'", "USD"]),
        ({"sampling": []}, "sampling", ["[]", "table"]),
        ({"preset": "vedantam"}, "preset", ["'vedantam'"]),
        ({"protocol": "tripel"}, "protocol", ["'tripel'"]),
    ],
)
def test_a_wrong_value_is_named_with_its_key(values: dict, field: str, named: list[object]) -> None:
    with refuses(DesignError, *named, field=field) as caught:
        make_design(LEAST | values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", ["name", "dataset", "protocol"])
def test_what_has_no_default_is_asked_for(missing: str) -> None:
    with pytest.raises(DesignError, match=f"^{missing} is missing"):
        make_design({key: value for key, value in LEAST.items() if key != missing})


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_needs_only_a_name_and_a_dataset(preset: str) -> None:
    design = make_design({"name": "Again", "dataset": "animals", "preset": preset})
    assert design.protocol == PRESETS[preset].values["protocol"]
    assert design.preset == preset


def test_the_presets_carry_the_numbers_of_the_papers() -> None:
    triplet, pairwise, relevance, graded = (
        make_design({"name": "Again", "dataset": "animals", "preset": name})
        for name in (
            "vedantam-2015-triplet",
            "vedantam-2015-pairwise",
            "hodosh-2013-relevance",
            "hodosh-2013-graded",
        )
    )
    # V15 section 3 and 6: three judgments a triplet, 48 references, 1,000 pairs of each kind, no control items
    assert triplet.judgments_per_unit == 3
    assert triplet.sampling.references == 48
    assert triplet.sampling.pairs == {"HC": 1000, "HI": 1000, "HM": 1000, "MM": 1000}
    assert triplet.controls.per_hit == 0
    assert pairwise.judgments_per_unit == 11  # V15 App. I
    # H13 section 4.3.2
    assert (relevance.images_per_hit, relevance.captions_per_image, relevance.judgments_per_unit) == (
        6,
        10,
        3,
    )
    assert (relevance.controls.per_hit, relevance.controls.threshold, relevance.controls.split) == (
        1,
        0.7,
        "dev",
    )
    assert (relevance.filter.bleu_pre, relevance.filter.fill_to, relevance.filter.order) == (
        0.25,
        10,
        "stem-first",
    )
    # H13 section 4.2.1: three judges, about ten minutes per 50 pairs
    assert (graded.judgments_per_unit, graded.units_per_hit, graded.seconds_per_unit) == (3, 50, 12)
    for name, preset in PRESETS.items():
        assert set(preset.ours) >= ({"units_per_hit"} if name.startswith("vedantam") else set())


def test_a_file_s_own_values_stand_above_its_preset() -> None:
    design = make_design(
        {
            "name": "Small",
            "dataset": "animals",
            "preset": "vedantam-2015-triplet",
            "sampling": {"pairs": {"HC": 5}},
        }
    )
    assert design.sampling.pairs == {"HC": 5}
    assert design.sampling.references == 48


def test_a_preset_of_another_protocol_is_refused() -> None:
    with refuses(DesignError, "relevance", "graded", field="protocol"):
        make_design(LEAST | {"protocol": "graded", "preset": "hodosh-2013-relevance"})


def test_a_design_survives_its_file() -> None:
    design = make_design(
        LEAST
        | {
            "question": 'Which "one"?\nReally \\ truly',
            "instructions": "Zeilen\nund „Zeichen“ 🐕",
            "sampling": {"pairs": {"HM": 3}, "references": 2},
            "access": {"join": "code", "code": "s3cret"},
        }
    )
    assert read_toml(write_toml(design)) == design


def test_a_file_that_is_not_toml_names_the_line() -> None:
    with refuses(DesignError, "study.toml"):
        read_toml('name = "x"\nprotocol = triplet\n', source="study.toml")


def test_every_preset_file_is_offered_under_its_own_name() -> None:
    folders = [PRESET_FOLDER, *Path("contrib").glob("*/presets")]
    assert {path.stem for folder in folders for path in folder.iterdir()} == set(PRESETS)
    assert all(preset.values["preset"] == name for name, preset in PRESETS.items())


def test_a_list_of_thousands_of_mistakes_costs_what_a_short_one_does() -> None:
    values = {"name": "A", "dataset": "d", "protocol": "graded", "examples": [[]] * 20_000}
    with pytest.raises(DesignError, match="examples"):
        make_design(values)
    assert len(problems_in(values)) <= 200
