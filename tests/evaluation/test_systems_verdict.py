"""Which system wins, with what confidence, and how many new items would settle it: the same words at every door."""

import json
from dataclasses import replace
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evaluation.results.aggregation import compute_aggregation
from evaluation.results.outputs import Outputs
from evaluation.results.standings import MEAN
from evaluation.results.systems import SystemsVerdict, verdict_on_systems
from judgments.models import Study
from quorum.statistics.correlation import means_without_raters
from quorum.statistics.crossed import spread_of_mean
from tests.evaluation.reporting import written
from tests.evaluation.test_scales import better_and_worse, rehearsed

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def animals(module_db: None) -> None:
    better_and_worse()


def outputs(scores: Any) -> Outputs:
    """(I, K) scores of K systems for each of I items, nobody's in particular; nan for none."""
    item, system = np.nonzero(~np.isnan(scores))
    names = [f"system-{code}" for code in range(scores.shape[1])]
    return Outputs(names, item, system, np.arange(len(scores)), scores[item, system], None)


def test_two_systems_are_told_apart_by_the_paired_t_test_of_their_items() -> None:
    scores = np.random.default_rng(1).normal([0.4, 0.0], 1.0, (40, 2))
    verdict = verdict_on_systems(outputs(scores).standings(MEAN))
    assert verdict["p"] == pytest.approx(scipy.stats.ttest_rel(scores[:, 0], scores[:, 1]).pvalue)
    low, high = scipy.stats.t.interval(0.95, 39, scores[:, 0].mean(), scipy.stats.sem(scores[:, 0]))
    first = next(row for row in verdict["systems"] if row["system"] == "system-0")
    assert (first["low"], first["high"]) == pytest.approx((low, high))


def test_items_that_one_system_lacks_are_no_pairs() -> None:
    scores = np.random.default_rng(2).normal([0.5, 0.0, 0.2], 1.0, (60, 3))
    scores[:20, 1] = np.nan
    scores[50:, 0] = np.nan
    standings = outputs(scores).standings(MEAN)
    both = scores[20:50]
    paired = scipy.stats.ttest_rel(both[:, 0], both[:, 1])
    contrast = standings.contrast(0, 1)
    assert (contrast.t, contrast.p) == pytest.approx((paired.statistic, paired.pvalue))


@pytest.mark.parametrize("means", [(4.0, 3.0), (3.1, 2.1), (3.7, 1.2), (1.0, 0.0)])
def test_a_system_that_is_better_by_the_same_on_every_item_wins(means: tuple[float, float]) -> None:
    """However its scores are rounded: an item on which it is better is a comparison that it wins."""
    verdict = verdict_on_systems(outputs(np.tile(means, (100, 1))).standings(MEAN))
    assert (verdict["settled"], verdict["leaders"]) == (True, ["system-0"])
    assert verdict["p"] == pytest.approx(2 * scipy.stats.t.sf(10, 99))


def test_equal_scores_leave_room_for_items_that_nobody_has_seen() -> None:
    """Of twelve items none differs: by Clopper and Pearson up to 1 - .025^(1/12) of all may, to the scale's ends."""
    equal = outputs(np.tile([3.0, 2.0], (12, 1)))
    figure = replace(equal, scale_ends=(1.0, 4.0)).standings(MEAN).figures["system-0"]
    unseen = 1 - 0.025 ** (1 / 12)
    assert (figure["low"], figure["high"]) == pytest.approx((3 - 2 * unseen, 3 + unseen))
    without_ends = equal.standings(MEAN).figures["system-0"]
    assert (without_ends["value"], without_ends["low"], without_ends["high"]) == (3.0, None, None)


def test_outputs_with_a_rater_each_vary_as_rows_of_items_and_raters() -> None:
    """As in most imported tables: nobody else's grade is left where a rater leaves an output."""
    generator = np.random.default_rng(3)
    rater = generator.integers(0, 5, 300)
    score = generator.normal(size=5)[rater] + generator.normal(size=300)
    item = np.arange(300)
    deletions = means_without_raters(item, rater, score, 300)
    graded = Outputs(["system"], item, np.zeros(300, np.int64), item, score, deletions)
    rows, _ = spread_of_mean(score, {"item": item, "rater": rater})
    mean, spread, clusters = graded.contrast({0: 1.0})
    assert (mean, spread.variance, spread.df, clusters) == pytest.approx(
        (score.mean(), rows.variance, rows.df, 300)
    )


def test_a_system_is_not_ahead_by_items_that_the_other_lacks() -> None:
    """The first has easy items of its own; on those that both have the second is better."""
    scores = np.random.default_rng(6).normal([0.0, 1.0], 0.5, (60, 2))
    scores[30:, 0] += 10
    scores[30:, 1] = np.nan
    verdict = verdict_on_systems(outputs(scores).standings(MEAN))
    assert (verdict["settled"], verdict["p"]) == (False, 1.0)
    assert verdict["more"] is None


def test_one_item_is_too_few_to_say() -> None:
    verdict = verdict_on_systems(
        outputs(np.random.default_rng(7).normal([3.0, 0.0], 0.1, (1, 2))).standings(MEAN)
    )
    assert verdict["sentence"].startswith(
        "No winner yet. There is no significant difference between system-0 and system-1 (too few data to test)."
    )
    assert (
        "The differences cannot be tested, so it is unknown how many items are needed to find a winner."
        in verdict["sentence"]
    )


def test_three_systems_have_holms_correction() -> None:
    scores = np.random.default_rng(3).normal([0.9, 0.0, 0.1], 1.0, (50, 3))
    verdict = verdict_on_systems(outputs(scores).standings(MEAN))
    p = [
        scipy.stats.ttest_rel(scores[:, first], scores[:, second]).pvalue
        for first, second in ((0, 1), (0, 2))  # the best with each other one
    ]
    adjusted = max(2 * min(p), max(p))
    assert verdict["leaders"] == ["system-0"]
    assert verdict["p"] == pytest.approx(adjusted)
    assert verdict["sentence"].startswith("The winner is system-0, ahead of system-1 and system-2 (p ")


def verdict_of(study: Study) -> SystemsVerdict:
    verdict: SystemsVerdict = compute_aggregation(study=study).result["systems_verdict"]
    return verdict


@pytest.mark.parametrize("protocol", ["triplet", "relevance", "best-worst", "spans"])
def test_every_protocol_that_compares_systems_names_the_winner(animals: None, protocol: str) -> None:
    careful = rehearsed(protocol, f"careful-{protocol}", accuracy=1.0, judgments_per_unit=6)
    verdict = verdict_of(careful)
    assert len(verdict["systems"]) >= 2
    assert verdict["items"] > 1
    rows = [row["value"] for row in verdict["systems"]]
    assert all(
        row["low"] <= row["value"] <= row["high"] for row in verdict["systems"] if row["low"] is not None
    )
    assert len(rows) == len(verdict["leaders"]) + len(verdict["rest"])
    assert verdict["raters"] == 8


@pytest.mark.usefixtures("undrawn")
def test_every_door_says_the_same(animals: None, tmp_path: Path, admin_client: Client) -> None:
    study = rehearsed("slider", "doors", accuracy=0.9, controls={"per_hit": 0})
    Study.objects.filter(pk=study.pk).update(simulated=False)
    printed = StringIO()
    call_command("aggregate", study.slug, "--output", tmp_path / "consensus.json", stdout=printed)
    sentence = json.loads((tmp_path / "consensus.json").read_text())["systems_verdict"]["sentence"]
    assert sentence in printed.getvalue()
    called = admin_client.get(f"/api/studies/{study.slug}/agreement/").json()
    assert called["result"]["systems_verdict"]["sentence"] == sentence
    shown = admin_client.get(reverse("admin:judgments_study_results", args=[study.pk])).content.decode()
    assert sentence in unescape(shown)
    assert sentence in unescape(written(study, tmp_path / "report")["index.html"].decode())
