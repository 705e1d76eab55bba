"""Caption writing as a kind: what is generated, which answers are taken, what they say together."""

from typing import Any

import pytest

from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.study_design import StudyDesign
from judgments.drawing.material import Material
from judgments.kinds import KINDS
from judgments.kinds.caption import fold_text
from judgments.kinds.caption_rules.spelling import misspellings
from tests.judgments.material import made_up
from tests.refusals import refuses

KIND = KINDS["caption"]


def a_design(**values: Any) -> StudyDesign:
    return make_design({"name": "Writing", "dataset": "made-up", "protocol": "caption", "seed": 5} | values)


def check(text: Any, **values: Any) -> Any:
    return KIND.clean_answer(text, unit=None, design=a_design(**values))


def test_every_image_of_the_split_is_one_unit_in_one_hit_and_no_hit_holds_one_twice() -> None:
    batch = KIND.draw_batch(a_design(units_per_hit=5), made_up(20, dev=6))
    pages = [[unit.image for unit in hit.units] for hit in batch.hits]
    assert sorted(len(page) for page in pages) == [4, 5, 5]
    assert sorted(image for page in pages for image in page) == sorted(f"image-{n}" for n in range(14))
    assert batch.control_count == 0


def test_images_without_any_caption_are_enough() -> None:
    batch = KIND.draw_batch(a_design(), made_up(7, references=0, systems=0, dev=0))
    assert batch.unit_count == 7


def test_so_many_images_as_asked_for_are_drawn_and_the_same_seed_draws_the_same() -> None:
    design = a_design(sampling={"images": 6})
    first, again = KIND.draw_batch(design, made_up()), KIND.draw_batch(design, made_up())
    assert first == again
    assert first.unit_count == 6
    other = KIND.draw_batch(a_design(sampling={"images": 6}, seed=6), made_up())
    assert {hit.key for hit in first.hits}.isdisjoint(hit.key for hit in other.hits)


def test_control_items_are_refused_since_no_caption_is_the_right_one() -> None:
    with refuses(DesignError, "1", field="controls.per_hit"):
        KIND.draw_batch(a_design(controls={"per_hit": 1}), made_up())


def test_a_split_without_images_is_named() -> None:
    with refuses(DesignError, "train", field="sampling.split"):
        KIND.draw_batch(a_design(sampling={"split": "train"}), made_up())


def test_the_text_is_kept_as_typed_but_for_white_space() -> None:
    assert (
        check("  A dog\tand  a CAT ,\n on a so-called “sofa” ") == "A dog and a CAT , on a so-called “sofa”"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "as a text"),
        (None, "as a text"),
        (["A dog runs."], "as a text"),
        ("A dog", "too-short"),
        ("A dog runs. It barks.", "several-sentences"),
        ("A dog\x00 runs fast", "control characters"),
        ("A dog \ud800 runs fast", "control characters"),
        ("x" * 3000, "at most 500 characters"),
        (" \n ", "too-short"),
    ],
)
def test_what_is_no_caption_is_refused_with_what_was_expected(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check(given)


def test_rules_follow_the_language_of_the_study() -> None:
    assert check("DER HUND LÄUFT SCHNELL", language="de") == "DER HUND LÄUFT SCHNELL"
    with pytest.raises(ValueError, match="capitals"):
        check("THE DOG RUNS FAST")
    assert check("两只狗在雪地里奔跑。", language="zh") == "两只狗在雪地里奔跑。"


@pytest.mark.parametrize(
    ("form", "given"),
    [
        ({"u2": " A dog runs. "}, " A dog runs. "),
        ({"u2": " \r\n"}, None),
        ({}, None),
        ({"u1": "A dog runs."}, None),
    ],
)
def test_a_form_holds_a_caption_or_not_yet(form: dict[str, str], given: str | None) -> None:
    assert KIND.read_form(form, 2, None) == given


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A mann rids a hrose", {"hrose": "horse"}),
        ("A man rides a horse in Wuppertal, in mid-air.", {}),
        ("It isn’t the dogs' bowl but the man’s, 3rd on the left.", {}),
        ("Beautifull dogs sit.", {"beautifull": "beautiful"}),
        ("qxzvk " * 9, {"qxzvk": ""}),
        ("aqxz bqxz cqxz dqxz", dict.fromkeys(("aqxz", "bqxz", "cqxz"), "")),
        ("x" * 900, {"x" * 900: ""}),
    ],
)
def test_words_that_no_dictionary_has_are_named_with_what_may_be_meant(
    text: str, words: dict[str, str]
) -> None:
    assert misspellings(text, "en") == words
    assert misspellings(text, "de") == {}


def test_a_worker_sees_the_image_and_no_caption() -> None:
    unit = KIND.draw_batch(a_design(), made_up()).hits[0].units[0]
    shown = KIND.present_unit(unit, side=None, picture_url="/pictures/1/")
    assert shown == {"image": {"url": "/pictures/1/", "alt": "The image to be described"}}


def test_the_captions_of_a_unit_stand_together_in_order_and_none_wins() -> None:
    found = KIND.aggregation.consensus([4, 9, 4], ["A dog.", "A cat.", "The dog."])
    assert (found[4].n, found[4].answer, found[4].value, found[4].tie) == (
        2,
        ["A dog.", "The dog."],
        None,
        False,
    )
    assert found[9].answer == ["A cat."]


@pytest.mark.parametrize(
    ("name", "writers", "words"),
    [
        ("hodosh-2013-captions", 5, ("spelling", "names")),
        ("vedantam-2015-captions", 50, ("main things", "objective", "similar pictures", "grammar")),
    ],
)
def test_the_presets_say_what_the_papers_ask_for(name: str, writers: int, words: tuple[str, ...]) -> None:
    design = make_design({"name": "Writing", "dataset": "made-up", "preset": name})
    assert (design.protocol, design.judgments_per_unit, design.language) == ("caption", writers, "en")
    assert all(word in design.instructions for word in words)
    assert "units_per_hit" in PRESETS[name].ours


def test_two_captions_are_the_same_whatever_their_case_and_punctuation() -> None:
    assert fold_text("A dog,  running!") == fold_text("a DOG running .")
    assert fold_text("ﬁne caf\u00e9") == fold_text("fine cafe\u0301")
    assert fold_text("A dog runs") != fold_text("A dog run")


def test_material_of_another_split_stays_out() -> None:
    material: Material = made_up(10, dev=4)
    images = {unit.image for hit in KIND.draw_batch(a_design(), material).hits for unit in hit.units}
    assert images == {f"image-{number}" for number in range(6)}
