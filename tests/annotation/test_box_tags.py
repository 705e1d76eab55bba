"""Boxes over a picture, as templates write them."""

from __future__ import annotations

import pytest
from django.utils import translation

from annotation.templatetags.annotation_tags import box_of_word, largest_first, percent, text_direction


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0%"), (1, "100%"), (0.25, "25%"), (1 / 3, "33.33%"), (0.0001, "0.01%")]
)
def test_a_share_is_written_as_svg_takes_it_in_every_language(share: float, text: str) -> None:
    for language in ("en", "de"):
        with translation.override(language):
            assert percent(share) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [("A dog", "ltr"), ("كلب dog", "rtl"), ("(\u05db\u05dc\u05d1)", "rtl"), ("1 犬", "ltr"), ("...", "ltr")],
)
def test_a_caption_runs_the_way_of_its_first_letter(text: str, said: str) -> None:
    assert text_direction(text) == said


def test_small_boxes_are_drawn_last_so_that_they_can_be_pointed_at() -> None:
    boxes = [{"id": "small", "width": 0.1, "height": 0.1}, {"id": "large", "width": 0.5, "height": 0.5}]
    assert [box["id"] for box in largest_first(boxes)] == ["large", "small"]


def test_a_word_without_a_link_has_no_box() -> None:
    answer = [{"word": 1, "box": "a"}]
    assert (box_of_word(answer, 1), box_of_word(answer, 2), box_of_word(None, 1)) == ("a", "", "")
