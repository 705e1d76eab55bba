"""Units are packed onto few pages, and no image stands on a page twice where that can be helped."""

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgments.drawing.controls.dealing import Deck
from judgments.drawing.draws import balanced_sides
from judgments.drawing.hits import make_hits, pack_groups
from judgments.drawing.material import Group, Image, UnitSpec
from tests.growth import check_linear, work_of
from tests.judgments.material import batch_of, made_up


def groups_of(counts: list[int]) -> list[Group]:
    return [
        Group(f"image-{image}", (UnitSpec(key=f"{image}.{number}", image=f"image-{image}"),))
        for image, count in enumerate(counts)
        for number in range(count)
    ]


sizes = st.lists(st.integers(1, 12), min_size=1, max_size=15)


@given(counts=sizes, per_hit=st.integers(1, 8), seed=st.integers(0, 100))
def test_a_page_holds_no_image_twice_and_there_are_as_few_pages_as_possible(
    counts: list[int], per_hit: int, seed: int
) -> None:
    groups = groups_of(counts)
    pages = pack_groups(groups, per_hit=per_hit, rng=np.random.default_rng(seed), repeat_images=False)
    assert Counter(group.units[0].key for page in pages for group in page) == Counter(
        group.units[0].key for group in groups
    )
    for page in pages:
        assert len(page) <= per_hit
        assert len({group.image for group in page}) == len(page)
    assert len(pages) == max(-(-len(groups) // per_hit), max(counts))


@given(counts=sizes, per_hit=st.integers(1, 8), seed=st.integers(0, 100))
def test_where_images_may_repeat_only_the_last_page_is_short(
    counts: list[int], per_hit: int, seed: int
) -> None:
    groups = groups_of(counts)
    pages = pack_groups(groups, per_hit=per_hit, rng=np.random.default_rng(seed), repeat_images=True)
    assert sum(len(page) for page in pages) == len(groups)
    assert all(len(page) == per_hit for page in pages[:-1])


@given(counts=sizes, per_hit=st.integers(1, 8), repeat_images=st.booleans())
def test_even_pages_are_as_many_and_alike_in_length(
    counts: list[int], per_hit: int, repeat_images: bool
) -> None:
    pages, even = (
        pack_groups(
            groups_of(counts),
            per_hit=per_hit,
            rng=np.random.default_rng(1),
            repeat_images=repeat_images,
            balance_lengths=evenly,
        )
        for evenly in (False, True)
    )
    lengths = [len(page) for page in even]
    assert (len(lengths), sum(lengths)) == (len(pages), sum(counts))
    assert max(lengths) <= per_hit
    assert max(lengths) - min(lengths) <= 1
    assert repeat_images or all(len({group.image for group in page}) == len(page) for page in even)


def test_control_groups_stand_at_every_place() -> None:
    pages = pack_groups(groups_of([1] * 400), per_hit=4, rng=np.random.default_rng(1), repeat_images=False)
    control = Group("control", (UnitSpec(key="", image="control", control=True),))
    hits = make_hits(
        pages,
        seed=1,
        protocol="graded",
        deal_controls=lambda number, page: [control],
        rng=np.random.default_rng(2),
    )
    places = Counter(next(i for i, unit in enumerate(hit.units) if unit.control) for hit in hits)
    assert set(places) == {0, 1, 2, 3, 4}
    assert min(places.values()) >= 8  # of 100 HITs, 20 expected at each place


@given(count=st.integers(0, 50), seed=st.integers(0, 1000))
def test_sides_differ_by_at_most_one(count: int, seed: int) -> None:
    flips = balanced_sides(count, np.random.default_rng(seed))
    assert len(flips) == count
    assert abs(2 * sum(flips) - count) <= 1


def test_a_page_never_shows_a_control_image_twice_and_each_comes_equally_often() -> None:
    names = [f"{number}.jpg" for number in range(6)]
    images = [Image(name=name, split="dev", references=(), outputs=()) for name in names]
    deck = Deck(images, np.random.default_rng(1), name=lambda image: image.name)
    pages = [[image.name for image in deck.deal_items(4)] for _ in range(60)]
    assert all(len(set(page)) == 4 for page in pages)
    assert Counter(name for page in pages for name in page) == dict.fromkeys(names, 40)
    assert len(deck.deal_items(7)) == 7  # more than there are: they come again


@pytest.mark.django_db
def test_drawing_does_twice_the_work_for_twice_the_images() -> None:
    """Also where no split is reserved for control items."""

    def draw(images: int) -> None:
        material = made_up(images, references=3, systems=2)
        whole = replace(material, images=tuple(replace(image, split="") for image in material.images))
        batch_of(whole, "triplet", sampling={"pairs": {"HM": images}}, controls={"per_hit": 2})

    draw(20)
    check_linear([work_of(partial(draw, images)) for images in (100, 200, 400)])
