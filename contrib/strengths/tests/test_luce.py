"""The ranking of systems by the best of several."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Judgment
from contrib.best_worst.tests.test_best_of import best_of, best_of_several
from contrib.strengths.section import ranking_section
from contrib.strengths.strengths import strengths_of
from evaluation.errors import EvaluationError
from evaluation.results.aggregation import aggregate_study
from judgments.models import Output, Study
from quorum.statistics.aggregation import luce_choice
from tests.evaluation.test_scales import better_and_worse, rehearsed
from tests.judgments.desk import page

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def animals(module_db: None) -> None:
    better_and_worse()


@pytest.fixture(scope="module")
def study(animals: None) -> Study:
    return best_of_several()


def test_systems_are_ranked_by_luce_s_model(study: Study) -> None:
    found = strengths_of(study)
    assert found["model"] == "luce"
    judged = Judgment.objects.of_study(study).current().filter(unit__control=False, set_aside=False)
    assert found["comparisons"] == judged.count()
    system_of = {
        (item, text): name
        for item, text, name in Output.objects.values_list("item", "caption__text", "system__name")
    }
    lists, best = [], []
    for one in judged.select_related("unit"):
        options = [option["text"] for option in one.unit.content["options"]]
        lists.append([system_of[one.unit.item_id, text] for text in options])
        best.append(lists[-1][best_of(one) - 1])
    plain = luce_choice(lists, best)
    strength = dict(zip(plain.items.tolist(), plain.log_strength.tolist(), strict=True))
    assert {row["system"]: row["strength"] for row in found["systems"]} == pytest.approx(strength)
    assert [row["strength"] for row in found["systems"]] == sorted(strength.values(), reverse=True)
    for row in found["systems"]:
        assert row["low"] < row["strength"] < row["high"]
        assert 1 <= row["best_rank"] <= row["worst_rank"] <= 5
        assert row["best"] == pytest.approx(best.count(row["system"]) / len(best))
        assert row["shown"] == len(best)
        assert row["best_low"] <= row["best"] <= row["best_high"]
    assert set(found["clusters"]) == {"item", "rater"}


def test_the_model_has_no_other_settings(study: Study) -> None:
    settings: list[dict[str, Any]] = [{"model": "cumulative"}, {"control": "length"}, {"order_effect": True}]
    for asked in settings:
        with pytest.raises(EvaluationError, match="Luce's"):
            strengths_of(study, **asked)


def test_the_page_the_command_and_the_call_say_the_same(
    study: Study, designer: Client, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = strengths_of(study)["systems"][0]
    shown = designer.get(page(study, "ranking")).content.decode()
    assert "Luce’s choice model" in shown
    assert first["system"] in shown
    assert 'name="model"' not in shown
    call_command("strengths", study.slug, output=tmp_path / "s.json")
    said = capsys.readouterr().out
    assert "choices of the best" in said
    assert json.loads((tmp_path / "s.json").read_text())["systems"][0] == pytest.approx(first)
    called = designer.get(f"/api/studies/{study.slug}/strengths/").json()
    assert called["systems"][0]["system"] == first["system"]
    assert called["model"] == "luce"
    aggregate_study(study=study)
    results = designer.get(page(study, "results")).content.decode()
    assert "as the best of the texts shown together" in results


def test_the_report_ranks_the_systems(study: Study) -> None:
    section = ranking_section(study)
    assert section is not None
    assert "Luce's choice model" in str(section)


def test_a_best_worst_study_ranks_its_systems_by_the_best_too(animals: None) -> None:
    both = rehearsed("best-worst", "both-ends", controls={"per_hit": 0})
    found = strengths_of(both)
    assert found["model"] == "luce"
    assert ranking_section(both) is None, "its report stays as it was"
