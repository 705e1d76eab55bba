"""The ranking of systems by pairs: with ties, by the chances of what was drawn, and where there is nothing to rank."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.utils.translation import override
from pytest_django import DjangoAssertNumQueries

from annotation.models import Judgment
from contrib.arena.tests.arenas import arena
from contrib.choosing.tests.chosen_items import METRICS, choose, judged, pairs_draft
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from contrib.strengths.strengths import cached_strengths, strengths_of
from contrib.strengths.views import with_sign
from evaluation.data.judgment_sets.loaders import load_judgments
from evaluation.data.judgment_sets.study_signatures import uncommon_fields
from evaluation.errors import EvaluationError, NothingToRank
from evaluation.presentation.content import Estimate
from evaluation.reports.storage import build_report
from judgments.models import CandidatePair, HITUnit, Study
from quorum.statistics.aggregation import preference_strengths
from tests.evaluation.reporting import exported
from tests.studies import make_study

pytestmark = pytest.mark.django_db


def test_systems_are_ranked_by_all_answers_with_ties() -> None:
    sizes: dict[str, Any] = {"sampling": {"pairs": {"MM": 6}}, "units_per_hit": 4, "judgments_per_unit": 8}
    study = make_study("pairwise", answers={"no_difference": True}, **sizes)
    rehearse(study=study, crowd=RehearsalCrowd(workers=9, spammers=0.0, seed=1))
    found = strengths_of(study)
    assert {one["system"] for one in found["systems"]} == {"system-0", "system-1"}
    assert sum(one["strength"] for one in found["systems"]) == pytest.approx(0)
    table = load_judgments(study)
    first_of = dict(CandidatePair.objects.filter(study=study).values_list("pk", "first_system__name"))
    units = dict(study.units.filter(control=False).values_list("pk", "pair"))
    wins: Counter[str] = Counter()
    for unit, side in zip(
        table.unit[table.is_counted].tolist(), table.value[table.is_counted].tolist(), strict=True
    ):
        name = first_of[units[unit]]
        wins["tie" if side == 0 else name if side == 1 else "other"] += 1
    first = next(iter(first_of.values()))
    assert found["comparisons"] == sum(wins.values())
    assert found["ties"] == pytest.approx(wins["tie"] / sum(wins.values()))
    if len(set(first_of.values())) == 1:
        # of two systems the log-odds of a win are the difference of their strengths
        strength = {one["system"]: one["strength"] for one in found["systems"]}
        assert 2 * strength[first] == pytest.approx(np.log(wins[first] / wins["other"]), abs=1e-6)
    (ranking,) = [one for one in build_report(study).sections if one.name == "ranking"]
    rows = {row[0]: row[1:] for row in ranking.tables[0].rows}
    assert rows == {
        one["system"]: (
            Estimate(one["strength"], one["low"], one["high"]),
            one["best_rank"],
            one["worst_rank"],
        )
        for one in found["systems"]
    }
    assert f"{found['comparisons']} judgments" in ranking.sentences[0]
    assert strengths_of(study, model="cumulative", control="length")["model"] == "cumulative"
    with pytest.raises(EvaluationError, match="compares no pairs"):
        strengths_of(make_study("graded"))


def test_that_there_is_nothing_to_rank_is_found_once_and_said_in_each_language(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    study = make_study("pairwise")
    with pytest.raises(NothingToRank):
        cached_strengths(study, model="adjacent")
    with (
        django_assert_num_queries(2),
        override("de"),
        pytest.raises(EvaluationError, match="hat kein"),
    ):
        cached_strengths(study, model="adjacent")


def test_the_ranking_weighs_each_judgment_by_the_chance_that_drew_it() -> None:
    study = arena(pages=40, controls={"per_hit": 0})
    rehearse(study=study, crowd=RehearsalCrowd(workers=8, spammers=0.0, seed=2))
    found, plain = strengths_of(study), strengths_of(study, weights="none")
    assert (found["weighted"], plain["weighted"]) == (True, False)
    # the same from the stored rows, one by one
    first, second, preferences, weights = [], [], [], []
    rows = Judgment.objects.filter(assignment__study=study, unit__control=False)
    for row in rows.select_related("unit__pair__first_system", "unit__pair__second_system", "assignment"):
        pair = row.unit.pair
        assert pair is not None
        assert pair.first_system is not None
        assert pair.second_system is not None
        first.append(pair.first_system.name)
        second.append(pair.second_system.name)
        preferences.append({1: 1, 2: -1, 0: 0}[int(row.value or 0)])
        weights.append(1 / (HITUnit.objects.get(hit=row.assignment.hit, unit=row.unit).chance or 0))
    expected = preference_strengths(first, second, preferences, weights=weights)
    assert {one["system"]: one["strength"] for one in found["systems"]} == pytest.approx(
        dict(zip(expected.items.tolist(), expected.log_strength.tolist(), strict=True)), abs=1e-6
    )
    assert found["systems"] != plain["systems"]
    assert uncommon_fields(study)["drawn"] == "live,even-0.2"


def test_whoever_has_the_exported_file_can_weigh_as_the_ranking_does(tmp_path: Path) -> None:
    study = arena(pages=20, controls={"per_hit": 1, "threshold": 0})
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, spammers=0.0, seed=2))
    file = tmp_path / "arena.jsonl"
    judged_rows = [row for row in exported(study, file) if not row["control"]]
    systems = [
        [row["systems"][row[side]][0]["system"] for side in ("first", "second")] for row in judged_rows
    ]
    expected = preference_strengths(
        [first for first, _ in systems],
        [second for _, second in systems],
        [{1: 1, 2: -1, 0: 0}[row["value"]] for row in judged_rows],
        weights=[1 / row["chance"] for row in judged_rows],
    )
    found = {one["system"]: one["strength"] for one in strengths_of(study)["systems"]}
    assert found == pytest.approx(
        dict(zip(expected.items.tolist(), expected.log_strength.tolist(), strict=True)), abs=1e-6
    )
    call_command("import_judgments", "jsonl", str(file), dataset=study.dataset.name, study="back")
    back = Study.objects.get(slug="back")
    again = strengths_of(back)
    assert again["weighted"]
    assert {one["system"]: one["strength"] for one in again["systems"]} == pytest.approx(found, abs=1e-9)
    assert strengths_of(back, weights="none")["systems"] != again["systems"]


def test_the_kept_ranking_knows_which_parameter_is_none() -> None:
    study = arena(pages=10)
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, spammers=0.0, seed=2))
    assert cached_strengths(study, control="none")["weighted"]
    assert not cached_strengths(study, weights="none")["weighted"]


def test_judgments_of_chosen_items_weigh_by_their_chances() -> None:
    options = ("--method", "disagreement", "--budget", "60", "--metrics", ",".join(METRICS))
    study = judged(choose(pairs_draft(), *options))
    assert strengths_of(study)["weighted"]
    (ranking,) = [one for one in build_report(study=study).sections if one.name == "ranking"]
    assert "each judgment weighs one over its chance" in ranking.sentences[0]


def test_a_strength_that_rounds_to_nothing_has_no_sign() -> None:
    assert [with_sign(value) for value in (-0.004, 0.0, 0.004)] == [".00", ".00", ".00"]
    assert [with_sign(value) for value in (-0.006, 0.006, 1.5, None)] == ["-.01", "+.01", "+1.50", "–"]
