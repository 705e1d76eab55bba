"""What each kind makes of a dataset (H13, V15), and what several answers say together."""

from collections import Counter

import pytest

from common.errors import DesignError
from judgments.drawing.material import Image, Material, Text, UnitSpec
from judgments.kinds import KINDS
from tests.judgments.material import CROSSED, animals, batch_of, made_up, units_of
from tests.refusals import refuses


def is_own(unit: UnitSpec) -> bool:
    return unit.first is not None and unit.first.key.startswith(f"{unit.image}#")


def test_a_pair_gives_one_triplet_per_reference() -> None:
    batch = batch_of(made_up(), "triplet", sampling={"pairs": {"HC": 4, "MM": 4}})
    count = Counter(unit.pair for unit in units_of(batch))
    assert {pair.key: len(pair.references) for pair in batch.pairs} == dict(count)
    for unit in units_of(batch):
        assert unit.reference not in (unit.first, unit.second)


def test_a_triplet_page_holds_no_image_twice_where_there_are_enough() -> None:
    batch = batch_of(
        made_up(), "triplet", sampling={"pairs": {"HC": 14, "MM": 14}}, units_per_hit=10,
        controls={"per_hit": 1},
    )  # fmt: skip
    for hit in batch.hits[:-1]:
        judged = [unit.image for unit in hit.units if not unit.control]
        assert len(judged) == 9
        assert len(set(judged)) == 9


@pytest.mark.parametrize("protocol", ["triplet", "pairwise", "relevance", "graded"])
def test_controls_come_from_the_control_split_and_have_ids_of_their_own(protocol: str) -> None:
    batch = batch_of(made_up(), protocol, controls={"per_hit": 1}, units_per_hit=5, images_per_hit=3)
    controls = [unit for unit in units_of(batch) if unit.control]
    judged = [unit for unit in units_of(batch) if not unit.control]
    dev = {image.name for image in made_up().images if image.split == "dev"}
    assert {unit.image for unit in controls} <= dev
    assert not {unit.image for unit in judged} & dev
    assert all(unit.expected is not None for unit in controls)
    assert all(unit.expected is None for unit in judged)
    assert len({unit.key for unit in units_of(batch)}) == len(units_of(batch))


@pytest.mark.parametrize("protocol", ["triplet", "pairwise"])
def test_the_right_option_of_a_control_pair_is_a_caption_of_its_image(protocol: str) -> None:
    batch = batch_of(made_up(), protocol, controls={"per_hit": 2}, units_per_hit=5)
    controls = [unit for unit in units_of(batch) if unit.control]
    for unit in controls:
        assert unit.first is not None
        assert unit.second is not None
        right, wrong = (unit.first, unit.second) if unit.expected == 1 else (unit.second, unit.first)
        assert right.key.startswith(f"{unit.image}#")
        assert not wrong.key.startswith(f"{unit.image}#")
        if protocol == "triplet":
            assert unit.reference is not None
            assert unit.reference.key.startswith(f"{unit.image}#")
            assert unit.reference.text != right.text
    assert {unit.expected for unit in controls} == {1, 2}


def test_a_relevance_page_has_six_images_of_ten_captions_with_one_control_image() -> None:
    material = made_up(20, systems=1)
    batch = batch_of(material, "relevance", controls={"per_hit": 1})
    for hit in batch.hits[:-3]:
        images = [unit.image for unit in hit.units]
        groups = list(dict.fromkeys(images))
        assert len(groups) == 6
        assert images == sorted(images, key=groups.index), "an image's captions stand together"
        control = [unit for unit in hit.units if unit.control]
        assert len(control) == 10
        assert len({unit.image for unit in control}) == 1
        right = [unit for unit in control if unit.expected == 1]
        assert 1 <= len(right) <= 3
        assert [is_own(unit) for unit in control] == [unit.expected == 1 for unit in control]


def test_relevance_crosses_every_distinct_text_with_every_image() -> None:
    same = Text("c-1", "a dog")
    images = tuple(
        Image(
            f"i{n}",
            "",
            (Text(f"i{n}#0", f"reference {n}"),),
            (("a", same), ("b", Text(f"c{n}", f"text {n}"))),
        )
        for n in range(4)
    )
    batch = batch_of(Material("small", images), "relevance", sampling=CROSSED)
    judged = {(unit.image, unit.first) for unit in units_of(batch)}
    assert len(judged) == batch.unit_count == 4 * 5


def test_without_filling_only_what_passes_is_judged() -> None:
    batch = batch_of(animals(), "relevance", sampling=CROSSED, filter={"bleu_pre": 0.25})
    assert batch.unit_count == 12
    assert not any(unit.filtered for unit in units_of(batch))


def test_a_group_stays_short_where_too_few_were_filtered() -> None:
    batch = batch_of(
        animals(), "relevance", sampling=CROSSED, captions_per_image=30,
        filter={"bleu_pre": 0.25, "fill_to": 30},
    )  # fmt: skip
    assert batch.unit_count == 12 * 24


def test_equality_with_the_filter_s_threshold_is_kept() -> None:
    # one of the two content words matches: Bleu-pre is exactly 1/2
    assert batch_of(animals(), "relevance", sampling=CROSSED, filter={"bleu_pre": 0.5}).unit_count == 12
    with refuses(DesignError, field="filter.bleu_pre"):
        batch_of(animals(), "relevance", sampling=CROSSED, filter={"bleu_pre": 0.51})


def test_a_graded_page_never_holds_an_image_twice() -> None:
    batch = batch_of(made_up(), "graded", sampling=CROSSED, units_per_hit=8, controls={"per_hit": 1})
    for hit in batch.hits:
        images = [unit.image for unit in hit.units]
        assert len(set(images)) == len(images)
        assert sum(unit.control for unit in hit.units) == 1
    assert batch.unit_count == 14 * 42
    assert {unit.expected for unit in units_of(batch) if unit.control} == {"3-4", "1-2"}


def test_a_number_of_images_is_drawn_with_the_seed() -> None:
    batch = batch_of(made_up(), "graded", sampling={"images": 3})
    assert len({unit.image for unit in units_of(batch)}) == 3
    with refuses(DesignError, "99", "14", field="sampling.images"):
        batch_of(made_up(), "graded", sampling={"images": 99})


def test_a_dataset_without_splits_sets_a_tenth_aside_for_controls() -> None:
    images = tuple(Image(i.name, "", i.references, i.outputs) for i in made_up(40).images)
    batch = batch_of(Material("plain", images), "graded", controls={"per_hit": 1}, units_per_hit=10)
    control = {unit.image for unit in units_of(batch) if unit.control}
    judged = {unit.image for unit in units_of(batch) if not unit.control}
    assert len(control) <= 4
    assert len(judged) == 36
    assert not control & judged


@pytest.mark.parametrize("protocol", ["triplet", "pairwise", "relevance", "graded"])
def test_one_split_for_both_sets_a_tenth_of_it_aside(protocol: str) -> None:
    batch = batch_of(
        made_up(40), protocol, controls={"per_hit": 1, "split": "test"}, units_per_hit=10, images_per_hit=6
    )
    control = {unit.image for unit in units_of(batch) if unit.control}
    judged = {unit.image for unit in units_of(batch) if not unit.control}
    assert 2 <= len(control) <= 3
    assert not control & judged
    assert control | judged <= {image.name for image in made_up(40).images if image.split == "test"}


def test_more_control_images_a_page_than_there_are_is_refused() -> None:
    with refuses(DesignError, "3", "dev", "2", field="controls.per_hit"):
        batch_of(made_up(dev=2), "graded", controls={"per_hit": 3}, units_per_hit=10)


@pytest.mark.parametrize("protocol", ["triplet", "pairwise", "relevance", "graded"])
def test_controls_without_a_control_split_are_refused(protocol: str) -> None:
    with refuses(DesignError, "dev", "0", field="controls.split"):
        batch_of(made_up(dev=0), protocol, controls={"per_hit": 1})


def test_relevance_without_systems_is_refused() -> None:
    with pytest.raises(DesignError, match="import candidates first"):
        batch_of(made_up(systems=0), "relevance")


@pytest.mark.parametrize(
    ("value", "expected", "right"), [(4, "3-4", True), (2, "3-4", False), (1, "1-2", True), (3, "1-2", False)]
)
def test_a_graded_control_takes_two_grades(value: int, expected: str, right: bool) -> None:
    assert KINDS["graded"].is_right(value, expected) is right
