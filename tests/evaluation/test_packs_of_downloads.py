"""Packs that run on a user's own download: made-up files in the layout of THumB and of AltTest's MT-Bench."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy.stats import pearsonr, ttest_1samp

from evaluation.metrics import score

SYSTEMS = ("Up-Down", "VinVL-base", "Human")
MODELS = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")


def replicate(pack: str, data: Path) -> list[dict[str, Any]]:
    output = data / "out"
    call_command("replicate", pack, data=data, output=output)
    verdicts: list[dict[str, Any]] = json.loads((output / "verdicts.json").read_text(encoding="utf-8"))
    return verdicts


@pytest.fixture
def thumb(tmp_path: Path) -> list[dict[str, Any]]:
    """Twelve images, three systems, grades whose means are half points, four references."""
    rng = np.random.default_rng(5)
    terms = ["a", "dog", "man", "runs", "by", "the", "red", "lake", "tree's", "U.S.", "3.5", "well-known"]

    def text() -> str:
        return " ".join(rng.choice(terms, size=int(rng.integers(5, 10)))).capitalize() + "."

    images = [str(number) for number in range(12)]
    rows = []
    for image in images:
        for system in SYSTEMS:
            precision, recall = (float(grade) for grade in rng.integers(1, 6, 2))
            rows.append(
                {"SYS": system, "seg_id": image, "set_id": 1, "hyp": text(), "image": f"{image}.jpg", "P": precision,
                 "R": recall, "Fl": -0.0, "Inc": -0.0, "Con": -0.0, "human_score": (precision + recall) / 2}
            )  # fmt: skip
    folder = tmp_path / "mscoco"
    folder.mkdir()
    references = [{"seg_id": image, "set_id": 1, "refs": [text() for _ in range(4)]} for image in images]
    for name, lines in (("mscoco_THumB-1.0.jsonl", rows), ("mscoco_references.json", references)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    of_image = {line["seg_id"]: line["refs"] for line in references}
    return [row | {"references": of_image[row["seg_id"]]} for row in rows]


def test_thumb_correlates_metrics_with_and_without_people_s_captions(
    thumb: list[dict[str, Any]], tmp_path: Path
) -> None:
    ours = {verdict["number"]: verdict["ours"] for verdict in replicate("thumb", tmp_path)}
    assert len(ours) == 18
    documents = list({row["seg_id"]: row["references"] for row in thumb}.values())
    scored = score(
        [row["hyp"] for row in thumb],
        [row["references"] for row in thumb],
        ["cider-d", "rouge-l|beta:1"],
        document_corpus=documents,
    ).scores

    # mteval-v13a's words, by hand: "3.5" and "tree's" stay whole, "U.S." and the last point come apart
    def tokenize(text: str) -> str:
        return text.replace("3.5", "3_5").replace(".", " . ").replace("3_5", "3.5")

    bleu = score(
        [tokenize(row["hyp"]) for row in thumb],
        [[tokenize(text) for text in row["references"]] for row in thumb],
        ["bleu-4|smoothing:nist"],
        tokenizer="space",
    ).scores
    columns = {
        "bleu": bleu["bleu-4|smoothing:nist"].images,
        "rouge": scored["rouge-l|beta:1"].images,
        "cider": scored["cider-d"].images,
    }
    for among, keep in (("machines", [row["SYS"] != "Human" for row in thumb]), ("all", [True] * len(thumb))):
        for part, key in (("precision", "P"), ("recall", "R"), ("total", "human_score")):
            grades = np.array([row[key] for row in thumb])[keep]
            for metric, scores in columns.items():
                r = pearsonr(scores[keep], grades).statistic
                assert ours[f"{among}/{metric}/{part}"] == pytest.approx(r), (among, metric, part)


@pytest.mark.usefixtures("thumb")
@pytest.mark.parametrize(
    ("file", "line", "sentence"),
    [
        ("mscoco_THumB-1.0.jsonl", {"SYS": "x", "seg_id": "99", "hyp": "A.", "P": 1, "R": 1, "human_score": 1},
         r"THumB-1\.0\.jsonl, line 1: segment 99 has no references"),
        ("mscoco_THumB-1.0.jsonl", {"SYS": "x", "seg_id": "1", "hyp": "A.", "P": "high", "R": 1, "human_score": 1},
         'line 1, P: found "high", expected a number'),
        ("mscoco_references.json", {"seg_id": "1", "refs": "A dog."}, "line 1, refs: found no list of texts"),
    ],
)  # fmt: skip
def test_a_damaged_file_of_thumb_is_one_sentence(
    file: str, line: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "mscoco" / file).write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(CommandError, match=sentence):
        replicate("thumb", tmp_path)


@pytest.fixture
def bench(tmp_path: Path) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Three experts on forty pairs with many ties, and models of which one repeats the first expert."""
    rng = np.random.default_rng(7)
    votes = ["model_a", "model_b", "tie"]
    pairs = [f"{number}__a__b__1" for number in range(40)]
    people = {f"expert_{n}": {pair: str(rng.choice(votes)) for pair in pairs[: 40 - 3 * n]} for n in range(3)}
    models = {name: {pair: str(rng.choice(votes)) for pair in pairs} for name in MODELS[1:]}
    models[MODELS[0]] = people["expert_0"]
    folder = tmp_path / "mtbench"
    folder.mkdir()
    for name, content in (("human_annotations", people), ("llm_annotations", models)):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return people, models


def test_a_tie_is_an_answer_to_the_alternative_annotator_test(
    bench: tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]], tmp_path: Path
) -> None:
    """The paper's definition, written out: a model and a person are scored by the share of the others who agree."""
    people, models = bench
    ours = {verdict["number"]: verdict["ours"] for verdict in replicate("alt-test", tmp_path)}
    for name, answers in models.items():
        advantages, p = [], []
        for person, votes in people.items():
            ahead, behind = [], []
            for pair, vote in votes.items():
                others = [other[pair] for who, other in people.items() if who != person and pair in other]
                if others:
                    model, left_out = others.count(answers[pair]), others.count(vote)
                    ahead.append(float(model >= left_out))
                    behind.append(float(left_out >= model))
            advantages.append(np.mean(ahead))
            p.append(ttest_1samp(np.subtract(behind, ahead), 0.2, alternative="less").pvalue)
        assert ours[f"{name}/advantage"] == pytest.approx(np.mean(advantages))
        ranked = sorted(p)
        harmonic = sum(1 / rank for rank in range(1, 4))
        passed = [n for n, value in enumerate(ranked, 1) if value <= 0.05 * n / (3 * harmonic)]
        assert ours[f"{name}/winning-rate"] == pytest.approx(max(passed, default=0) / 3)


def test_votes_that_are_none_are_refused(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "mtbench" / "llm_annotations.json").write_text('{"gpt-4o": {"1": "both"}}', encoding="utf-8")
    with pytest.raises(CommandError, match=r"llm_annotations\.json is not what was expected: .*model_b, tie"):
        replicate("alt-test", tmp_path)
    (tmp_path / "mtbench" / "llm_annotations.json").write_text("{}", encoding="utf-8")
    with pytest.raises(CommandError, match="has no answers of gemini_flash to what people judged"):
        replicate("alt-test", tmp_path)


@pytest.mark.parametrize("pack", ["thumb", "alt-test"])
def test_without_the_download_every_number_names_the_file_that_is_missing(pack: str, tmp_path: Path) -> None:
    for verdict in replicate(pack, tmp_path):
        assert verdict["verdict"] == "not reproducible"
        assert "github.com/" in verdict["why"]
