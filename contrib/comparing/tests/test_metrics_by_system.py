"""Comparison of two metrics over the systems whose outputs people judged."""

import json
from pathlib import Path
from statistics import mean

import numpy as np
import pytest

from contrib.comparing.metrics import compare_metrics
from evaluation.results.metrics.storage import evaluate_study
from judgments.models import Caption, Item
from quorum.metrics import score
from tests.evaluation.studies import make_dataset
from tests.evaluation.test_outputs import IMAGES, OF_GRADES, OF_MARKS, brought, verdict_rows

pytestmark = pytest.mark.django_db

THREE = [
    {"image": image, "out": text, "model": model, "rater": rater, "stars": str(count)}
    for image, outputs in (
        ("A.jpg", [("s1", "A.jpg by people", 0), ("s2", "A.jpg by people", 4), ("s3", "A.jpg by nobody", 1)]),
        ("B.jpg", [("s1", "some people", 1), ("s2", "B.jpg by people", 3), ("s3", "nobody", 2)]),
    )
    for model, text, count in outputs
    for rater in ("w1", "w2")
]


@pytest.mark.parametrize("protocol", ["graded", "spans"])
def test_metrics_are_compared_with_what_people_say_of_each_system(tmp_path: Path, protocol: str) -> None:
    """r of metrics' and people's means of three systems, of which two say the same of A.jpg."""
    dataset = make_dataset("shared", IMAGES)
    Caption.objects.create(dataset=dataset, item=Item.objects.get(name="A.jpg"), key="more", text="A.jpg and more",
                           role="reference")  # fmt: skip
    Caption.objects.create(dataset=dataset, item=Item.objects.get(name="B.jpg"), key="else", text="B.jpg by some",
                           role="reference")  # fmt: skip
    rows = [row | {"stars": str(4 - int(row["stars"]) or 1)} for row in THREE]
    if protocol == "spans":
        marks = [{"start": 0, "end": 1 + number, "severity": "minor"} for number in range(4)]
        rows = [row | {"stars": json.dumps({"spans": marks[: int(row["stars"])]})} for row in THREE]
    study = brought(rows, protocol, OF_MARKS if protocol == "spans" else OF_GRADES, tmp_path)
    scores = {row["system"]: row["value"] for row in verdict_rows(study)}
    compared = compare_metrics(study=study, first="bleu-1", second="rouge-l")
    assert compared["systems"]["number"] == 3
    cells = evaluate_study(study=study, metrics=["bleu-1"])
    assert cells["counts"]["units"] == 6
    texts = {(row["model"], row["image"]): row["out"] for row in THREE}
    references = {
        "A.jpg": ["A.jpg by people", "A.jpg and more"],
        "B.jpg": ["B.jpg by people", "B.jpg by some"],
    }
    own = {
        key: score([text], [[one for one in references[key[1]] if one != text]], ["bleu-1"])
        .scores["bleu-1"]
        .images[0]
        for key, text in texts.items()
    }
    by_system = [mean(own[name, image] for image in IMAGES) for name in ("s1", "s2", "s3")]
    people = [scores[name] for name in ("s1", "s2", "s3")]
    wanted = float(np.corrcoef(by_system, people)[0, 1])
    assert compared["systems"]["own"][0]["pearson"]["value"] == pytest.approx(wanted)
