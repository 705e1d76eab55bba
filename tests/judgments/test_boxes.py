"""Boxes on a page: labels in words, and tags that do not cover each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgments.drawing.box_tags import BOX_KEYS, TAG_SIZE, label_words, place_tags


def box(x: float, y: float, width: float, height: float) -> dict[str, float]:
    return {"x": x, "y": y, "width": width, "height": height}


@pytest.mark.parametrize(
    ("label", "words"),
    [("male_child.n.01", "male child"), ("dress", "dress"), ("St. Bernard", "St. Bernard"), ("n.01", "n.01")],
)
def test_a_synset_is_shown_as_its_words(label, words):
    assert label_words(label) == words


def test_keys_are_one_character_and_none_that_the_page_uses_itself():
    assert len(set(BOX_KEYS)) == len(BOX_KEYS) == 31
    assert not set("nsuz0?") & set(BOX_KEYS)
    assert [tag.key for tag in place_tags([box(0, 0, 1, 1)] * 10)] == [*"123456789", "a"]


def test_a_tag_stands_in_the_upper_left_corner_of_a_lone_box():
    tag = place_tags([box(0.3, 0.2, 0.4, 0.5)])[0]
    assert (tag.x, tag.y) == (0.3, 0.2)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.floats(0, 1)] * 4).map(
            lambda four: box(
                four[0] * 0.9, four[1] * 0.9, 0.02 + four[2] * (0.98 - four[0] * 0.9), 0.02 + four[3] * 0.1
            )
        ),
        min_size=2,
        max_size=12,
    )
)
def test_a_dozen_tags_are_inside_the_picture_and_never_cover_each_other(boxes):
    tags = place_tags(boxes)
    assert all(0 <= tag.x <= 1 - TAG_SIZE and 0 <= tag.y <= 1 - TAG_SIZE for tag in tags)
    for place, one in enumerate(tags):
        for other in tags[:place]:
            wide, high = TAG_SIZE - abs(one.x - other.x), TAG_SIZE - abs(one.y - other.y)
            assert min(wide, high) <= 1e-3, (one, other)


def test_equal_boxes_get_tags_side_by_side_within_them():
    tags = place_tags([box(0.1, 0.1, 0.5, 0.5)] * 4)
    places = np.array([[tag.x, tag.y] for tag in tags])
    assert (places >= 0.1 - 1e-9).all()
    assert (places + TAG_SIZE <= 0.6 + 1e-9).all()
