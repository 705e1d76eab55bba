"""Which captions are judged with which images: each source of pairs, the filter and the fill-up on what was drawn."""

import json
import tomllib
from typing import Any

import pytest

from common.errors import DesignError
from judgments.design.editing.form.fields import PairsField
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.reading.study_files import write_toml
from judgments.drawing.material import Batch, Image, Material, Text, UnitSpec
from judgments.studies.generation.lines import batch_lines
from tests.judgments.material import animals, batch_of, units_of
from tests.refusals import refuses

PROTOCOLS = ("relevance", "graded", "slider")
SHARED = Text("c-shared", "A dog runs.")


def text(key: str) -> Text:
    return Text(key, f"The words of {key}.")


def image(
    number: int, outputs: list[tuple[str, Text]], found: list[tuple[str, Text, int]] | None = None
) -> Image:
    own = tuple(text(f"i{number}#{index}") for index in range(5))
    return Image(f"i{number}", "test", own, tuple(outputs), tuple(found or ()))


def segments(count: int = 100, systems: int = 3) -> Material:
    """A translation task: each system has one output for each segment; two agree on every tenth segment."""
    images = []
    for number in range(count):
        outputs = [(f"mt-{index}", text(f"{number}-{index}")) for index in range(systems)]
        if number % 10 == 0 and systems > 1:
            outputs[1] = ("mt-1", Text(f"other-row-{number}", outputs[0][1].text))
        images.append(image(number, outputs))
    return Material("wmt", tuple(images))


def judged(batch: Batch) -> list[UnitSpec]:
    return [unit for unit in units_of(batch) if not unit.control]


def pairs(batch: Batch) -> set[tuple[str, str]]:
    return {(unit.image, unit.first.text) for unit in judged(batch) if unit.first is not None}


@pytest.mark.parametrize("protocol", ["graded", "slider"])
def test_each_system_s_own_output_is_judged_for_its_segment_and_equal_texts_once(protocol: str) -> None:
    batch = batch_of(segments(), protocol)
    assert batch.unit_count == 100 * 3 - 10
    assert batch.notes["candidate_pairs"] == 290
    own = {(one.name, given.text) for one in segments().images for _, given in one.outputs}
    assert pairs(batch) == own


def test_two_segments_and_one_system_ask_two_questions() -> None:
    assert batch_of(segments(2, 1), "slider").unit_count == 2
    crossed = batch_of(segments(2, 1), "slider", sampling={"pairs_from": "crossed"})
    assert crossed.unit_count == 4


def test_the_same_text_for_two_images_is_judged_for_both() -> None:
    material = Material("d", (image(0, [("a", SHARED)]), image(1, [("a", SHARED), ("b", SHARED)])))
    assert pairs(batch_of(material)) == {("i0", SHARED.text), ("i1", SHARED.text)}


RANKED = Material(
    "ranked",
    (
        image(0, [("a", text("p")), ("a", text("q")), ("a", text("r")), ("b", text("q")), ("b", text("s"))]),
        image(1, [("a", text("q"))], [("a", text("z"), 1), ("b", text("q"), 2), ("b", text("y"), 3)]),
        image(2, []),
    ),
)


@pytest.mark.parametrize(
    ("k", "task", "expected"),
    [
        (1, "annotation", {("i0", "p"), ("i0", "q"), ("i1", "q")}),
        (2, "annotation", {("i0", "p"), ("i0", "q"), ("i0", "s"), ("i1", "q")}),
        (1, "search", {("i1", "z")}),
        (2, "search", {("i1", "z"), ("i1", "q")}),
        (
            3,
            "both",
            {("i0", "p"), ("i0", "q"), ("i0", "r"), ("i0", "s"), ("i1", "q"), ("i1", "z"), ("i1", "y")},
        ),
    ],
)
def test_the_union_of_the_first_k_of_every_list(k: int, task: str, expected: set[tuple[str, str]]) -> None:
    batch = batch_of(RANKED, sampling={"pairs_from": "top-k", "k": k, "task": task})
    assert pairs(batch) == {(name, text(key).text) for name, key in expected}


def test_people_s_captions_with_foils_of_other_images() -> None:
    material = segments(20)
    batch = batch_of(material, sampling={"pairs_from": "references", "references": 2, "foils": 3})
    for one in material.images:
        own = {given.text for given in one.references}
        shown = {caption for name, caption in pairs(batch) if name == one.name}
        assert len(shown & own) == 2
        assert len(shown - own) == 3
    assert batch == batch_of(material, sampling={"pairs_from": "references", "references": 2, "foils": 3})
    alone = batch_of(material, sampling={"pairs_from": "references", "foils": 0})
    assert alone.unit_count == 20 * 5


def test_pairs_of_a_list_by_id_or_by_words() -> None:
    listed = [["i0", "p"], ["i0", "The words of i1#3."], ["i2", "i2#0"]]
    batch = batch_of(RANKED, sampling={"pairs_from": "list", "listed": listed})
    assert pairs(batch) == {("i0", text("p").text), ("i0", text("i1#3").text), ("i2", text("i2#0").text)}


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ([["i0", "p"], ["nowhere", "p"]], r"sampling\.listed.*\b2\b.*nowhere"),
        ([["i0", "unheard of"]], r"sampling\.listed.*\b1\b.*unheard of"),
    ],
)
def test_a_list_that_names_what_is_not_there_is_refused(listed: list[list[str]], words: str) -> None:
    with pytest.raises(DesignError, match=words) as refused:
        batch_of(RANKED, sampling={"pairs_from": "list", "listed": listed})
    assert refused.value.field == "sampling.listed"


@pytest.mark.parametrize(
    ("sampling", "field"),
    [
        ({"pairs_from": "list"}, "sampling.listed"),
        ({"pairs_from": "outputs", "listed": [["i0", "p"]]}, "sampling.listed"),
        ({"pairs_from": "crosed"}, "sampling.pairs_from"),
        ({"pairs_from": "list", "listed": [["i0"]]}, "sampling.listed"),
    ],
)
def test_a_design_that_contradicts_itself_is_refused(sampling: dict[str, Any], field: str) -> None:
    with pytest.raises(DesignError) as refused:
        make_design({"name": "x", "dataset": "d", "protocol": "graded", "sampling": sampling})
    assert refused.value.field.startswith(field)


@pytest.mark.parametrize(
    ("sampling", "field"),
    [
        ({}, "sampling.split"),
        ({"pairs_from": "top-k", "task": "search"}, "sampling.task"),
        ({"pairs_from": "references"}, "sampling.pairs_from"),
    ],
)
def test_a_dataset_without_such_captions_is_named(sampling: dict[str, Any], field: str) -> None:
    bare = Material("bare", (Image("i0", "test", ()),))
    with pytest.raises(DesignError, match="bare") as refused:
        batch_of(bare, sampling=sampling)
    assert refused.value.field == field


def test_images_are_drawn_among_those_with_captions_to_judge() -> None:
    material = Material("d", (*segments(4).images, *(image(number, []) for number in range(10, 30))))
    batch = batch_of(material, sampling={"images": 4})
    assert {unit.image for unit in judged(batch)} == {"i0", "i1", "i2", "i3"}
    with refuses(DesignError, "4", field="sampling.images"):
        batch_of(material, sampling={"images": 5})


def test_relevance_keeps_groups_of_ten_where_fewer_were_proposed() -> None:
    batch = batch_of(animals(), "relevance")
    proposed = {(one.name, given.text) for one in animals().images for _, given in one.outputs}
    assert len(batch.hits) == 2
    for hit in batch.hits:
        for name in {unit.image for unit in hit.units}:
            group = [unit for unit in hit.units if unit.image == name]
            assert len(group) == len({unit.first for unit in group}) == 10
            drawn = {unit.first.text for unit in group if not unit.filtered and unit.first}
            assert {(name, caption) for caption in drawn} <= proposed
            assert len(drawn) == 2
    assert batch.notes == {"candidate_pairs": 24, "passed_filter": 24, "filled": 12 * 8}


def test_the_filter_works_on_what_was_drawn_and_what_it_drops_fills_up_first() -> None:
    batch = batch_of(animals(), "relevance", filter={"bleu_pre": 0.25})
    assert batch.notes == {"candidate_pairs": 24, "passed_filter": 12, "filled": 12 * 9}
    for unit in judged(batch):
        assert unit.first is not None
        assert unit.filtered == (unit.first.key != f"own-{unit.image[1:]}")
    dropped = {(unit.image, unit.first.key) for unit in judged(batch) if unit.filtered and unit.first}
    assert {(f"i{n}", f"far-{n}") for n in range(12)} <= dropped


def test_a_filter_without_captions_to_compare_with_is_refused() -> None:
    material = Material("bare", (*animals().images, Image("bare.jpg", "test", (), (("a", text("p")),))))
    with refuses(DesignError, "bare.jpg", field="filter.bleu_pre"):
        batch_of(material, filter={"bleu_pre": 0.25})
    assert batch_of(material).unit_count == 25


def test_designs_are_judged_by_what_systems_proposed_unless_they_say_otherwise() -> None:
    design = make_design({"name": "x", "dataset": "d", "protocol": "slider"})
    assert design.sampling.pairs_from == "outputs"
    said = {
        name: PRESETS[name].values["sampling"]
        for name in PRESETS
        if PRESETS[name].values["protocol"] in PROTOCOLS
    }
    assert (said["hodosh-2013-relevance"]["pairs_from"], said["hodosh-2013-relevance"]["k"]) == ("top-k", 10)
    assert (said["hodosh-2013-graded"]["pairs_from"], said["hodosh-2013-graded"]["k"]) == ("top-k", 1)
    assert said["our-slider"]["pairs_from"] == "outputs"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_whole_study_file_of_before_reads_as_crossed(protocol: str) -> None:
    design = make_design(
        {"name": "x", "dataset": "d", "protocol": protocol, "sampling": {"pairs_from": "crossed"}}
    )
    values = tomllib.loads(write_toml(design))
    for key in ("pairs_from", "k", "task", "foils", "listed"):
        del values["sampling"][key]
    assert make_design(values) == design


def test_a_list_goes_through_a_study_file_and_a_form_field() -> None:
    listed = (("i0", "a caption, with a comma"), ("i1", "i1#2"))
    sampling = {"pairs_from": "list", "listed": [list(pair) for pair in listed]}
    design = make_design({"name": "x", "dataset": "d", "protocol": "graded", "sampling": sampling})
    assert make_design(tomllib.loads(write_toml(design))).sampling.listed == listed
    field = PairsField(rows=3)
    assert field.clean(field.prepare_value(listed)) == [list(pair) for pair in listed]


def test_the_same_seed_gives_the_same_bytes() -> None:
    for protocol in PROTOCOLS:
        design = make_design({"name": "x", "dataset": "d", "protocol": protocol})
        first, second = (list(batch_lines(batch_of(segments(12), protocol), design)) for _ in range(2))
        assert first == second
        assert all(json.loads(line)["type"] == "hit" for line in first)


def test_a_small_pool_is_filled_up_with_people_s_captions_of_other_images() -> None:
    batch = batch_of(segments(9, 1), "relevance", controls={"per_hit": 0})
    sizes: dict[str, int] = {}
    for unit in judged(batch):
        sizes[unit.image] = sizes.get(unit.image, 0) + 1
    assert set(sizes.values()) == {10}
    own = {(one.name, given.text) for one in segments(9, 1).images for given in one.references}
    assert not own & pairs(batch)


@pytest.mark.parametrize("filter", [{"fill_to": 0}, {"fill_to": 10}])
def test_groups_smaller_than_control_images_are_refused(filter: dict[str, Any]) -> None:
    values = {
        "name": "x",
        "dataset": "d",
        "protocol": "relevance",
        "captions_per_image": 12,
        "filter": filter,
    }
    with pytest.raises(DesignError) as refused:
        make_design(values | {"controls": {"per_hit": 1}})
    assert refused.value.field == "filter.fill_to"
    make_design(values | {"controls": {"per_hit": 0}})
    make_design(values | {"controls": {"per_hit": 1}, "sampling": {"pairs_from": "crossed"}})
