"""Scores of captions: checks of input, captions left out, metrics of packages, and signatures that repeat a call."""

import pickle
import re
import runpy
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorum.metrics import (
    BadSignature,
    InvalidInput,
    MetricsError,
    PackageFailed,
    UnknownName,
    bleu,
    call_of,
    score,
)
from quorum.metrics import content_baselines as content
from quorum.metrics import keyword_baselines as keywords
from quorum.metrics.comparison import reference_comparison
from quorum.metrics.held_out import (
    draw_from_other_images,
    draw_from_other_sources,
    draw_gibberish,
    hold_out,
    mean_length,
    score_held_out,
    select_long_texts,
)
from quorum.metrics.registry import (
    METRICS,
    check_metrics,
    metric_named,
    package_metric_names,
    package_metrics,
)
from quorum.metrics.text.tokenizers import tokenizer_named
from quorum.numeric.signatures import parse, placeholder_of_texts
from tests.refusals import refuses

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
    assert placeholder_of_texts(corpus) != placeholder_of_texts(other)


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
    with refuses(UnknownName, "unknown metric 'BLEU-4", "bleu-4"):
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
        ({"metrics": ["cidre-d"]}, "cidre-d.*cider-d.*bleu-1"),
        ({"tokenizer": "pbt"}, "pbt.*ptb.*space"),
        ({"sigmo": 3}, "unknown.*sigmo.*sigma.*scale"),
        ({"order": "stop-first"}, "unknown.*order"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_known_one(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UnknownName, match=message):
        score(CANDIDATES, REFERENCES, **{"metrics": ["cider-d"], **arguments})


def test_metrics_are_checked_before_there_are_texts() -> None:
    check_metrics(["bleu-1", "rouge-1|measure:recall"])
    with refuses(UnknownName, "cidre-d", "cider-d"):
        check_metrics(["bleu-1", "cidre-d"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": "a dog"}, "candidates.*str"),
        ({"candidates": []}, "candidates"),
        ({"candidates": ["a", None]}, r"candidates.*\b1\b.*NoneType"),
        ({"candidates": ["a"]}, r"\b1\b.*\b2\b"),
        ({"references": "ab"}, "references.*str"),
        ({"references": [["a"], "b"]}, r"references\[1\].*str"),
        ({"references": [["a"], []]}, r"references\[1\]"),
        ({"references": [["a"], ["b", 3]]}, r"references.*1\]\[1.*int"),
        ({"references": [["a"], ["b", ["c"]]]}, r"references.*1\]\[1.*list"),
        ({"references": [["a"], 7]}, r"references\[1\].*int"),
        ({"document_corpus": []}, "document_corpus"),
        ({"document_corpus": [["a"], [b"b"]]}, r"document_corpus\[1\]\[0\].*bytes"),
        ({"document_corpus": iter([])}, "document_corpus.*list_iterator"),
        ({"metrics": "cider-d"}, "str.*cider-d"),
        ({"metrics": None}, "metrics.*NoneType"),
        ({"metrics": []}, "metrics is empty"),
        ({"n": 0}, "option n is 0, expected a whole number from 1 to 9"),
        ({"n": True}, r"\bn\b.*True.*\b9\b"),
        ({"n": 2.5}, r"\bn\b.*2\.5.*\b9\b"),
        ({"sigma": -1}, r"sigma.*-1.*\b1e\b.*\b06\b"),
        ({"sigma": float("nan")}, r"sigma.*nan.*\b1e\b.*\b06\b"),
        ({"scale": float("inf")}, r"scale.*inf.*\b1e\b.*\b06\b"),
        ({"sigma": "wide"}, r"sigma.*wide.*\b1e\b.*\b06\b"),
        (
            {"metrics": ["cider"], "stem": "lancaster"},
            "stem.*lancaster.*porter-1980",
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
    monkeypatch.setattr(reference_comparison, "MAX_TOKENS", 16)
    assert score(CANDIDATES, REFERENCES, ["cider-d"]).scores["cider-d"].images.size == 2
    with refuses(InvalidInput, "captions hold", "17", "16"):
        score([*CANDIDATES[:1], "two cats sleep now"], REFERENCES, ["cider-d"])
    monkeypatch.setattr(bleu, "MAX_TOKENS", 31)
    with refuses(InvalidInput, "references holds", "8", "7"):
        score(CANDIDATES, REFERENCES, ["bleu-4"])


def test_a_single_document_is_warned_of_as_every_weight_is_nothing() -> None:
    found = score(["a dog"], [["a dog"]], ["cider-d", "bleu-1"])
    assert found.scores["cider-d"].corpus == 0.0
    assert found.warnings == (
        "cider-d: the document corpus holds one distinct document, so that every n-gram in it weighs 0; "
        "score more items at once or give document_corpus",
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


PAGE = Path(__file__).resolve().parents[2] / "docs/content-and-keywords.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def test_the_recipes_of_content_selection_and_keywords_score_every_measure_and_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lst_test.gold").write_text("tree.n 1 :: oak 2;elm 1;\n", encoding="utf-8")
    (tmp_path / "system.oot").write_text("tree.n 1 ::: oak;elm\n", encoding="utf-8")
    (tmp_path / "gold.jsonl").write_text('{"image": "a.jpg", "stems": {"dog": 2}}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.py").write_text("\n".join(BLOCK.findall(PAGE.read_text("utf-8"))), encoding="utf-8")
    runpy.run_path("page.py", {"guesses": {"a.jpg": ["Dogs"]}})
    table = {line.split("|")[0]: float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()}
    assert set(table) == {*content.CALLS, *keywords.CALLS}
    assert all(0 <= figure <= 1 for figure in table.values())


IMAGES = [["a dog runs", "the dog is fast", "a brown dog"], ["a man rides", "a man on a bike"], ["alone"]]


def test_every_caption_is_held_against_the_others_of_its_image() -> None:
    held = hold_out(IMAGES)
    assert (held.single_caption_images, held.counts.tolist()) == (1, [3, 2])
    replacements = {"other": draw_from_other_images(held, np.random.default_rng(1))}
    assert all(
        text not in held.images[image]
        for text, image in zip(replacements["other"], held.image_of.tolist(), strict=True)
    )
    found = score_held_out(held, ["rouge-l"], replacements=replacements)
    alone = [
        float(score([text], [others], ["rouge-l"]).scores["rouge-l"].images[0])
        for text, others in zip(held.texts, held.references, strict=True)
    ]
    assert found.caption_scores["rouge-l"].tolist() == pytest.approx(alone)
    assert found.replacement_scores["other"]["rouge-l"].sum() < found.caption_scores["rouge-l"].sum()
    assert list(found.signatures) == ["rouge-l"]


def test_some_captions_of_each_image_are_drawn() -> None:
    held = hold_out(IMAGES, max_per_image=1, generator=np.random.default_rng(2))
    assert held.counts.tolist() == [1, 1]
    assert [len(others) for others in held.references] == [2, 1]


def test_texts_in_their_place_come_from_sources_or_words() -> None:
    held = hold_out(IMAGES)
    generator = np.random.default_rng(3)
    assert set(draw_from_other_sources(held, [["x"], ["y", "z"]], generator)) <= {"x", "y", "z"}
    words = draw_gibberish(held, ["one two two"], 4, generator)
    assert [len(text.split()) for text in words] == [4] * 5
    assert {word for text in words for word in text.split()} == {"one", "two"}
    assert mean_length(["a b c", "a b c d e"]) == 4
    assert mean_length([]) == 1
    kept = select_long_texts(["the jury said nothing new", "too short", "a b c d e"])
    assert kept == ["the jury said nothing new"]


def test_wrong_input_is_named() -> None:
    held = hold_out(IMAGES)
    generator = np.random.default_rng(4)
    with refuses(InvalidInput, "0"):
        hold_out(IMAGES, max_per_image=0)
    with refuses(InvalidInput, "x", "1", "5"):
        score_held_out(held, ["rouge-l"], replacements={"x": ["one"]})
    with pytest.raises(InvalidInput, match="two captions"):
        draw_from_other_images(hold_out(IMAGES[:1]), generator)
    with refuses(InvalidInput, "length", "0"):
        draw_gibberish(held, ["one"], 0, generator)
    with pytest.raises(InvalidInput, match="texts holds"):
        draw_gibberish(held, ["..."], 3, generator)


# The whole of a package: F of character trigrams with the best reference, a small relative of chrF (Popović 2015).
MODULE = """
from quorum.metrics.registry import Option, text_metric


def grams(text, n):
    return {text[start : start + n] for start in range(len(text) - n + 1)}


def overlap(candidates, references, settings):
    n = settings["n"]
    scores = []
    for candidate, own in zip(candidates, references, strict=True):
        found = grams(candidate, n)
        best = 0.0
        for reference in own:
            wanted = grams(reference, n)
            if found and wanted:
                best = max(best, 2 * len(found & wanted) / (len(found) + len(wanted)))
        scores.append(best)
    return scores


def inverse_lengths(candidates, references, settings):
    return [1 / len(candidate) for candidate in candidates]


def failing(candidates, references, settings):
    return 1 / 0


metric = text_metric("trigrams", "F of character n-grams", overlap, options={"n": Option(3, low=1, high=9)})
inverse = text_metric("inverse", "one over the length", inverse_lengths)
broken = text_metric("broken", "divides by zero", failing)
short = text_metric("short", "forgets a caption", lambda *given: [1.0])
refused = text_metric("refused", "asks for an option", lambda *given: metric.settings({"n": 0}))
other = "no metric"
"""

POINTS = """[quorum.metrics]
trigrams = trigram_metric:metric
inverse = trigram_metric:inverse
broken = trigram_metric:broken
short = trigram_metric:short
refused = trigram_metric:refused
other = trigram_metric:other
renamed = trigram_metric:metric
absent = trigram_metric_absent:metric
bleu-1 = trigram_metric:metric
"""

SCORED, SCORED_AGAINST = ["a dog runs", "xyz"], [["a dog ran", "the cat"], ["abc"]]


def install(folder: Path, name: str, version: str, points: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "trigram_metric.py").write_text(MODULE)
    install(tmp_path, "quorum-trigrams", "0.2", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "trigram_metric", raising=False)
    return tmp_path


def test_a_package_s_metric_gets_no_empty_candidate_which_scores_0(package: Path) -> None:
    found = score(["dog", "", "a dog", " "], [["a"], ["b"], ["c"], ["d"]], ["inverse"])
    assert found.scores["inverse"].images.tolist() == [1 / 3, 0, 1 / 5, 0]
    assert found.scores["inverse"].corpus == pytest.approx((1 / 3 + 1 / 5) / 4)
    assert found.warnings == ("2 empty captions score 0",)
    assert score(["", ""], [["a"], ["b"]], ["inverse"]).scores["inverse"].images.tolist() == [0, 0]


def test_a_package_s_metric_is_scored_and_signed_with_its_version(package: Path) -> None:
    assert "trigram_metric" not in sys.modules
    assert "trigrams" in package_metrics()
    assert "trigram_metric" not in sys.modules
    found = score(SCORED, SCORED_AGAINST, ["trigrams", "trigrams|n:2", "bleu-1"])
    # Of 8 and 7 trigrams of "a dog runs" and "a dog ran" five are shared.
    assert found.scores["trigrams"].images.tolist() == [2 * 5 / (8 + 7), 0]
    assert found.scores["trigrams"].corpus == pytest.approx(1 / 3)
    assert found.scores["trigrams"].signature == "trigrams|n:3|package:quorum-trigrams-0.2|refs:1-2|v:1.0"
    assert found.scores["trigrams|n:2"].signature.startswith("trigrams|n:2|package:quorum-trigrams-0.2|")
    # A built-in name stays Quorum's.
    assert found.scores["bleu-1"].signature.startswith("bleu-1|tok:ptb|")


def test_its_signature_leads_back_to_the_call_and_refuses_another_version(package: Path) -> None:
    signature = "trigrams|n:2|package:quorum-trigrams-0.2|refs:1-2|v:1.0"
    again = call_of(signature)(SCORED, SCORED_AGAINST)
    assert again.signature == signature
    assert np.array_equal(
        again.images, score(SCORED, SCORED_AGAINST, ["trigrams|n:2"]).scores["trigrams|n:2"].images
    )
    with refuses(BadSignature, "package", "quorum-trigrams-0.1", "quorum-trigrams-0.2"):
        call_of(signature.replace("0.2", "0.1"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "absent",
            r"absent.*quorum-trigrams-0\.2.*ModuleNotFoundError",
        ),
        (
            "other",
            r"quorum-trigrams-0\.2.*trigram_metric:other",
        ),
        ("renamed", r"renamed.*quorum-trigrams-0\.2.*trigram_metric:metric"),
        ("broken", "broken.*ZeroDivisionError"),
        ("short", r"short.*\b2\b"),
    ],
)
def test_what_is_wrong_with_a_package_is_said_in_a_sentence(package: Path, name: str, words: str) -> None:
    with pytest.raises(PackageFailed, match=words):
        score(SCORED, SCORED_AGAINST, [name])


def test_names_are_unknown_options_are_checked_and_two_packages_may_not_share_a_name(package: Path) -> None:
    with refuses(UnknownName, "trigrams"):
        metric_named("trigram")
    with refuses(ValueError, "n", "0", "9"):
        score(SCORED, SCORED_AGAINST, ["refused"])
    install(package, "quorum-grams", "1.0", "[quorum.metrics]\ntrigrams = trigram_metric:metric\n")
    with refuses(PackageFailed, "quorum-grams-1.0", "quorum-trigrams-0.2"):
        package_metrics()
    assert package_metric_names() == []


SIGNED = ["a dog runs", "two cats", "the children's horses jump"]
SIGNED_AGAINST = [["a dog is running", "dogs run"], ["a cat", "some cats sit"], ["a horse jumps", "children"]]

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
    first = score(SIGNED, SIGNED_AGAINST, [name], **given).scores[name]
    again = call_of(first.signature)
    assert again.options[option] == value
    assert again(SIGNED, SIGNED_AGAINST).images.tolist() == first.images.tolist()


def test_a_later_version_of_a_tokenizer_shows_in_signatures() -> None:
    first = tokenizer_named("ptb")
    assert (first.label, replace(first, version="1.1").label) == ("ptb", "ptb-1.1")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_scored_again_from_its_signature(name: str) -> None:
    first = score(SIGNED, SIGNED_AGAINST, [name]).scores[name]
    again = call_of(first.signature)(SIGNED, SIGNED_AGAINST)
    assert (again.signature, again.images.tolist()) == (first.signature, first.images.tolist())


def test_options_tokenizer_and_document_corpus_come_back() -> None:
    corpus = [["a dog"], ["a cat"], ["a horse"]]
    first = score(SIGNED, SIGNED_AGAINST, ["cider-d"], "v15", corpus, n=2, sigma=3.5, scale=1).scores[
        "cider-d"
    ]
    assert first.signature.startswith("cider-d|n:2|sigma:3.5|scale:1|tok:v15|refs:2|df:given-3-")
    again = call_of(first.signature)(SIGNED, SIGNED_AGAINST, corpus)
    assert again.images.tolist() == first.images.tolist()


def test_an_option_that_is_not_shown_was_left_at_its_default() -> None:
    assert call_of("cider-d|n:4|sigma:6|tok:ptb|refs:5|df:corpus|v:1.0").options == {
        "n": 4,
        "sigma": 6.0,
        "scale": 10.0,
    }


def test_raw_cider_d_is_a_tenth_of_what_coco_prints() -> None:
    times_ten = score(SIGNED, SIGNED_AGAINST, ["cider-d"]).scores["cider-d"]
    raw = score(SIGNED, SIGNED_AGAINST, ["cider-d"], scale=1).scores["cider-d"]
    assert raw.images * 10 == pytest.approx(times_ten.images, rel=1e-14)


def test_what_was_done_to_the_captions_before_is_left_to_the_caller() -> None:
    first = score(SIGNED, SIGNED_AGAINST, ["bleu-4"]).scores["bleu-4"]
    noted = str(parse(first.signature).with_field("own", "dropped"))
    assert noted == "bleu-4|tok:ptb|refs:2|own:dropped|v:1.0"
    assert call_of(noted)(SIGNED, SIGNED_AGAINST).images.tolist() == first.images.tolist()


def test_captions_that_cannot_have_given_the_score_are_refused() -> None:
    signature = score(SIGNED, SIGNED_AGAINST, ["cider-d"]).scores["cider-d"].signature
    with pytest.raises(InvalidInput, match="signature"):
        call_of(signature)(SIGNED, [["a dog"], ["a cat"], ["a horse"]])


@pytest.mark.parametrize(
    ("signature", "error", "reason"),
    [
        ("bleu-4|tok:ptb|refs:5", BadSignature, "is no signature"),
        ("bleu-4|tok:ptb|refs:5|v:0.9", BadSignature, "version 0.9, expected version 1.0"),
        ("blue-4|tok:ptb|refs:5|v:1.0", UnknownName, "bleu-4"),
        ("bleu-4|tok:ptbb|refs:5|v:1.0", UnknownName, "unknown tokenizer"),
        ("cider-d|n:0|tok:ptb|refs:5|df:corpus|v:1.0", InvalidInput, "option n is 0"),
        ("bleu-4|n:3|tok:ptb|refs:5|v:1.0", BadSignature, r"\bn\b.*bleu-4"),
        ("bleu-4|tok:ptb|refs:5|df:corpus|v:1.0", BadSignature, r"\bdf\b.*bleu-4"),
        ("bleu-4|refs:5|v:1.0", BadSignature, "tok.*bleu-4"),
        ("bleu-4|tok:7|refs:5|v:1.0", UnknownName, "unknown tokenizer 7"),
        ("cider-d|tok:ptb|refs:5|v:1.0", BadSignature, r"\bdf\b.*cider-d"),
        ("bleu-pre|tok:ptb|refs:5|v:1.0", BadSignature, "tok.*ptb.*rouge.*bleu-pre"),
        (
            "cider|unseen:logn|tok:ptb|refs:5|df:corpus|v:1.0",
            BadSignature,
            "unseen.*logn.*dropped.*cider",
        ),
    ],
)
def test_a_signature_of_something_else_is_refused_with_the_reason(
    signature: str, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        call_of(signature)


def test_a_metric_may_be_asked_for_several_times_with_options_of_its_own() -> None:
    found = score(SIGNED, SIGNED_AGAINST, ["cider-d", "cider-d|n:1", "cider-d|n:2|scale:1"], sigma=5).scores
    assert [one.signature.partition("|tok")[0] for one in found.values()] == [
        "cider-d|n:4|sigma:5",
        "cider-d|n:1|sigma:5",
        "cider-d|n:2|sigma:5|scale:1",
    ]
    assert (
        found["cider-d|n:1"].corpus
        == score(SIGNED, SIGNED_AGAINST, ["cider-d"], n=1, sigma=5).scores["cider-d"].corpus
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
        score(SIGNED, SIGNED_AGAINST, [metric])
