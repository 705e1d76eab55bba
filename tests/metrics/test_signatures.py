"""A score's signature is enough to compute it again, and to notice when it cannot be the same."""

from dataclasses import replace
from typing import Any

import pytest

from evaluation.metrics import BadSignature, InvalidInput, UnknownName, call_of, score
from evaluation.metrics.registry import METRICS
from evaluation.metrics.text.tokens import tokenizer_named
from evaluation.numeric.signatures import parse

CANDIDATES = ["a dog runs", "two cats", "the children's horses jump"]
REFERENCES = [["a dog is running", "dogs run"], ["a cat", "some cats sit"], ["a horse jumps", "children"]]


OPTIONS = [
    (metric.name, option, value)
    for metric in METRICS.values()
    for option, known in metric.options.items()
    if option not in metric.computed
    for value in (known.choices or ((1, 9) if isinstance(known.default, int) else (1.0, 2.5e-1 + known.low)))
]


@pytest.mark.parametrize(("name", "option", "value"), OPTIONS)
def test_every_option_of_every_metric_comes_back_from_its_signature(
    name: str, option: str, value: str | float
) -> None:
    given: dict[str, Any] = {option: value}
    first = score(CANDIDATES, REFERENCES, [name], **given).scores[name]
    again = call_of(first.signature)
    assert again.options[option] == value
    assert again(CANDIDATES, REFERENCES).images.tolist() == first.images.tolist()


def test_a_later_version_of_a_tokenizer_shows_in_signatures() -> None:
    first = tokenizer_named("ptb")
    assert (first.label, replace(first, version="1.1").label) == ("ptb", "ptb-1.1")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_scored_again_from_its_signature(name: str) -> None:
    first = score(CANDIDATES, REFERENCES, [name]).scores[name]
    again = call_of(first.signature)(CANDIDATES, REFERENCES)
    assert (again.signature, again.images.tolist()) == (first.signature, first.images.tolist())


def test_options_tokenizer_and_document_corpus_come_back() -> None:
    corpus = [["a dog"], ["a cat"], ["a horse"]]
    first = score(CANDIDATES, REFERENCES, ["cider-d"], "v15", corpus, n=2, sigma=3.5, scale=1).scores[
        "cider-d"
    ]
    assert first.signature.startswith("cider-d|n:2|sigma:3.5|scale:1|tok:v15|refs:2|df:given-3-")
    again = call_of(first.signature)(CANDIDATES, REFERENCES, corpus)
    assert again.images.tolist() == first.images.tolist()


def test_an_option_that_is_not_shown_was_left_at_its_default() -> None:
    assert call_of("cider-d|n:4|sigma:6|tok:ptb|refs:5|df:corpus|v:1.0").options == {
        "n": 4,
        "sigma": 6.0,
        "scale": 10.0,
    }


def test_raw_cider_d_is_a_tenth_of_what_coco_prints() -> None:
    times_ten = score(CANDIDATES, REFERENCES, ["cider-d"]).scores["cider-d"]
    raw = score(CANDIDATES, REFERENCES, ["cider-d"], scale=1).scores["cider-d"]
    assert raw.images * 10 == pytest.approx(times_ten.images, rel=1e-14)


def test_what_was_done_to_the_captions_before_is_left_to_the_caller() -> None:
    first = score(CANDIDATES, REFERENCES, ["bleu-4"]).scores["bleu-4"]
    noted = str(parse(first.signature).with_field("own", "dropped"))
    assert noted == "bleu-4|tok:ptb|refs:2|own:dropped|v:1.0"
    assert call_of(noted)(CANDIDATES, REFERENCES).images.tolist() == first.images.tolist()


def test_captions_that_cannot_have_given_the_score_are_refused() -> None:
    signature = score(CANDIDATES, REFERENCES, ["cider-d"]).scores["cider-d"].signature
    with pytest.raises(InvalidInput, match=r"give the signature 'cider-d.*refs:1.*expected 'cider-d.*refs:2"):
        call_of(signature)(CANDIDATES, [["a dog"], ["a cat"], ["a horse"]])


@pytest.mark.parametrize(
    ("signature", "error", "reason"),
    [
        ("bleu-4|tok:ptb|refs:5", BadSignature, "is no signature"),
        ("bleu-4|tok:ptb|refs:5|v:0.9", BadSignature, "version 0.9, expected version 1.0"),
        ("blue-4|tok:ptb|refs:5|v:1.0", UnknownName, "did you mean 'bleu-4'"),
        ("bleu-4|tok:ptbb|refs:5|v:1.0", UnknownName, "unknown tokenizer"),
        ("cider-d|n:0|tok:ptb|refs:5|df:corpus|v:1.0", InvalidInput, "option n is 0"),
        ("bleu-4|n:3|tok:ptb|refs:5|v:1.0", BadSignature, "field 'n' that bleu-4 does not know"),
        ("bleu-4|tok:ptb|refs:5|df:corpus|v:1.0", BadSignature, "field 'df' that bleu-4 does not know"),
        ("bleu-4|refs:5|v:1.0", BadSignature, "has no field 'tok', expected one from bleu-4"),
        ("bleu-4|tok:7|refs:5|v:1.0", UnknownName, "unknown tokenizer 7"),
        ("cider-d|tok:ptb|refs:5|v:1.0", BadSignature, "has no field 'df', expected one from cider-d"),
        ("bleu-pre|tok:ptb|refs:5|v:1.0", BadSignature, "has tok:ptb, expected tok:rouge from bleu-pre"),
        (
            "cider|unseen:logn|tok:ptb|refs:5|df:corpus|v:1.0",
            BadSignature,
            "has unseen:logn, expected unseen:dropped from cider",
        ),
    ],
)
def test_a_signature_of_something_else_is_refused_with_the_reason(
    signature: str, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        call_of(signature)


def test_a_metric_may_be_asked_for_several_times_with_options_of_its_own() -> None:
    found = score(CANDIDATES, REFERENCES, ["cider-d", "cider-d|n:1", "cider-d|n:2|scale:1"], sigma=5).scores
    assert [one.signature.partition("|tok")[0] for one in found.values()] == [
        "cider-d|n:4|sigma:5",
        "cider-d|n:1|sigma:5",
        "cider-d|n:2|sigma:5|scale:1",
    ]
    assert (
        found["cider-d|n:1"].corpus
        == score(CANDIDATES, REFERENCES, ["cider-d"], n=1, sigma=5).scores["cider-d"].corpus
    )


@pytest.mark.parametrize(
    ("metric", "error", "reason"),
    [
        ("cider-d|m:1", UnknownName, "unknown option of cider-d 'm'"),
        ("cider-d|n", InvalidInput, "metric 'cider-d|n' is no name"),
        ("cider-d|n:many", InvalidInput, "option n is 'many'"),
    ],
)
def test_options_of_a_metrics_own_are_checked_as_all_are(
    metric: str, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason.replace("|", r"\|")):
        score(CANDIDATES, REFERENCES, [metric])
