"""Times in words, what a form says, and template tags."""

import pytest
from django.utils import translation

from annotation.templatetags.annotation_tags import box_of_word, largest_first, percent, text_direction
from annotation.work.answers.form_answers import answers_of_form, undecided_positions
from annotation.work.sheet.texts import spell_duration, spell_pay, spell_time_left
from annotation.work.sheet.units import PageUnit
from common.markup import render_markdown
from judgments.kinds import KINDS
from judgments.models import Unit


def places(*images: str) -> list[PageUnit]:
    """Units on these images in turn."""
    numbers = {image: number for number, image in enumerate(sorted(set(images)), start=1)}
    units = [Unit(key=f"k{n}", item_id=numbers[image]) for n, image in enumerate(images)]
    return [PageUnit(position=n, unit=unit, side=None) for n, unit in enumerate(units, start=1)]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(10, "less than a minute"), (120, "about 2 min"), (11_400, "about 3 h 10 min"), (7_200, "about 2 h")],
)
def test_a_span_of_work_is_spelled_out(seconds: float, words: str) -> None:
    assert spell_duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "less than a minute left"),
        (59, "less than a minute left"),
        (3_179, "52 min left"),
        (11_400, "3 h 10 min left"),
        (7 * 86_400 - 1, "6 days left"),
    ],
)
def test_what_is_left_of_a_lease_is_never_rounded_up(seconds: float, words: str) -> None:
    assert spell_time_left(seconds) == words


def test_pay_and_counts_are_spelled_out() -> None:
    assert [spell_pay(cents, "") for cents in (0, 1, 25)] == [
        "",
        "1 cent a page of work",
        "25 cents a page of work",
    ]


def test_in_a_draft_an_unticked_box_says_nothing_unless_a_tick_is_taken_back() -> None:
    kind, group = KINDS["relevance"], places("a", "a", "a")
    draft = answers_of_form({"u2": "1"}, group, kind=kind, final=False, saved={"3": {"value": 1}})
    assert draft == [{"position": 2, "value": 1}, {"position": 3, "value": 0}]
    final = answers_of_form({"u2": "1"}, group, kind=kind, final=True, saved={})
    assert [answer["value"] for answer in final] == [0, 1, 0]


def test_every_picture_is_decided_by_itself() -> None:
    kind, pages = KINDS["relevance"], places("a", "a", "b", "b", "c", "c", "d", "d")
    form = {"u1": "1", "none3": "1", "u5": "1", "none5": "1"}
    assert undecided_positions(form, pages, kind) == [5, 6, 7, 8]
    given = answers_of_form(form, pages, kind=kind, final=True, saved={})
    assert {answer["position"]: answer["value"] for answer in given} == {1: 1, 2: 0, 3: 0, 4: 0, 5: 1}


def test_units_that_stand_alone_are_never_taken_back() -> None:
    assert undecided_positions({}, places("a", "a"), KINDS["triplet"]) == []
    given = answers_of_form(
        {"u1": "2", "t1": "3.456"}, places("a", "a"), kind=KINDS["triplet"], final=True, saved={}
    )
    assert given == [{"position": 1, "value": 2, "seconds": 3.46}]


def test_markdown_keeps_words_and_lists_and_drops_what_could_act() -> None:
    html = render_markdown(
        "# Title\n\n- one\n- two\n\n<iframe src=x></iframe><a href='javascript:x' onclick='y'>z</a>\n\n"
        "[page](https://example.org) <p style='position:fixed'>w</p>"
    )
    assert "<h2>Title</h2>" in html
    assert "<li>one</li>" in html
    assert '<a href="https://example.org" rel="noopener noreferrer">page</a>' in html
    for gone in ("iframe", "javascript", "onclick", "style"):
        assert gone not in html


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
