"""References that are cut into words once give what scoring from texts gives."""

from collections.abc import Iterable

import numpy as np
import pytest

from quorum.metrics import InvalidInput, score
from quorum.metrics.comparison import prepared_texts, reference_comparison
from quorum.metrics.registry import PreparedReferences
from quorum.metrics.text.tokenizers import Tokenizer
from quorum.metrics.text.tokens import TokenizedTexts, encode_texts
from tests.refusals import refuses

REFERENCES = [
    ["a dog runs over grass", "the dog is running"],
    ["two men fish from a pier", "men fishing", "a pier with two men"],
    ["a red car on a street"],
]
CANDIDATES = ["a brown dog runs", "two men on a pier", "cars in an unseen city"]
METRICS = ["cider-d", "cider", "bleu-4", "rouge-l", "rouge-1", "bleu-pre"]


def test_scores_are_those_from_texts_whatever_was_scored_before() -> None:
    prepared = PreparedReferences.from_references(REFERENCES, METRICS)
    for turn in (CANDIDATES, CANDIDATES[::-1], CANDIDATES):
        ours, plain = prepared.score(turn), score(turn, REFERENCES, METRICS)
        for name in METRICS:
            np.testing.assert_allclose(
                ours.scores[name].images, plain.scores[name].images, rtol=1e-12, atol=1e-15
            )
            assert ours.scores[name].corpus == pytest.approx(plain.scores[name].corpus, rel=1e-12)
            assert ours.scores[name].signature == plain.scores[name].signature


def test_another_number_of_candidates_than_of_lists_is_refused() -> None:
    with refuses(InvalidInput, "candidates", "2", "3"):
        PreparedReferences.from_references(REFERENCES, ["bleu-4"]).score(CANDIDATES[:2])


def test_references_are_not_cut_into_words_again(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = PreparedReferences.from_references(REFERENCES, METRICS)
    texts_cut: list[str] = []

    def record(texts: Iterable[str], tokenizer: Tokenizer) -> TokenizedTexts:
        texts_cut.extend(texts := list(texts))
        return encode_texts(texts, tokenizer)

    for module in (prepared_texts, reference_comparison):
        monkeypatch.setattr(module, "encode_texts", record)
    prepared.score(CANDIDATES)
    assert set(texts_cut) == set(CANDIDATES)
