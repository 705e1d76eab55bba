"""The door: what may be handed in, what comes back, and what is said about what cannot be used."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from evaluation.metrics import (
    InvalidInput,
    MetricsError,
    UnknownName,
    bleu,
    comparison,
    score,
)
from evaluation.metrics.registry import METRICS, check_metrics
from evaluation.numeric.signatures import name_given

CANDIDATES = ["a dog runs", "two cats sleep"]
REFERENCES = [["a dog runs fast", "the dog is running"], ["cats asleep"]]
MANY = [[f"animal {number} runs"] for number in range(11)]


def test_a_result_names_everything_that_is_needed_to_repeat_it() -> None:
    found = score(CANDIDATES, REFERENCES, metrics=["cider-d", "bleu-4", "cider-logn", "bleu-pre"])
    assert {name: one.signature for name, one in found.scores.items()} == {
        "cider-d": "cider-d|n:4|sigma:6|tok:ptb|refs:1-2|df:corpus|v:1.0",
        "bleu-4": "bleu-4|tok:ptb|refs:1-2|v:1.0",
        "cider-logn": "cider-logn|n:4|stem:porter-1980|unseen:logn|tok:ptb|refs:1-2|df:corpus|v:1.0",
        "bleu-pre": "bleu-pre|order:stop-first|tok:rouge|refs:1-2|v:1.0",
    }
    assert (found.tokenizer, found.version) == ("ptb", "1.0")


def test_two_document_corpora_never_share_a_signature() -> None:
    one, other = (
        score(CANDIDATES, REFERENCES, ["cider"], document_corpus=corpus).scores["cider"].signature
        for corpus in (MANY, [*MANY[:-1], ["something else"]])
    )
    assert one.startswith("cider|n:4|stem:porter|unseen:dropped|tok:ptb|refs:1-2|df:given-11-")
    assert one != other


@pytest.mark.parametrize(
    ("corpus", "other"),
    [
        ([["a\nb"], ["c"]], [["a", "b"], ["c"]]),
        ([["a", "b"], ["c"]], [["a"], ["b", "c"]]),
        ([["a"], ["\x00b"]], [["a", "\x00"], ["b"]]),
        ([["\ud800"]], [["\ufffd"]]),
    ],
)
def test_texts_cut_elsewhere_are_another_document_corpus(
    corpus: list[list[str]], other: list[list[str]]
) -> None:
    assert name_given(corpus) != name_given(other)


def test_results_cannot_be_changed() -> None:
    found: Any = score(CANDIDATES, REFERENCES, ["bleu-1"])  # written to as its types forbid
    with pytest.raises(FrozenInstanceError):
        found.version = "2"
    with pytest.raises(TypeError):
        found.scores["bleu-1"] = found.scores["bleu-1"]
    with pytest.raises(ValueError, match="read-only"):
        found.scores["bleu-1"].images[0] = 1.0


def test_results_come_through_a_pickle_unchanged_and_still_cannot_be_changed() -> None:
    found = score(CANDIDATES, REFERENCES, ["bleu-1", "cider-d"])
    again = pickle.loads(pickle.dumps(found))
    assert (again.tokenizer, again.version, again.warnings) == (
        found.tokenizer,
        found.version,
        found.warnings,
    )
    for name, one in found.scores.items():
        assert again.scores[name].images.tolist() == one.images.tolist()
        assert (again.scores[name].corpus, again.scores[name].signature) == (one.corpus, one.signature)
        assert not again.scores[name].images.flags.writeable
    with pytest.raises(TypeError):
        again.scores["bleu-1"] = again.scores["cider-d"]


@pytest.mark.large
def test_results_of_many_captions_are_shown_in_few_words() -> None:
    found = score(["a dog"] * 100_000, [["a dog"]] * 100_000)
    assert len(repr(found)) < 2000


def test_threads_that_score_at_once_do_not_disturb_each_other() -> None:
    alone = [score(CANDIDATES, REFERENCES, [name]).scores[name].images.tolist() for name in METRICS]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda name: score(CANDIDATES, REFERENCES, [name]).scores[name], METRICS))
    assert [one.images.tolist() for one in together] == alone


def test_options_may_be_numbers_of_numpy() -> None:
    plain = score(CANDIDATES, REFERENCES, ["cider-d"], n=2, sigma=4.0).scores["cider-d"]
    numbers: dict[str, Any] = {"n": np.int64(2), "sigma": np.float32(4)}
    of_numpy = score(CANDIDATES, REFERENCES, ["cider-d"], **numbers).scores["cider-d"]
    assert of_numpy.signature == plain.signature


def test_a_name_in_capitals_is_understood_in_the_hint() -> None:
    with pytest.raises(UnknownName, match="unknown metric 'BLEU-4'; did you mean 'bleu-4'"):
        score(CANDIDATES, REFERENCES, ["BLEU-4"])


def test_every_declared_metric_scores_every_caption() -> None:
    for name, found in score(CANDIDATES, REFERENCES, list(METRICS)).scores.items():
        assert found.images.shape == (2,), name
        assert found.images.dtype == np.float64, name
        assert np.isfinite(found.images).all(), name
        assert found.signature.startswith(f"{name}|")
        if METRICS[name].statistics == "mean over images":
            assert found.corpus == pytest.approx(found.images.mean()), name


def test_a_bleu_corpus_figure_is_computed_from_summed_counts() -> None:
    found = score(["a b c d", "x"], [["a b c d"], ["y"]], ["bleu-1"], "space").scores["bleu-1"]
    assert found.corpus == pytest.approx(4 / 5)
    assert found.images == pytest.approx([1.0, 0.0], abs=1e-9)


def test_captions_without_any_word_score_nothing_and_break_nothing() -> None:
    found = score(["", " ", "..."], [["a dog"], [""], ["...", ""]], list(METRICS))
    for name, one in found.scores.items():
        assert np.isfinite(one.images).all(), name
        assert one.images[0] == 0.0, name


def test_captions_may_come_as_arrays() -> None:
    candidates: Any = np.array(CANDIDATES)
    references: Any = [np.array(texts) for texts in REFERENCES]
    found = score(candidates, references, ["bleu-1"]).scores["bleu-1"]
    assert found.corpus == score(CANDIDATES, REFERENCES, ["bleu-1"]).scores["bleu-1"].corpus


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["cidre-d"]}, r"unknown metric 'cidre-d'; did you mean 'cider-d'\? known: bleu-1"),
        ({"tokenizer": "pbt"}, r"unknown tokenizer 'pbt'; did you mean 'ptb'\? known: ptb, space"),
        ({"sigmo": 3}, r"unknown option of cider-d 'sigmo'; did you mean 'sigma'\? known: n, scale, sigma"),
        ({"order": "stop-first"}, r"unknown option of cider-d 'order'"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_known_one(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UnknownName, match=message):
        score(CANDIDATES, REFERENCES, **{"metrics": ["cider-d"], **arguments})


def test_metrics_are_checked_before_there_are_texts() -> None:
    check_metrics(["bleu-1", "rouge-1|measure:recall"])
    with pytest.raises(UnknownName, match="unknown metric 'cidre-d'; did you mean 'cider-d'"):
        check_metrics(["bleu-1", "cidre-d"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": "a dog"}, "candidates is a str, expected a sequence of str"),
        ({"candidates": []}, "candidates is empty, expected at least one text"),
        ({"candidates": ["a", None]}, r"candidates\[1\] is a NoneType, expected str"),
        ({"candidates": ["a"]}, "1 candidates but 2 lists of references, expected as many"),
        ({"references": "ab"}, "references is a str, expected a sequence of lists of str"),
        ({"references": [["a"], "b"]}, r"references\[1\] is a str, expected a sequence of str"),
        ({"references": [["a"], []]}, r"references\[1\] is empty, expected at least one text"),
        ({"references": [["a"], ["b", 3]]}, r"references\[1\]\[1\] is a int, expected str"),
        ({"references": [["a"], ["b", ["c"]]]}, r"references\[1\]\[1\] is a list, expected str"),
        ({"references": [["a"], 7]}, r"references\[1\] is a int, expected a sequence of str"),
        ({"document_corpus": []}, "document_corpus is empty, expected a list of references for each image"),
        ({"document_corpus": [["a"], [b"b"]]}, r"document_corpus\[1\]\[0\] is a bytes, expected str"),
        ({"document_corpus": iter([])}, "document_corpus is a list_iterator, expected a sequence of lists"),
        ({"metrics": "cider-d"}, "metrics is the str 'cider-d', expected a list of names"),
        ({"metrics": None}, "metrics is the NoneType None, expected a list of names"),
        ({"metrics": []}, "metrics is empty, expected at least one name"),
        ({"n": 0}, "option n is 0, expected a whole number from 1 to 9"),
        ({"n": True}, "option n is True, expected a whole number from 1 to 9"),
        ({"n": 2.5}, "option n is 2.5, expected a whole number from 1 to 9"),
        ({"sigma": -1}, "option sigma is -1, expected a number from 1e-06 to 1e"),
        ({"sigma": float("nan")}, "option sigma is nan, expected a number from 1e-06 to 1e"),
        ({"scale": float("inf")}, "option scale is inf, expected a number from 1e-06 to 1e"),
        ({"sigma": "wide"}, "option sigma is 'wide', expected a number from 1e-06 to 1e"),
        (
            {"metrics": ["cider"], "stem": "lancaster"},
            "option stem is 'lancaster', expected one of porter, porter-1980",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused_in_one_sentence(arguments: dict[str, Any], message: str) -> None:
    given = {"candidates": CANDIDATES, "references": REFERENCES, "metrics": ["cider-d"], **arguments}
    with pytest.raises(InvalidInput, match=message) as caught:
        score(**given)
    assert isinstance(caught.value, MetricsError)
    assert "\n" not in str(caught.value)


def test_more_words_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MOST_TOKENS", 16)
    assert score(CANDIDATES, REFERENCES, ["cider-d"]).scores["cider-d"].images.size == 2
    with pytest.raises(InvalidInput, match="the captions hold 17 words, expected at most 16 at once"):
        score([*CANDIDATES[:1], "two cats sleep now"], REFERENCES, ["cider-d"])
    monkeypatch.setattr(bleu, "MOST_TOKENS", 31)
    with pytest.raises(InvalidInput, match="a list of references holds 8 words, expected at most 7"):
        score(CANDIDATES, REFERENCES, ["bleu-4"])


def test_a_single_document_is_warned_of_as_every_weight_is_nothing() -> None:
    found = score(["a dog"], [["a dog"]], ["cider-d", "bleu-1"])
    assert found.scores["cider-d"].corpus == 0.0
    assert found.warnings == (
        "cider-d: the document corpus holds one distinct document, so that every n-gram in it weighs 0; "
        "score more images at once or give document_corpus",
    )


def test_a_few_documents_are_warned_of_and_many_are_not() -> None:
    few = score(CANDIDATES, REFERENCES, ["cider"])
    assert few.warnings[0].startswith("cider: document frequencies rest on 2 distinct documents, too few")
    assert score(CANDIDATES, REFERENCES, ["cider"], document_corpus=MANY).warnings == ()
    assert score(CANDIDATES, REFERENCES, ["bleu-1"]).warnings == ()


def test_nobody_is_warned_of_few_documents_where_they_weigh_nothing() -> None:
    found = score(["a dog"], [["a dog"]], ["cider-noidf"], n=2)
    assert found.scores["cider-noidf"].corpus == pytest.approx(1.0)
    assert found.warnings == ()


def test_a_metric_that_is_asked_for_twice_is_warned_of_once() -> None:
    found = score(["a dog"], [["a dog"]], ["cider-d|n:1", "cider-d|n:2"])
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("cider-d: the document corpus")


def test_an_option_holds_for_every_metric_that_has_it() -> None:
    found = score(CANDIDATES, REFERENCES, ["cider", "cider-d", "bleu-1"], document_corpus=MANY, n=1)
    assert "|n:1|" in found.scores["cider"].signature
    assert "|n:1|" in found.scores["cider-d"].signature
