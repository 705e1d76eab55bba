"""The order that a worker sees: theirs alone, the same on every database, controls anywhere, repetitions apart."""

from collections import Counter
from functools import cache
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.models import Worker
from annotation.work.sheet.layout import Layout, draw_layout
from annotation.work.sheet.units import arrange_units, screens_of
from judgments.design.reading.checking import make_design
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.kinds import KINDS
from judgments.models import HIT, Unit


def units_of(groups: list[int], *, controls: int = 0, repeated: int = 0) -> list[Unit]:
    """A HIT of images with ``groups`` captions each; the last ``controls`` are control images, and the first ones are
    shown again."""
    units: list[Unit] = []
    for image, size in enumerate(groups):
        for caption in range(size):
            control = image >= len(groups) - controls
            units.append(
                Unit(
                    pk=len(units) + 1,
                    key=f"u{image}.{caption}",
                    item_id=image,
                    control=control,
                    control_kind="reference" if control else "",
                )
            )
    for image in range(repeated):
        units += [
            Unit(
                pk=len(units) + 1 + caption,
                key=f"again{image}.{caption}",
                item_id=image,
                control=True,
                control_kind="repeated",
                content={ORIGINAL_UNIT: f"u{image}.{caption}"},
            )
            for caption in range(groups[image])
        ]
    return units


@cache
def design_of(protocol: str) -> StudyDesign:
    return make_design({"name": "x", "dataset": "d", "protocol": protocol, "seed": 4})


def layout(units: list[Unit], *, worker: str = "ada", protocol: str = "relevance", **options: Any) -> Layout:
    ada = Worker(name=worker)
    return draw_layout(design=design_of(protocol), hit=HIT(key="h1"), worker=ada, units=units, **options)


sizes = st.lists(st.integers(1, 10), min_size=1, max_size=8)


@settings(deadline=None)
@given(groups=sizes, worker=st.text(min_size=1, max_size=20), data=st.data())
def test_every_unit_is_shown_once_and_an_image_s_captions_stand_together(
    groups: list[int], worker: str, data: st.DataObject
) -> None:
    units = units_of(groups)
    left_out = data.draw(st.sets(st.sampled_from([unit.pk for unit in units])))
    found = layout(units, worker=worker, left_out=left_out)
    assert sorted(found.order) == [index for index, unit in enumerate(units) if unit.pk not in left_out]
    images = [image for image, _ in groupby(units[index].item_id for index in found.order)]
    assert len(images) == len(set(images))
    assert layout(units, worker=worker, left_out=left_out) == found


@settings(deadline=None, max_examples=60)
@given(count=st.integers(3, 12), repeated=st.integers(1, 3), worker=st.text(max_size=10))
def test_a_repetition_stands_apart_from_the_first_time(count: int, repeated: int, worker: str) -> None:
    for protocol, groups in (("relevance", [3] * count), ("pairwise", [1] * count)):
        units = units_of(groups, repeated=min(repeated, count))
        found = layout(units, worker=worker, protocol=protocol)
        assert sorted(found.order) == list(range(len(units)))
        places = arrange_units(units, found.order, found.sides)
        steps = [group[0].unit for group in screens_of(places, KINDS[protocol])]
        assert len(steps) == count + min(repeated, count), "no two groups of one image run together"
        at = {(unit.item_id, unit.control_kind): place for place, unit in enumerate(steps)}
        for image in range(min(repeated, count)):
            assert abs(at[image, "repeated"] - at[image, ""]) >= 2


@pytest.mark.parametrize("count", [9, 12, 20])
def test_where_there_is_room_a_third_of_the_page_lies_between(count: int) -> None:
    for worker in range(200):
        units = units_of([1] * (count - 1), repeated=1)
        order = layout(units, worker=f"w{worker}", protocol="triplet").order
        assert abs(order.index(0) - order.index(count - 1)) >= count // 3


def test_a_repetition_that_nothing_could_keep_apart_is_left_out() -> None:
    units = units_of([4], repeated=1)
    assert sorted(layout(units).order) == [0, 1, 2, 3]


def test_what_was_withdrawn_is_shown_to_nobody() -> None:
    units = units_of([2, 2])
    units[3].withdrawn = True
    assert sorted(layout(units).order) == [0, 1, 2]


def test_control_items_stand_at_every_place_equally_often() -> None:
    """1,000 workers on a page of five: 200 expected at each place, standard deviation 12.6."""
    units = units_of([1] * 5, controls=1)
    orders = [layout(units, worker=f"w{number}", protocol="triplet").order for number in range(1000)]
    counts = Counter(order.index(4) for order in orders)
    assert set(counts) == {0, 1, 2, 3, 4}
    assert all(150 <= count <= 250 for count in counts.values())
    assert len({tuple(order) for order in orders}) == 120, "all orders of five occur"


def test_repeated_items_stand_at_every_place_too() -> None:
    units = units_of([1] * 8, repeated=1)
    counts = Counter(
        layout(units, worker=f"w{number}", protocol="graded").order.index(8) for number in range(1000)
    )
    assert set(counts) == set(range(9))
    assert min(counts.values()) >= 40


def test_the_order_of_a_worker_is_the_one_that_was_written_down() -> None:
    """Another Python, platform or database must draw the same."""
    assert layout(units_of([2, 1, 3])).order == [2, 0, 1, 3, 4, 5]
