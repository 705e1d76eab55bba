"""The scores that a dashboard keeps with its snapshot."""

from pathlib import Path

import pytest

from contrib.dashboard.scores import candidate_scores
from contrib.dashboard.snapshot import compute_snapshot, store_snapshot
from contrib.score_imports.tests.test_score_imports import (
    brought,
    caption_rows,
    graded_study,
    pairs_study,
    write,
)
from evaluation.results.metrics.storage import evaluate_study

pytestmark = pytest.mark.django_db


def test_scores_of_the_judged_captions_alone_suffice(tmp_path: Path) -> None:
    study, people = graded_study()
    study.unit("nobody", "a.jpg", first="a caption that nobody judged")
    study.unit("spare", "b.jpg", first="another caption that nobody judged")
    for name, power in (("good", 1), ("poor", 0)):
        rows = [
            {"image": text.split()[-1], "caption": text, "score": value**power + len(text) % 2 + place % 3}
            for place, (text, value) in enumerate(people.items())
        ]
        brought(study.dataset, write(tmp_path / f"{name}.jsonl", rows), name)
    evaluate_study(study=study.study, metrics=["good", "poor"])
    scores = candidate_scores(study.study)
    assert (scores.reason, len(scores.row_ids)) == ("", len(people))


def test_scores_that_replace_others_are_those_of_the_next_snapshot(tmp_path: Path) -> None:
    study = pairs_study()
    told = []
    for good, poor in ((1, 0), (0, 1)):
        path = write(tmp_path / "comet.jsonl", caption_rows(good, poor))
        brought(study.dataset, path, "comet", replace=True)
        evaluate_study(study=study.study, metrics=["comet"])
        for _twice in range(2):
            result = store_snapshot(compute_snapshot(study=study.study)).result
            told.append(result["evaluation"]["kinds"]["all"]["metrics"]["comet"]["value"])
    assert told == [1.0, 1.0, 0.0, 0.0]
