"""A multiverse: which conclusions hold under other choices, what moves them, and where it is drawn."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from contrib.multiverse.analyses import SpecificationFigures
from contrib.multiverse.choices import AnalysisChoice, Universe
from contrib.multiverse.conclusions import BEST_METRIC, compute_multiverse, conclusions_of, tokenizers
from contrib.multiverse.votes import StudyVotes
from contrib.score_imports.reading import read_scores
from contrib.score_imports.storing import store_metric_scores
from contrib.score_imports.tests.test_score_imports import brought, graded_study, write
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from evaluation.reports.storage import build_report
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.models import Study
from quorum.statistics.crossed import Clusters
from tests.evaluation.reporting import address, graded, run_report_job, words, written
from tests.evaluation.studies import StudyOf, make_dataset
from tests.metrics.test_score import MODULE, POINTS, install
from tests.plots import undrawn

pytestmark = pytest.mark.django_db

PETS = ("dog", "cat", "horse", "bird", "goat", "duck")
PRECISE, COMPLETE = "bleu-1", "rouge-1|measure:recall"


def disputed(careless: int) -> Study:
    """Three people prefer what is short and right, as BLEU-1 does; ``careless`` ones prefer the other, as recall does.

    The careless miss the control item, so that the study's threshold sets them aside.
    """
    texts = {f"{pet}.jpg": [f"a {pet} runs here"] * 2 for pet in PETS}
    made = StudyOf(make_dataset("pets", texts), "pairwise", controls={"per_hit": 1, "threshold": 0.7})
    units, good = [], []
    for place, pet in enumerate(PETS):
        two = [f"a {pet} runs", f"a {pet} runs here far far far far"]
        first, second = two if place % 2 else two[::-1]
        pair = made.pair(f"p{place}", f"{pet}.jpg", first, second)
        units.append(made.unit(f"u{place}", pair=pair))
        good.append(1 if place % 2 else 2)
    control = made.unit("c", "dog.jpg", first="a dog runs", control=True, expected=1)
    hit = made.hit("h", [*units, control], required=3 + careless)
    for number in range(3):
        made.answer(hit, f"good-{number}", [*good, 1])
    for number in range(careless):
        made.answer(hit, f"careless-{number}", [*(3 - answer for answer in good), 2])
    return made.study


def multiverse(study: Study, *metrics: str, tokenizer: str = "ptb") -> tuple[dict[str, Any], dict[str, Any]]:
    """The multiverse, and its conclusions by name."""
    found = compute_multiverse(study, metrics=metrics, tokenizer=tokenizer, data_hash="0" * 64)
    return found, {one["name"]: one for one in found["conclusions"]}


def test_a_conclusion_that_one_choice_turns_round_holds_in_its_share_of_the_specifications() -> None:
    """The careless outvote the others only if all are counted, each vote alike or by a model of their agreement."""
    found, conclusions = multiverse(disputed(careless=4), PRECISE, COMPLETE)
    names = {one["name"]: one["options"] for one in found["universes"]["metrics"]["choices"]}
    assert names["controls"] == ["0.7", "0"]  # other thresholds set the same people aside
    assert names["aggregation"] == ["majority", "control-weighted", "dawid-skene"]
    assert names.keys() == {"controls", "aggregation", "metric_ties", "tokenizer", "references", "clusters"}
    best = conclusions["best"]
    assert (best["better"], best["n"], best["undefined"]) == (PRECISE, 2 * 3 * 3 * 5 * 2 * 2, 0)
    assert best["holds"] == pytest.approx(1 - 1 / 2 * 2 / 3)
    assert (best["value"][0], best["least"], best["most"]) == (1.0, -1.0, 1.0)
    assert best["moved_by"] == "controls"
    assert best["ranges"]["controls"] == pytest.approx(4 / 3)  # 1 against the mean of -1, -1 and 1
    of_rules = best["choices"]["aggregation"]
    assert {rule: one["holds"] for rule, one in of_rules.items()} == {
        "majority": 0.5, "control-weighted": 1.0, "dawid-skene": 0.5,
    }  # fmt: skip
    agreement = conclusions["agreement"]  # everyone who is counted agrees, or seven people are of two minds
    assert (agreement["threshold"], agreement["n"], agreement["holds"]) == (0.8, 2 * 3, 0.5)
    assert agreement["value"][0] == 1.0


def test_a_conclusion_that_nothing_turns_round_holds_in_all_specifications_and_is_that_of_evaluate() -> None:
    study = disputed(careless=0)
    _, conclusions = multiverse(study, PRECISE, COMPLETE)
    best = conclusions["best"]
    assert (best["holds"], best["clear"], best["least"]) == (1.0, 1.0, 1.0)
    reached = evaluate_study(study=study, metrics=[PRECISE, COMPLETE])["metrics"]
    shares = [reached[name]["accuracy"]["all"]["value"] for name in (PRECISE, COMPLETE)]
    assert best["value"][0] == shares[0] - shares[1]
    alpha = aggregate_study(study=study)["agreement"]["alpha"]
    agreement = conclusions["agreement"]
    assert [agreement[end][0] for end in ("low", "value", "high")] == [alpha["low"], 1.0, alpha["high"]]


def test_imported_scores_stand_beside_computed_ones_and_have_no_tokens(tmp_path: Path) -> None:
    study = disputed(careless=4)
    scores = tmp_path / "length.jsonl"
    texts = [(pet, text) for pet in PETS for text in (f"a {pet} runs", f"a {pet} runs here far far far far")]
    rows = [{"image": f"{pet}.jpg", "caption": text, "score": len(text)} for pet, text in texts]
    scores.write_text("".join(json.dumps(row) + "\n" for row in rows))
    store_metric_scores(dataset=study.dataset, files=read_scores(scores, ["length"]), better="lower")
    of_both, _ = multiverse(study, PRECISE, "length")
    _, conclusions = multiverse(study, COMPLETE, "length")
    tokens = {one["name"] for one in of_both["universes"]["metrics"]["choices"]}
    assert "tokenizer" in tokens
    assert conclusions["best"]["better"] == "length"  # the short text is the better one
    assert conclusions["best"]["holds"] == pytest.approx(2 / 3)


def test_imported_scores_of_captions_leave_no_choice_of_references_or_tokens(tmp_path: Path) -> None:
    study, people = graded_study()
    for name, power in (("good", 1), ("poor", 0)):
        rows = [
            {"image": text.split()[-1], "caption": text, "score": value**power + len(text) % 2 + place % 3}
            for place, (text, value) in enumerate(people.items())
        ]
        brought(study.dataset, write(tmp_path / f"{name}.jsonl", rows), name)
    evaluated = evaluate_study(study=study.study, metrics=["good", "poor"])["metrics"]
    taus = [one["kendall_tau_b"]["value"] for one in evaluated.values()]
    found, conclusions = multiverse(study.study, "good", "poor")
    assert conclusions["best"]["value"][0] == pytest.approx(taus[0] - taus[1])
    choices = {one["name"] for one in found["universes"]["metrics"]["choices"]}
    assert choices.isdisjoint({"references", "tokenizer"})


def test_a_metric_that_cuts_no_words_leaves_no_choice_of_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trigram_metric.py").write_text(MODULE)
    install(tmp_path, "quorum-trigrams", "0.2", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "trigram_metric", raising=False)
    assert tokenizers(["trigrams", "bleu-1"], "ptb") != tokenizers(["trigrams"], "ptb") == ("ptb",)


def test_a_share_of_controls_is_weighed_by_how_many_answers_there_are_and_held_to_the_digit() -> None:
    """Half of the control items right is chance for two answers, and more than that for three."""
    design: dict[str, Any] = {
        "controls": {"per_hit": 2, "threshold": 0.33333333},
        "answers": {"no_difference": True},
    }
    made = StudyOf(make_dataset("pets", {"dog.jpg": ["a dog"]}), "pairwise", **design)
    pair = made.pair("p", "dog.jpg", "a dog runs", "a dog sleeps")
    unit = made.unit("u", pair=pair)
    controls = [made.unit(f"c{n}", "dog.jpg", first="a dog runs", control=True, expected=1) for n in range(2)]
    made.answer(made.hit("h", [unit, *controls], required=1), "alma", [2, 1, 2])
    votes = StudyVotes.for_study(made.study)
    assert votes.consensus({"aggregation": "control-weighted"})[unit.pk].value == 2
    assert float(votes.thresholds[0]) == votes.control_rule.threshold == 0.33333333


@pytest.mark.long
def test_captions_are_held_under_other_means_coefficients_and_levels() -> None:
    study = graded().study
    found, conclusions = multiverse(study, "bleu-1", "rouge-l", "bleu-4")
    names = {one["name"]: one["options"] for one in found["universes"]["metrics"]["choices"]}
    assert names["aggregation"] == ["mean", "median", "standardised"]
    assert names["coefficient"] == ["kendall-tau-b", "kendall-tau-c"]
    assert found["universes"]["agreement"]["choices"][0]["options"] == ["interval", "ordinal"]
    reached = evaluate_study(study=study, metrics=["bleu-1", "rouge-l", "bleu-4"])["metrics"]
    taus = {name: one["kendall_tau_b"]["value"] for name, one in reached.items()}
    for one in conclusions.values():
        if one["worse"]:
            assert one["value"][0] == pytest.approx(taus[one["better"]] - taus[one["worse"]])
            assert one["value"][0] > 0


@pytest.mark.parametrize("lower_count", [1, 7, 8, 12])
def test_of_two_metrics_that_are_both_highest_none_is_best(lower_count: int) -> None:
    values = {"first": 0.9, "second": 0.9} | {f"lower-{n}": 0.5 for n in range(lower_count)}
    figures = SpecificationFigures(values, {}, Clusters.from_columns({"row": np.arange(2)}, 2))
    names = [conclusion.name for conclusion in conclusions_of(figures)]
    assert names == [f"{BEST_METRIC}-and-{n}" for n in range(1, min(lower_count, 8) + 1)]


def test_a_large_universe_is_a_seeded_sample_with_the_default_first() -> None:
    choices = tuple(
        AnalysisChoice(name, ("a", "b", "c", "d")) for name in ("controls", "aggregation", "tokenizer")
    )
    universe = Universe.from_choices(choices, np.random.default_rng(7), max_specifications=10)
    again = Universe.from_choices(choices, np.random.default_rng(7), max_specifications=10)
    assert (len(universe), universe.combination_count) == (10, 64)
    assert universe.option_indices.tolist() == again.option_indices.tolist()
    assert next(iter(universe)) == dict.fromkeys(("controls", "aggregation", "tokenizer"), "a")
    assert len(np.unique(universe.option_indices, axis=0)) == 10
    assert len(Universe.from_choices((), np.random.default_rng(7))) == 1


def test_a_report_draws_it_writes_every_specification_and_keeps_it(
    designer: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = tmp_path
    study = disputed(careless=4)
    evaluate_study(study=study, metrics=[PRECISE, COMPLETE])
    with undrawn():
        assert not any("multiverse" in name for name in written(study, tmp_path / "without"))
    with undrawn("pdf", "png"):
        files = written(study, tmp_path / "report", multiverse=True)
    rows = list(csv.DictReader(files["figures/multiverse-best.csv"].decode().splitlines()))
    assert len(rows) == 360
    assert [row["control items right"] for row in rows if row["as reported"]] == ["0.7"]
    values = [float(row["estimate"]) for row in rows]
    assert values == sorted(values)
    assert len(json.loads(files["multiverse.json"])["universes"]["metrics"]["specifications"]) == 360
    assert b"simonsohn2020" in files["references.bib"]
    assert len(files["figures/multiverse-best.page.svg"]) < 150_000
    sentence = "bleu-1 agrees best with people” holds in 67 % of 360 specifications"
    assert sentence in files["index.html"].decode()

    step = reverse("admin:judgments_study_do", args=[study.pk, "make-report"])
    answer = designer.post(step, {"page": "report", "multiverse": "true"})
    assert answer.status_code == 302
    with undrawn():
        run_report_job()
    shown = words(designer.get(address(study)))
    assert "Under other choices" in shown
    assert sentence in shown
    kept = Analysis.objects.get(what=Analysis.Kind.MULTIVERSE)
    assert "metrics-controls:0.7,0|" in kept.settings["choices"]
    assert build_report(study, parts=["multiverse"]).parts == {"multiverse": kept.result}


@pytest.mark.long
@pytest.mark.usefixtures("undrawn")
def test_without_the_feature_an_earlier_report_stays_and_none_can_be_asked_for(
    designer: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EXPORT_ROOT = tmp_path
    study = disputed(careless=4)
    evaluate_study(study=study, metrics=[PRECISE, COMPLETE])
    step = reverse("admin:judgments_study_do", args=[study.pk, "make-report"])
    designer.post(step, {"page": "report", "multiverse": "true"})
    with undrawn():
        run_report_job()
    settings.FEATURES = {name: one for name, one in settings.FEATURES.items() if name != "multiverse"}
    page = designer.get(address(study))
    assert b'name="multiverse"' not in page.content
    assert "holds in 67 % of 360 specifications" in words(page)
    with pytest.raises(CommandError, match="unrecognized arguments"):
        call_command("report", study.slug, "--multiverse", "--output", str(tmp_path / "report"))
    with pytest.raises(EvaluationError, match="'multiverse'"):
        build_report(study, parts=["multiverse"])
    assert b"multiverse" not in written(study, tmp_path / "report")["report.json"]
