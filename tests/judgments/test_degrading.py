"""A damaged caption has lost words that matter, and gained none that fit."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from judgments.drawing.controls.captions import degrade, degraded_text
from judgments.drawing.material import Image, Text
from quorum.metrics import score
from quorum.metrics.text.porter import rouge_stems
from quorum.metrics.text.word_lists import smart_stop_words

OWN = (
    "A brown dog jumps over a wooden fence in the garden.",
    "The dogs leap across the fence.",
    "Two animals are playing outside.",
)
DONORS = (
    "A woman in a red dress plays the violin on a stage.",
    "Three children are fencing with plastic swords.",
    "A steam train crosses an old iron bridge.",
)


def stems(text: str) -> list[str]:
    return rouge_stems(re.findall(r"[a-z]+", text.lower()))


def damaged(seed: int, *, replace_all: bool = False, text: str = OWN[0]) -> str:
    found = degrade(
        text, references=OWN, donors=DONORS, rng=np.random.default_rng(seed), replace_all=replace_all
    )
    assert found is not None
    return found


def changed(before: str, after: str) -> list[int]:
    one, other = before.split(), after.split()
    assert len(one) == len(other)
    return [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]


@pytest.mark.parametrize("seed", range(5))
def test_only_words_that_matter_are_exchanged_and_the_rest_of_the_sentence_stays(seed: int) -> None:
    after = damaged(seed)
    places = changed(OWN[0], after)
    for place in places:
        assert OWN[0].split()[place].strip(".").lower() not in smart_stop_words()
    # brown, dog, jumps, wooden, fence, garden: half of six
    assert len(places) == 3
    assert after.startswith("A ")
    assert after.endswith(".")


@pytest.mark.parametrize("seed", range(5))
def test_no_word_is_put_in_that_any_caption_of_the_image_uses_in_any_form(seed: int) -> None:
    own = {stem for text in OWN for stem in stems(text)}
    for whole in (False, True):
        after = damaged(seed, replace_all=whole)
        gained = [stems(after.split()[place])[0] for place in changed(OWN[0], after)]
        assert gained
        assert not set(gained) & own, "'fencing' and 'plays' are forms of words that fit"


@pytest.mark.parametrize("seed", range(5))
def test_a_whole_damage_leaves_no_word_that_matters(seed: int) -> None:
    after = damaged(seed, replace_all=True)
    kept = [word for word in re.findall(r"[a-z]+", after.lower()) if word not in smart_stop_words()]
    assert not set(rouge_stems(kept)) & set(stems("brown dog jumps wooden fence garden"))


def test_capital_letters_and_punctuation_stay_where_they_were() -> None:
    for seed in range(20):
        after = damaged(seed, replace_all=True, text="Dogs (brown) leap, often!")
        assert re.fullmatch(r"[A-Z][a-z]+ \([a-z]+\) [a-z]+, often!", after), after


def test_the_same_seed_gives_the_same_damage_and_others_give_others() -> None:
    assert damaged(1) == damaged(1)
    assert len({damaged(seed) for seed in range(20)}) > 5


def test_a_text_without_words_to_exchange_is_shuffled_for_a_comparison_and_left_alone_otherwise() -> None:
    text = "it is what it was"
    rng = np.random.default_rng(0)
    mixed = degrade(text, references=[text], donors=DONORS, rng=rng, replace_all=False)
    assert mixed is not None
    assert mixed != text
    assert sorted(mixed.split()) == sorted(text.split())
    assert degrade(text, references=[text], donors=DONORS, rng=rng, replace_all=True) is None


def test_damaged_captions_of_pascal_50s_are_further_from_the_image_s_other_captions(shared: Path) -> None:
    lines = (shared / "data" / "pascal-50s" / "references.jsonl").read_text("utf-8").splitlines()[::20]
    rows = [json.loads(line) for line in lines]
    images = [
        Image(row["image"], "", tuple(Text(str(n), text) for n, text in enumerate(row["references"])))
        for row in rows
    ]
    rng = np.random.default_rng(0)
    for whole, least in ((False, 0.9), (True, 0.98)):
        damaged = [
            degraded_text(image.references[0], image, images, rng, replace_all=whole) for image in images
        ]
        assert all(one is not None for one in damaged)
        others = [[text.text for text in image.references[1:]] for image in images]
        intact = score([image.references[0].text for image in images], others, metrics=["cider-d"])
        worse = score([one.text for one in damaged if one], others, metrics=["cider-d"])
        lower = worse.scores["cider-d"].images < intact.scores["cider-d"].images
        assert lower.mean() >= least


@pytest.mark.parametrize("text", ["", "dog", "犬が塀を跳び越える"])
def test_a_text_of_one_word_cannot_be_shuffled_either(text: str) -> None:
    assert (
        degrade(text, references=[text], donors=[], rng=np.random.default_rng(0), replace_all=False) is None
    )
