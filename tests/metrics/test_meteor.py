"""METEOR beside the official program: scores, statistics, and what it does to words.

tests/golden/meteor.json was made by the jar of METEOR 1.5 (its `source` says how) from made-up captions.
"""

from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics import InvalidInput, MetricScore, MissingTables, UnknownName, score
from evaluation.metrics.comparison import Comparison, View
from evaluation.metrics.meteor.alignment import STAGE_CHOICES
from evaluation.metrics.meteor.scoring import (
    meteor_scores,
    meteor_statistics,
    normalised,
    normalised_line,
    pooled,
)
from evaluation.metrics.meteor.tables import DATA, NOTHING, Tables
from evaluation.metrics.text.stemming import snowball_stems
from evaluation.metrics.text.tokens import encode, tokenizer_named
from tests.metrics.reading import GOLDEN, Task, coco, expected_images, expert_pairs, read_json, real, small

OFFICIAL = read_json(GOLDEN / "meteor.json")
SPACE = View(tokenizer_named("space"))


def meteor(
    candidates: list[str], references: list[list[str]], tokenizer: str = "ptb", **options: str
) -> MetricScore:
    return score(candidates, references, ["meteor"], tokenizer, **options).scores["meteor"]


def agreeing(task: Task) -> MetricScore:
    """Scores that are those of the evaluation."""
    found, expected = meteor(task.captions, task.references), task.expected["meteor"]
    np.testing.assert_allclose(found.images, expected_images(expected, task.images), rtol=0, atol=1e-14)
    assert found.corpus == pytest.approx(expected["corpus"], rel=0, abs=1e-14)
    return found


def official_captions() -> tuple[list[str], list[list[str]]]:
    """Candidates with several references each."""
    captions = OFFICIAL["references"]["captions"]
    return [ours for ours, _ in captions], [theirs for _, theirs in captions]


@pytest.mark.large
@pytest.mark.parametrize("stages", STAGE_CHOICES)
def test_statistics_and_scores_are_those_of_the_program(meteor_tables: Tables, stages: str) -> None:
    comparison = Comparison.of(
        [ours for ours, _ in OFFICIAL["pairs"]], [[theirs] for _, theirs in OFFICIAL["pairs"]]
    )
    found = meteor_statistics(comparison, SPACE, meteor_tables, STAGE_CHOICES.index(stages) + 1)
    assert found.counts.tolist() == OFFICIAL["statistics"][stages]
    *each, corpus = OFFICIAL["scores"][stages]
    np.testing.assert_allclose(meteor_scores(found), each, rtol=0, atol=1e-14)
    np.testing.assert_allclose(meteor_scores(pooled(found)), [corpus], rtol=0, atol=1e-14)


@pytest.mark.usefixtures("meteor_tables")
def test_the_best_of_several_references_counts_as_in_the_program() -> None:
    *each, corpus = OFFICIAL["references"]["scores"]
    found = meteor(*official_captions(), tokenizer="space")
    np.testing.assert_allclose(found.images, each, rtol=0, atol=1e-14)
    assert found.corpus == pytest.approx(corpus, rel=0, abs=1e-14)


def test_without_tables_equal_words_and_stems_count_and_the_signature_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program says the same when it is given two stages and an empty list of function words."""
    monkeypatch.setenv(DATA, "none")
    *each, corpus = OFFICIAL["references"]["without_tables"]
    found = meteor(*official_captions(), tokenizer="space", stages="exact-stem")
    np.testing.assert_allclose(found.images, each, rtol=0, atol=1e-14)
    assert found.corpus == pytest.approx(corpus, rel=0, abs=1e-14)
    assert found.signature == "meteor|stages:exact-stem|data:none|tok:space|refs:1-4|v:1.0"


def test_without_tables_meteor_is_refused_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA, "none")
    with pytest.raises(
        MissingTables, match=r"requirements-meteor.txt.*ask for meteor\|stages:exact-stem, a shorter"
    ):
        score(["a dog"], [["the dog"]], ["bleu-4", "meteor"])
    with pytest.raises(MissingTables, match="needs its synonym table"):
        meteor(["a dog"], [["a dog"]], stages="exact-stem-synonym")
    assert score(["a dog"], [["the dog"]], ["meteor|stages:exact-stem"]).warnings == ()


@pytest.mark.parametrize("system", ["close", "vague", "nasty"])
@pytest.mark.usefixtures("meteor_tables")
def test_raw_captions_score_as_in_the_coco_evaluation(system: str) -> None:
    found = agreeing(small(system))
    assert found.signature == (
        "meteor|stages:exact-stem-synonym-paraphrase|data:7bb15664|tok:ptb|refs:5|v:1.0"
    )


@pytest.mark.parametrize("system", ["nearest", "random"])
@pytest.mark.usefixtures("meteor_tables")
def test_real_captions_score_as_in_the_coco_evaluation(shared: Path, system: str) -> None:
    agreeing(real(shared, system))


@pytest.mark.parametrize("system", ["human", "system-1", "system-2", "system-3"])
@pytest.mark.usefixtures("meteor_tables")
def test_the_coco_systems_score_as_in_the_coco_evaluation(shared: Path, system: str) -> None:
    task = coco(shared, system)
    # The evaluation's tokenizer reads all captions as one text, and parts the full stop of one candidate from its
    # last letter because of the caption that comes next. METEOR alone notices.
    captions = [text.replace("new Nintendo Wii U.", "new Nintendo Wii U") for text in task.captions]
    found = meteor(captions, task.references)
    assert found.corpus == pytest.approx(task.expected["corpus"]["meteor"], rel=0, abs=1e-12)
    ours = dict(zip(task.images, found.images, strict=True))
    for image, values in task.expected["images"].items():
        assert ours[image] == pytest.approx(values["meteor"], rel=0, abs=1e-10), image


@pytest.mark.usefixtures("meteor_tables")
def test_flickr8ks_expert_pairs_score_as_in_the_coco_evaluation(shared: Path) -> None:
    task = expert_pairs(shared)
    expected = np.array(task.expected["meteor"], dtype=np.float64)
    np.testing.assert_allclose(meteor(task.captions, task.references).images, expected, rtol=1e-9, atol=1e-13)


def test_stems_are_those_of_the_program() -> None:
    assert (
        dict(zip(OFFICIAL["stems"], snowball_stems(list(OFFICIAL["stems"])), strict=True))
        == (OFFICIAL["stems"])
    )


def program_words(line: str) -> list[str]:
    """What the program makes of a normalised line: lower case, cut at blanks."""
    return line.lower().split(" ") if line else []


def test_lines_are_normalised_as_by_the_program(meteor_tables: Tables) -> None:
    for line, expected in OFFICIAL["words"].items():
        assert normalised_line(line, meteor_tables.abbreviations) == program_words(expected), line


@pytest.mark.parametrize("known", [{}, {"No": True, "Mr": False}])
def test_words_are_normalised_run_by_run_as_line_by_line(known: dict[str, bool]) -> None:
    tokenizer = tokenizer_named("ptb")
    raw = encode([*OFFICIAL["words"], "1 1/2 dogs", "no run here", ""], tokenizer)
    found = normalised(raw, known)
    for text in range(raw.starts.size - 1):
        line = " ".join(raw.vocabulary[word] for word in raw.tokens[raw.starts[text] : raw.starts[text + 1]])
        words = found.tokens[found.starts[text] : found.starts[text + 1]]
        assert [found.vocabulary[word] for word in words] == normalised_line(line, known), line


def test_an_abbreviation_keeps_its_full_stop_where_the_list_says_so() -> None:
    known = {"No": True, "Mr": False}
    assert normalised_line("No. 5", known) == ["no.", "5"]
    assert normalised_line("No. Five", known) == ["no", ".", "five"]
    assert normalised_line("Mr. Smith", known) == ["mr.", "smith"]
    assert normalised_line("Dr. Smith", known) == ["dr", ".", "smith"]
    assert normalised_line("inc. and", known) == ["inc.", "and"]


@pytest.mark.parametrize(
    ("candidate", "references", "expected"),
    [
        ("", ["a dog"], 0.0),
        ("a dog", [""], 0.0),
        ("", [""], 0.0),
        ("... !!", ["?"], 0.0),
        ("a dog", ["a dog"], 1.0),
        ("שלום עולם", ["שלום עולם"], 1.0),
        ("😀 dog", ["😀 dog", "cat"], 1.0),
        ("word " * 10_000, ["word " * 10_000], 1.0),
        (" ".join(f"w{n}" for n in range(10_000)), ["nothing of it"], 0.0),
    ],
)
def test_nasty_captions_have_plain_scores(
    monkeypatch: pytest.MonkeyPatch, candidate: str, references: list[str], expected: float
) -> None:
    monkeypatch.setenv(DATA, "none")
    found = meteor([candidate], [references], stages="exact-stem")
    assert found.images.tolist() == pytest.approx([expected], rel=1e-15)
    assert found.corpus == pytest.approx(expected, rel=1e-15)


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(InvalidInput, match="option stages is 'stem', expected one of all, exact, exact-stem"):
        meteor(["a dog"], [["a dog"]], stages="stem")
    with pytest.raises(UnknownName, match="did you mean 'stages'"):
        meteor(["a dog"], [["a dog"]], stage="exact")


def test_a_score_can_be_worked_out_by_hand() -> None:
    """Two of three words match in one chunk: P = R = 2/3, Pen = 0.6 (1/2) ^ 0.2."""
    comparison = Comparison.of(["a small dog"], [["a small cat"]])
    found = meteor_scores(meteor_statistics(comparison, SPACE, NOTHING, 2))
    assert found[0] == pytest.approx(2 / 3 * (1 - 0.6 * 0.5**0.2), rel=1e-15)
