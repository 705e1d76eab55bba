"""Four kinds of control items: what each holds, which answer is right, and that they mix in equal shares."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from common.errors import DesignError
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.drawing.controls.pool import count_control_pool
from judgments.drawing.material import Batch, Image, Material, Text, UnitSpec
from judgments.kinds import KINDS
from tests.judgments import material as material_
from tests.judgments.material import made_up, units_of
from tests.refusals import refuses

PLAIN = ["triplet", "pairwise", "relevance", "graded", "slider"]
ANIMALS = ("dog", "cat", "horse", "zebra", "goat", "fox", "hen", "bear", "cow", "sheep", "camel", "lion")
PLACES = ("meadow", "stable", "river", "beach", "forest", "bridge", "market", "stage", "tower", "desert")


def zoo(images: int = 24, dev: int = 8) -> Material:
    """Captions of real words, so that there is something to damage."""

    def caption(number: int, way: int) -> str:
        animal, place = ANIMALS[number % len(ANIMALS)], PLACES[(number * 3 + way) % len(PLACES)]
        return f"A {('brown', 'tired', 'young', 'giant')[way % 4]} {animal}{number} crosses the {place} quietly ."

    material = made_up(images, dev=dev)
    return replace(
        material,
        images=tuple(
            replace(
                image,
                references=tuple(Text(f"{image.name}#{way}", caption(number, way)) for way in range(4)),
            )
            for number, image in enumerate(material.images)
        ),
    )


def batch_of(protocol: str, kinds: list[str], material: Material | None = None, **values: Any) -> Batch:
    controls = {"per_hit": 2, "kinds": kinds} | values.pop("controls", {})
    wanted = {"seed": 5, "units_per_hit": 8}
    pairs = {"sampling": {"pairs": {"HC": 30, "MM": 20}, "references": 2}} if protocol == "triplet" else {}
    return material_.batch_of(
        material or zoo(), protocol, **(wanted | pairs | {"controls": controls} | values)
    )


def controls_of(batch: Batch, kind: str = "") -> list[UnitSpec]:
    units = [unit for unit in units_of(batch) if unit.control]
    return [unit for unit in units if unit.control_kind == kind] if kind else units


def text(caption: Text | None) -> str:
    assert caption is not None
    return caption.text


@pytest.mark.parametrize("protocol", PLAIN)
def test_a_damaged_caption_is_new_and_the_wrong_one(protocol: str) -> None:
    material = zoo()
    known = {one.text for image in material.images for one in image.references}
    controls = controls_of(batch_of(protocol, ["degraded"]))
    assert {unit.control_kind for unit in controls} <= {"degraded", "reference"}
    dev = {image.name for image in material.images if image.split == "dev"}
    for unit in controls:
        assert unit.image in dev
        if protocol in ("triplet", "pairwise"):
            first, second = text(unit.first), text(unit.second)
            intact, damaged = (first, second) if unit.expected == 1 else (second, first)
            assert intact in known
            assert damaged not in known
            assert len(set(intact.split()) & set(damaged.split())) >= 3, "a copy of it, with words exchanged"
        else:
            good = (
                text(unit.first) in known
                and unit.first is not None
                and unit.first.key.startswith(f"{unit.image}#")
            )
            kind = KINDS[protocol]
            right, wrong = kind.expected_choices
            assert unit.expected == (right if good else wrong)
    if protocol in ("triplet", "pairwise"):
        assert {unit.expected for unit in controls} == {1, 2}


def test_a_damaged_relevance_image_has_ten_captions_of_which_one_to_three_are_right() -> None:
    for hit in batch_of("relevance", ["degraded"], controls={"per_hit": 1}).hits:
        control = [unit for unit in hit.units if unit.control]
        assert len(control) == len({text(unit.first) for unit in control}) == 10
        assert 1 <= sum(unit.expected for unit in control) <= 3


@pytest.mark.parametrize("protocol", [*PLAIN, "best-worst"])
def test_a_repeated_unit_shows_a_judged_unit_of_its_hit_again_and_is_not_judged(protocol: str) -> None:
    values: dict[str, Any] = {"sampling": {"options": 3}} if protocol == "best-worst" else {}
    batch = batch_of(protocol, ["repeated"], **values)
    for hit in batch.hits:
        of_key = {unit.key: unit for unit in hit.units}
        for unit in hit.units:
            if not unit.control:
                continue
            other = of_key[unit.content[ORIGINAL_UNIT]]
            assert not other.control
            assert (unit.image, unit.reference, unit.first, unit.second) == (
                other.image, other.reference, other.first, other.second
            )  # fmt: skip
            assert unit.content.get("options") == other.content.get("options")
            assert (unit.expected, unit.pair, unit.kind) == (None, "", "")
    assert len({unit.key for hit in batch.hits for unit in hit.units}) == sum(
        len(hit.units) for hit in batch.hits
    )
    full = [hit for hit in batch.hits if len({unit.image for unit in hit.units if not unit.control}) > 2]
    assert all(any(unit.control for unit in hit.units) for hit in full)


@pytest.mark.parametrize("kind", ["reference", "degraded"])
def test_of_the_best_alone_the_known_answer_is_a_best_one(kind: str) -> None:
    values: dict[str, Any] = {"sampling": {"options": 3}, "answers": {"worst": False}}
    controls = [
        unit for hit in batch_of("best-worst", [kind], **values).hits for unit in hit.units if unit.control
    ]
    assert controls
    for unit in controls:
        assert set(unit.expected) == {"best"}
        assert len(unit.content["options"]) == 3
        assert unit.control_kind == kind


def test_what_a_repeated_unit_expects_is_what_was_said_the_other_time() -> None:
    for protocol in ("triplet", "pairwise", "relevance"):
        kind = KINDS[protocol]
        for said in kind.values:
            assert [one for one in kind.values if kind.is_right(one, kind.expected_on_repeat(said))] == [said]
    graded = KINDS["graded"]
    near = {
        said: [one for one in graded.values if graded.is_right(one, graded.expected_on_repeat(said))]
        for said in (1, 2, 4)
    }
    assert near == {1: [1, 2], 2: [1, 2, 3], 4: [3, 4]}


def test_kinds_are_drawn_in_equal_shares_and_the_seed_decides() -> None:
    kinds = ["degraded", "repeated", "reference"]
    batch = batch_of("graded", kinds, sampling={"images": 12})
    counts = Counter(unit.control_kind for unit in controls_of(batch))
    assert set(counts) == set(kinds)
    assert max(counts.values()) - min(counts.values()) <= 3
    again = batch_of("graded", kinds, sampling={"images": 12})
    assert [hit.key for hit in again.hits] == [hit.key for hit in batch.hits]
    assert [hit.key for hit in batch_of("graded", kinds, sampling={"images": 12}, seed=6).hits] != [
        hit.key for hit in batch.hits
    ]


@pytest.mark.parametrize("protocol", ["pairwise", "graded", "slider", "relevance", "best-worst"])
def test_a_page_with_pictures_holds_no_image_twice_but_for_what_is_repeated(protocol: str) -> None:
    kinds = ["degraded", "reference", "repeated"]
    values: dict[str, Any] = {"sampling": {"options": 3}} if protocol == "best-worst" else {}
    if protocol == "pairwise":
        values = {"sampling": {"pairs": {"HC": 60, "MM": 40}}}
    for hit in batch_of(protocol, kinds, **values).hits:
        groups = {(unit.image, unit.control_kind == "repeated") for unit in hit.units}
        if not KINDS[protocol].grouped:
            assert len(groups) == len(hit.units)
        originals = {unit.image for unit in hit.units if unit.control_kind != "repeated"}
        controls = {unit.image for unit in hit.units if unit.control_kind in ("degraded", "reference")}
        judged = {unit.image for unit in hit.units if not unit.control}
        assert not controls & judged
        assert originals == controls | judged


def test_triplets_repeat_an_image_where_too_few_are_left_and_say_so() -> None:
    few = replace(zoo(), images=zoo().images[:3])
    batch = batch_of(
        "triplet", ["reference"], material=few, controls={"per_hit": 0}, sampling={"pairs": {"HC": 6}}
    )
    repeating = batch.notes["hits_with_an_image_twice"]
    assert repeating == len(batch.hits)
    assert any(str(repeating) in sentence for sentence in batch.notes["sentences"])


KNOWN: dict[str, dict[str, Any]] = {
    "triplet": {
        "reference": "A lion sleeps .",
        "first": "A lion dozes .",
        "second": "A bus stops .",
        "expected": 1,
    },
    "pairwise": {"first": "A bus stops .", "second": "A lion dozes .", "expected": 2},
    "relevance": {"first": "A lion dozes .", "expected": 1},
    "graded": {"first": "A lion dozes .", "expected": "3-4", "why": "It does."},
    "slider": {"first": "A lion dozes .", "expected": "60-100"},
}


@pytest.mark.parametrize("protocol", PLAIN)
def test_a_known_item_says_what_the_designer_says_whichever_text_comes_first(protocol: str) -> None:
    known = [{"image": f"image-{number}", **KNOWN[protocol]} for number in (0, 1, 2, 17)]
    batch = batch_of(protocol, ["known-good"], controls={"known": known, "per_hit": 1})
    controls = controls_of(batch, "known-good")
    assert {unit.image for unit in controls} <= {"image-0", "image-1", "image-2", "image-17"}
    for unit in controls:
        if protocol in ("triplet", "pairwise"):
            chosen = unit.first if unit.expected == 1 else unit.second
            assert text(chosen) == "A lion dozes ."
        else:
            assert (text(unit.first), unit.expected) == ("A lion dozes .", KNOWN[protocol]["expected"])
    if protocol == "pairwise":
        assert {unit.expected for unit in controls} == {1, 2}
    # Where pictures are shown, a known item stays away from a page that has its image.
    if protocol != "triplet":
        for hit in batch.hits:
            judged = {unit.image for unit in hit.units if not unit.control}
            assert not judged & {unit.image for unit in hit.units if unit.control}


def test_a_known_item_in_another_writing_is_the_text_of_the_dataset() -> None:
    keys = []
    for written in ("A lion dozes .", " A lion dozes .\r\n"):
        known = [{"image": f"image-{number}", "first": written, "expected": "3-4"} for number in (0, 1)]
        batch = batch_of("graded", ["known-good"], controls={"known": known, "per_hit": 1})
        keys.append({unit.first.key for unit in controls_of(batch, "known-good") if unit.first})
    assert keys[0] == keys[1]


def test_the_texts_of_a_known_item_without_a_better_one_come_in_both_orders() -> None:
    known = [
        {
            "image": f"image-{number}",
            "first": f"A bus stops {number} .",
            "second": "A lion dozes .",
            "expected": 0,
        }
        for number in range(12)
    ]
    answers = {"no_difference": True}
    batch = batch_of("pairwise", ["known-good"], controls={"known": known, "per_hit": 1}, answers=answers)
    controls = controls_of(batch, "known-good")
    assert {unit.expected for unit in controls} == {0}
    assert {text(unit.first) == "A lion dozes ." for unit in controls} == {True, False}


def test_a_known_relevance_group_is_filled_up_so_that_it_looks_like_the_others() -> None:
    known = [{"image": "image-17", "first": f"A lion dozes {n} .", "expected": n % 2} for n in range(3)]
    batch = batch_of("relevance", ["known-good"], controls={"known": known, "per_hit": 1})
    for hit in batch.hits:
        control = [unit for unit in hit.units if unit.control]
        assert Counter(unit.control_kind for unit in control) == {"known-good": 3, "reference": 7}


@pytest.mark.parametrize(
    ("protocol", "changes", "values"),
    [
        ("graded", {"image": "gone.jpg"}, ["'gone.jpg'", "'made-up'"]),
        ("graded", {"first": ""}, ["caption under first"]),
        ("graded", {"expected": "1-4"}, ["'1-4'", "every one"]),
        ("graded", {"expected": "good"}, ["'good'"]),
        ("pairwise", {"second": "A bus stops ."}, ["two different texts"]),
        ("pairwise", {"expected": 3}, ["expects 3", "1 is first", "2 is second"]),
        ("triplet", {"reference": ""}, ["under reference"]),
    ],
)
def test_a_known_item_that_cannot_be_judged_is_refused_by_number(
    protocol: str, changes: dict[str, Any], values: list[str]
) -> None:
    known = [{"image": "image-0", **KNOWN[protocol]} | changes]
    with refuses(DesignError, "item 1", *values, field="controls.known"):
        batch_of(protocol, ["known-good"], controls={"known": known, "per_hit": 1})


def test_known_items_that_are_asked_for_and_not_given_are_refused() -> None:
    with refuses(DesignError, field="controls.known"):
        batch_of("graded", ["known-good"])


def test_repeated_units_alone_need_no_control_split() -> None:
    material = made_up(dev=0)
    batch = batch_of("graded", ["repeated"], material=material)
    assert controls_of(batch, "repeated")
    with refuses(DesignError, "dev", "0", field="controls.split"):
        batch_of("graded", ["repeated", "reference"], material=material)


def test_captions_that_cannot_be_damaged_are_said_to_be_so() -> None:
    images = tuple(
        Image(
            f"i{n}",
            "dev" if n > 3 else "test",
            (Text(f"i{n}#0", "it is"),),
            (("a", Text(f"c{n}", f"a {n}")),),
        )
        for n in range(8)
    )
    with refuses(DesignError, field="controls.kinds"):
        batch_of("graded", ["degraded"], material=Material("mute", images))


def test_the_pool_says_for_how_many_hits_a_worker_meets_new_items() -> None:
    # six control images, one a HIT: relevance knows an item again by its image
    material = made_up(20, dev=6)
    crossed = {"pairs_from": "crossed"}  # several groups an image, and so enough HITs
    batch = batch_of("relevance", ["reference"], material=material, controls={"per_hit": 1}, sampling=crossed)
    pool = count_control_pool(batch.hits, grouped=True)
    assert (pool.items, pool.lasts, pool.comes_again) == (6, 6, True)
    two = batch_of("relevance", ["reference"], material=material, controls={"per_hit": 2}, sampling=crossed)
    assert count_control_pool(two.hits, grouped=True).lasts == 3
    alone = batch_of("graded", ["repeated"])
    assert count_control_pool(alone.hits, grouped=False).items == 0
    assert not count_control_pool(alone.hits, grouped=False).comes_again
