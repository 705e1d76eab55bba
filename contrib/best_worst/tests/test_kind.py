"""Best-worst scaling as a kind: its lists, its control items, its answers."""

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from common.errors import DesignError
from contrib.best_worst.rehearsal import BestWorstRehearsal
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import Batch, Image, Material, Text, UnitSpec
from judgments.kinds import KINDS
from tests.judgments import material
from tests.judgments.material import made_up, units_of
from tests.refusals import refuses

KIND = KINDS["best-worst"]


def batch_of(images: Material, **values: Any) -> Batch:
    return material.batch_of(images, "best-worst", **values)


def design_of(**values: Any) -> StudyDesign:
    return make_design({"name": "x", "dataset": "made-up", "protocol": "best-worst", "seed": 4} | values)


def keys_of(unit: UnitSpec) -> list[str]:
    return [option["key"] for option in unit.content["options"]]


def unit_of(size: int = 4) -> UnitSpec:
    return UnitSpec(
        key="u", image="i", content={"options": [{"key": f"c{n}", "text": f"text {n}"} for n in range(size)]}
    )


def test_every_caption_of_an_image_stands_in_equally_many_lists() -> None:
    batch = batch_of(made_up(8, systems=8, dev=4))
    for image in {unit.image for unit in units_of(batch)}:
        lists = [keys_of(unit) for unit in units_of(batch) if unit.image == image]
        assert all(len(set(keys)) == 4 for keys in lists)
        count = Counter(key for keys in lists for key in keys)
        assert len(count) == 8
        assert set(count.values()) == {4}
        met = Counter(pair for keys in lists for pair in combinations(sorted(keys), 2))
        assert max(met.values()) <= 2


def test_options_and_appearances_are_the_designer_s() -> None:
    batch = batch_of(made_up(8, systems=6, dev=4), sampling={"options": 3, "appearances": 2})
    lists = [keys_of(unit) for unit in units_of(batch)]
    assert {len(keys) for keys in lists} == {3}
    assert set(Counter(key for keys in lists for key in keys).values()) == {2}


def test_a_text_that_two_systems_gave_is_judged_once() -> None:
    same = Text("c-same", "both say this")
    others = [Text(f"c-{n}", f"text {n}") for n in range(4)]
    outputs = (("a", same), ("b", same), *((f"s{n}", text) for n, text in enumerate(others)))
    batch = batch_of(Material("m", (Image("i.jpg", "test", (), outputs),)))
    assert {key for unit in units_of(batch) for key in keys_of(unit)} == {
        "c-same",
        "c-0",
        "c-1",
        "c-2",
        "c-3",
    }


def test_images_with_too_few_captions_are_left_out_and_counted() -> None:
    rich, poor = made_up(2, systems=5, dev=1).images, made_up(2, systems=2, dev=1).images
    batch = batch_of(Material("m", (rich[0], Image("poor.jpg", "test", (), poor[0].outputs))))
    assert {unit.image for unit in units_of(batch)} == {"image-0"}
    assert batch.notes == {"images_with_too_few_captions": 1}


def test_a_dataset_with_too_few_systems_is_refused_with_what_there_is() -> None:
    with refuses(DesignError, "4", "3", field="sampling.options"):
        batch_of(made_up(8, systems=3, dev=4))


def test_all_texts_of_an_image_can_stand_in_one_list() -> None:
    batch = batch_of(made_up(8, systems=6, dev=4), sampling={"options": "all"})
    images = [unit.image for unit in units_of(batch)]
    assert len(set(images)) == len(images)
    assert {len(keys_of(unit)) for unit in units_of(batch)} == {6}
    with refuses(DesignError, "9", "8", field="sampling.options"):
        batch_of(made_up(8, systems=9, dev=4), sampling={"options": "all"})


def test_a_list_with_the_worst_has_three_texts_and_one_without_it_two() -> None:
    two = made_up(8, systems=2, dev=4)
    batch = batch_of(two, sampling={"options": "all"}, answers={"worst": False})
    assert {len(keys_of(unit)) for unit in units_of(batch)} == {2}
    with refuses(DesignError, "all", "2", field="sampling.options"):
        batch_of(two, sampling={"options": "all"})


def test_controls_of_the_best_alone_have_a_best_one() -> None:
    controls = {"per_hit": 1}
    batch = batch_of(
        made_up(40, systems=6, dev=20), units_per_hit=4, controls=controls, answers={"worst": False}
    )
    found = [unit for unit in units_of(batch) if unit.control]
    assert {tuple(unit.expected) for unit in found} == {("best",)}
    assert {len(keys_of(unit)) for unit in found} == {4}
    assert {unit.control_kind for unit in found} == {"reference"}


def test_no_page_shows_an_image_twice() -> None:
    for hit in batch_of(made_up(20, systems=6, dev=10), units_per_hit=6, controls={"per_hit": 1}).hits:
        assert len({unit.image for unit in hit.units}) == len(hit.units)


def test_a_control_list_has_one_caption_that_stands_out() -> None:
    images = made_up(40, systems=6, dev=20)
    controls = [
        unit for unit in units_of(batch_of(images, units_per_hit=4, controls={"per_hit": 1})) if unit.control
    ]
    own = {image.name: {text.key for text in image.references} for image in images.images}
    ends: Counter[str] = Counter()
    for unit in controls:
        ((end, place),) = unit.expected.items()
        ends[end] += 1
        keys = keys_of(unit)
        belonging = [key in own[unit.image] for key in keys]
        assert len(set(keys)) == 4
        assert belonging.count(end == "best") == 1
        assert belonging[place - 1] == (end == "best")
    assert set(ends) == {"best", "worst"}
    places = Counter(next(iter(unit.expected.values())) for unit in controls)
    assert set(places) == {1, 2, 3, 4}


def test_an_image_with_one_caption_gives_the_control_it_can() -> None:
    batch = batch_of(made_up(20, systems=6, references=1, dev=10), controls={"per_hit": 1}, units_per_hit=4)
    assert {tuple(unit.expected) for unit in units_of(batch) if unit.control} == {("best",)}


def test_the_worker_s_order_is_undone() -> None:
    unit, rng = unit_of(5), np.random.default_rng(1)
    for side in KIND.sides.draw([unit] * 20, rng):
        shown = KIND.present_unit(unit, side=side, picture_url="/p")
        texts = [option["text"] for option in shown["options"]]
        assert sorted(texts) == [f"text {n}" for n in range(5)]
        given = {"best": 2, "worst": 5}
        kept = KIND.sides.to_canonical(given, side=side)
        for end in ("best", "worst"):
            assert unit.content["options"][kept[end] - 1]["text"] == texts[given[end] - 1]
        assert KIND.sides.from_canonical(kept, side=side) == given
    assert set(shown) == {"image", "options"}
    assert all(set(option) == {"text"} for option in shown["options"])


@pytest.mark.parametrize(
    "given",
    [None, 1, {"best": 1}, {"best": 1, "worst": 1}, {"best": 0, "worst": 1}, {"best": 1, "worst": 5},
     {"best": True, "worst": 2}, {"best": "1", "worst": 2}, {"best": 1, "worst": 2, "middle": 3}, [1, 2]],
)  # fmt: skip
def test_what_is_no_two_different_captions_is_refused(given: Any) -> None:
    with refuses(ValueError, "different numbers", "4"):
        KIND.clean_answer(given, unit=unit_of(), design=design_of())


def test_a_plain_form_is_read_when_both_ends_are_given() -> None:
    def read(**fields: str) -> Any:
        return KIND.read_form({name.replace("_", "-"): value for name, value in fields.items()}, 3, unit_of())

    assert read(u3_best="2", u3_worst="4") == {"best": 2, "worst": 4}
    assert read(u3_best="2") is None
    assert read(u3_best="2", u3_worst="2") is None, (
        "one caption cannot be both: nothing is lost, it is asked again"
    )
    assert read(u3_best="x", u3_worst="2") is None


def test_the_consensus_names_who_was_an_end_most_often() -> None:
    answers = [(7, 1, 4), (7, 1, 3), (7, 2, 4), (8, 1, 2), (8, 2, 1)]
    found = KIND.aggregation.consensus(
        [unit for unit, *_ in answers], [{"best": b, "worst": w} for _, b, w in answers]
    )
    assert (found[7].n, found[7].answer, found[7].tie) == (3, {"best": 1, "worst": 4}, False)
    assert found[7].votes == {"best 1": 2, "best 2": 1, "worst 3": 1, "worst 4": 2}
    assert (found[8].answer, found[8].tie, found[8].value) == ({"best": None, "worst": None}, True, None)


def test_files_name_captions_by_id() -> None:
    content = unit_of().content
    given = {"best": 2, "worst": 4}
    told = KIND.exchange.to_file(given, content=content)
    assert told == {"best": "c1", "worst": "c3"}
    assert KIND.exchange.from_file(told, content=content) == given
    assert KIND.exchange.to_file({"best": None, "worst": 1}, content=content) == {
        "best": None,
        "worst": "c0",
    }
    with pytest.raises(ValueError, match="two captions"):
        KIND.exchange.from_file({"best": "elsewhere", "worst": "c0"}, content=content)


def test_a_control_expects_one_end_and_leaves_the_other_open() -> None:
    assert KIND.is_right({"best": 2, "worst": 4}, {"best": 2})
    assert not KIND.is_right({"best": 2, "worst": 4}, {"worst": 2})


def test_a_rehearsal_answers_right_wrong_and_at_random() -> None:
    rng, unit, rehearsal = np.random.default_rng(3), unit_of(), BestWorstRehearsal(KIND)
    truth = rehearsal.draw_truth(unit, [], rng)
    assert rehearsal.draw_truth(unit, [], rng) == truth, (
        "a caption's worth goes with its id, not with the draw"
    )
    for _ in range(50):
        assert KIND.is_right(rehearsal.draw_answer(unit, truth, right=True, rng=rng), truth)
        wrong = rehearsal.draw_answer(unit, truth, right=False, rng=rng)
        assert not KIND.is_right(wrong, truth)
        assert KIND.clean_answer(wrong, unit=unit, design=design_of()) == wrong
        assert not KIND.is_right(
            rehearsal.draw_answer(unit, {"worst": 3}, right=False, rng=rng), {"worst": 3}
        )
    careless = Counter(rehearsal.draw_answer(unit, truth, right=None, rng=rng)["best"] for _ in range(400))
    assert min(careless[place] for place in range(1, 5)) > 60
