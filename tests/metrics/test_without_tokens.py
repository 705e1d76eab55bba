"""Texts in which a tokenizer finds nothing match nothing, and that is said."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from quorum.metrics import score

METRICS = (
    "bleu-1", "bleu-4", "bleu-pre", "rouge-l", "rouge-1", "rouge-2", "rouge-w", "rouge-s4", "rouge-su4", "rouge-l-155",
    "rouge-h13", "cider", "cider-d", "meteor|stages:exact-stem",
)  # fmt: skip
ASCII_ALONE = "tokenizer rouge finds no token in {} of 2 captions and {} of 2 references; these match nothing"


@pytest.mark.parametrize("metric", METRICS)
def test_two_texts_without_tokens_score_nothing(metric: str) -> None:
    found = score(["... !", "a dog runs on"], [["!"], ["a dog runs on"]], [metric])
    assert found.scores[metric].images[0] == 0
    assert "finds no token in 1 of 2 captions and 1 of 2 references" in " ".join(found.warnings)


@pytest.mark.parametrize("text", ["一只狗在跑", "ένας σκύλος τρέχει", "كلب يركض"])
def test_a_script_that_the_tokenizer_does_not_know_is_told(text: str) -> None:
    captions, references = [text, "a dog runs"], [[text], ["a dog runs"]]
    found = score(captions, references, ["rouge-l", "bleu-1"], tokenizer="rouge")
    assert found.scores["rouge-l"].images.tolist() == [0, 1]
    assert any(warning.startswith(ASCII_ALONE.format(1, 1)) for warning in found.warnings)
    spaced = score(captions, references, ["rouge-l"], tokenizer="space")
    assert spaced.scores["rouge-l"].images.tolist() == [1, 1]
    assert spaced.warnings == ()


def test_the_command_says_it(tmp_path: Path) -> None:
    candidates, references = tmp_path / "candidates.json", tmp_path / "references.json"
    candidates.write_text(json.dumps({"a": "一只狗", "b": "a dog"}))
    references.write_text(json.dumps({"a": ["一只狗"], "b": ["a dog"]}))
    aside = StringIO()
    call_command(
        "score", candidates=candidates, references=references, metrics="rouge-1", tokenizer="rouge",
        stdout=StringIO(), stderr=aside,
    )  # fmt: skip
    assert ASCII_ALONE.format(1, 1) in aside.getvalue()


def test_an_empty_caption_is_told_as_such_alone() -> None:
    found = score(["", "a dog"], [["a cat"], ["a dog"]], ["rouge-l"])
    assert found.warnings == ("1 empty caption scores 0",)
