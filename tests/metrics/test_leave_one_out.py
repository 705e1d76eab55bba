"""Captions left out in turn, and the texts that stand in their place (WG16 4 and 5)."""

import numpy as np
import pytest

from evaluation.metrics import score
from evaluation.metrics.inputs import InvalidInput
from evaluation.metrics.registry import (
    gibberish,
    hold_out,
    long_enough,
    mean_length,
    of_other_images,
    of_other_sources,
    score_held_out,
)

IMAGES = [["a dog runs", "the dog is fast", "a brown dog"], ["a man rides", "a man on a bike"], ["alone"]]


def test_every_caption_is_held_against_the_others_of_its_image() -> None:
    held = hold_out(IMAGES)
    assert (held.alone, held.counts.tolist()) == (1, [3, 2])
    instead = {"other": of_other_images(held, np.random.default_rng(1))}
    assert all(
        text not in held.images[image]
        for text, image in zip(instead["other"], held.image_of.tolist(), strict=True)
    )
    found = score_held_out(held, ["rouge-l"], instead=instead)
    alone = [
        float(score([text], [others], ["rouge-l"]).scores["rouge-l"].images[0])
        for text, others in zip(held.texts, held.references, strict=True)
    ]
    assert found.upper["rouge-l"].tolist() == pytest.approx(alone)
    assert found.lower["other"]["rouge-l"].sum() < found.upper["rouge-l"].sum()
    assert list(found.signatures) == ["rouge-l"]


def test_some_captions_of_each_image_are_drawn() -> None:
    held = hold_out(IMAGES, most=1, generator=np.random.default_rng(2))
    assert held.counts.tolist() == [1, 1]
    assert [len(others) for others in held.references] == [2, 1]


def test_texts_in_their_place_come_from_sources_or_words() -> None:
    held = hold_out(IMAGES)
    generator = np.random.default_rng(3)
    assert set(of_other_sources(held, [["x"], ["y", "z"]], generator)) <= {"x", "y", "z"}
    words = gibberish(held, ["one two two"], 4, generator)
    assert [len(text.split()) for text in words] == [4] * 5
    assert {word for text in words for word in text.split()} == {"one", "two"}
    assert mean_length(["a b c", "a b c d e"]) == 4
    assert mean_length([]) == 1
    kept = long_enough(["the jury said nothing new", "too short", "a b c d e"])
    assert kept == ["the jury said nothing new"]


def test_wrong_input_is_named() -> None:
    held = hold_out(IMAGES)
    generator = np.random.default_rng(4)
    with pytest.raises(InvalidInput, match="most is 0, expected 1 or more"):
        hold_out(IMAGES, most=0)
    with pytest.raises(InvalidInput, match=r"instead\['x'\] has 1 texts, expected 5"):
        score_held_out(held, ["rouge-l"], instead={"x": ["one"]})
    with pytest.raises(InvalidInput, match="there is one image with two captions"):
        of_other_images(hold_out(IMAGES[:1]), generator)
    with pytest.raises(InvalidInput, match="length is 0, expected 1 or more words"):
        gibberish(held, ["one"], 0, generator)
    with pytest.raises(InvalidInput, match="texts holds no word"):
        gibberish(held, ["..."], 3, generator)
