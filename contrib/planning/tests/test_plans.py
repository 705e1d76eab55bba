"""The planner's page, job and command."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from contrib.planning.assumptions import assumptions_for, read_assumptions
from contrib.planning.form import initial_values
from contrib.planning.pilots import (
    estimate_from_pilot,
    estimate_metric_difference,
    estimate_people_accuracy,
    estimate_system_difference,
)
from evaluation.data.judgment_sets.study_signatures import hash_of_judgments
from evaluation.errors import EvaluationError
from evaluation.models import Analysis, Consensus, MetricScore
from evaluation.results.aggregation import aggregate_study
from judgments.design.reading.checking import make_design
from judgments.jobs.claims import run_job
from judgments.models import CandidatePair, Job, Study, System
from judgments.studies.studies import create_study
from tests.doors import signed_in
from tests.evaluation.studies import StudyOf, make_dataset
from tests.judgments.desk import do, page
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
FEW: dict[str, Any] = {
    "pairs": [11, 203], "references": [1], "votes": [1], "win_rate": 0.9, "simulations": 50, "right": 1.0,
}  # fmt: skip
IMAGES = {"a.jpg": ["A dog runs .", "A dog ."], "b.jpg": ["A cat sleeps .", "A cat ."]}


@pytest.fixture
def draft() -> Study:
    make_dataset("pets", IMAGES)
    values = {
        "name": "Draft",
        "dataset": "pets",
        "protocol": "triplet",
        "units_per_hit": 12,
        "controls": {"per_hit": 2},
        "crowd": {"reward_cents": 7},
        "sampling": {"pairs": {"HM": 30, "MM": 10}},
    }
    return create_study(design=make_design(values))


def asked(study: Study, **changes: Any) -> dict[str, Any]:
    return initial_values(assumptions_for(study) | FEW | {"references": [1, 2], "votes": [1, 3]} | changes)


def test_a_plan_is_simulated_shown_and_used(designer: Client, draft: Study) -> None:
    assert "Nothing has been simulated yet" in designer.get(page(draft, "planning")).content.decode()
    designer.post(do(draft, "plan-power"), asked(draft, pairs=[203], win_rate=0.75, right=0.9, careless=0.0))
    assert run_job(Job.objects.get(kind="plan_power").pk)
    plan = Analysis.objects.get(study=draft, what="plan")
    best = plan.result["best"]
    assert (best["pairs"], best["references"], best["votes"]) == (203, 1, 1)
    assert best["cost_cents"] == 21 * 7  # 203 units, 10 a HIT besides its 2 control items
    answer = designer.get(page(draft, "planning")).content.decode()
    assert "203 pairs with 1 vote each" in answer
    assert "1.47\N{NO-BREAK SPACE}USD with fees" in answer
    designer.post(do(draft, "use-plan"))
    draft.refresh_from_db()
    assert draft.design["sampling"]["pairs"] == {"HM": 153, "MM": 50}
    assert (draft.design["judgments_per_unit"], draft.design["sampling"]["references"]) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"win_rate": 0.5}, "nothing to tell apart"),
        ({"pairs": "many"}, "whole numbers separated by commas"),
        ({"votes": "0"}, "expected greater than or equal to 1"),
        ({"controls_per_hit": 12}, "no item is left to be judged"),
    ],
)
def test_what_cannot_be_is_said_on_the_page(
    designer: Client, draft: Study, changes: dict[str, Any], words: str
) -> None:
    answer = designer.post(
        do(draft, "plan-power"), asked(draft, **changes) | {"page": "planning"}, follow=True
    )
    assert words in answer.content.decode()
    assert not Job.objects.exists()


def test_a_pilot_tells_how_far_people_agree() -> None:
    made = StudyOf(make_dataset("pets", IMAGES), "pairwise", controls={"per_hit": 0})
    units = [
        made.unit(f"u{n}", pair=made.pair(f"p{n}", "a.jpg", f"A dog {n}", f"Cars {n}")) for n in range(5)
    ]
    hit = made.hit("h1", units)
    for name, values in (("w-1", [1, 2, 1, 2, 1]), ("w-2", [1, 2, 1, 2, 2])):
        made.answer(hit, name, values)
    found = estimate_people_accuracy(made.study)
    assert (found.units, found.votes, found.agreement) == (5, 10, 0.8)
    with refuses(EvaluationError, "cider"):
        estimate_metric_difference(made.study, "cider", "bleu-4")


def test_the_command_writes_what_it_prints(tmp_path: Path) -> None:
    given, output = tmp_path / "a.toml", tmp_path / "plan.json"
    given.write_text('question = "metrics"\npairs = [40]\nvotes = [3]\nsimulations = 20\nreward_cents = 10\n')
    call_command("plan_power", str(given), output=output)
    told = json.loads(output.read_text())
    assert told["assumptions"]["question"] == "metrics"
    assert [(row["pairs"], row["cost_cents"]) for row in told["tried"]] == [(40, 60)]
    given.write_text("pairs = [")
    with pytest.raises(CommandError, match="is not TOML"):
        call_command("plan_power", str(given))


def lopsided() -> StudyOf:
    """A is better on 8 of 10 pairs by consensus, and stands second in half of them."""
    made = StudyOf(make_dataset("pets", IMAGES), "pairwise", controls={"per_hit": 0})
    first, second = (System.objects.create(dataset=made.dataset, name=name) for name in ("A", "B"))
    units = []
    for n in range(10):
        names = (first, second) if n % 2 else (second, first)
        pair = made.pair(f"p{n}", "a.jpg", f"A dog {n}", f"Cars {n}")
        CandidatePair.objects.filter(pk=pair.pk).update(first_system=names[0], second_system=names[1])
        units.append(made.unit(f"u{n}", pair=pair))
    hit = made.hit("h1", units)
    of_a = [1 if n % 2 else 2 for n in range(10)]
    values = [value if n < 8 else 3 - value for n, value in enumerate(of_a)]
    for name in ("w-1", "w-2", "w-3"):
        made.answer(hit, name, values)
    return made


def test_a_pilot_tells_how_far_two_systems_lie_apart() -> None:
    study = lopsided().study
    with pytest.raises(EvaluationError, match="compute its consensus first"):
        estimate_system_difference(study, "A", "B")
    aggregate_study(study=study)
    assert estimate_system_difference(study, "A", "B") == {"win_rate": 0.8, "ties": 0.0}
    assert estimate_system_difference(study, "B", "A")["win_rate"] == pytest.approx(0.2)
    # seen is s r + (1 - s)(1 - r): .875 * .9 + .125 * .1 = .8
    assert estimate_system_difference(study, "A", "B", right=0.9)["win_rate"] == pytest.approx(0.875)
    with refuses(EvaluationError, "A", "B"):
        estimate_system_difference(study, "A", "C")
    told = estimate_from_pilot(study=study, question="systems", first="A", second="B")
    assert (told.assumptions["win_rate"], told.assumptions["right"]) == (0.8, 1.0)  # votes never split
    assert told.source == {
        "pilot": study.slug,
        "pilot_first": "A",
        "pilot_second": "B",
        "data_hash": hash_of_judgments(study),
    }


def test_a_pilot_tells_how_far_two_metrics_lie_apart() -> None:
    study = lopsided().study
    aggregate_study(study=study)
    analysis = Analysis.objects.create(study=study, what="meta-evaluation", data_hash="", result={})
    said = dict(Consensus.objects.filter(study=study, pair__isnull=False).values_list("pair", "value"))
    for metric, wrong in (("one", {0}), ("two", {0, 1, 2, 3})):  # right on .9 and .6, alike on .7
        for n, (pair, given) in enumerate(sorted(said.items())):
            value = int(given or 0)
            named = 3 - value if n in wrong else value
            scores = {"first": float(named == 1), "second": float(named == 2)}
            MetricScore.objects.create(analysis=analysis, metric=metric, pair_id=pair, **scores)
    found = estimate_metric_difference(study, "one", "two")
    assert found == pytest.approx({"first": 0.9, "second": 0.6, "agreement": 0.7})
    freed = estimate_metric_difference(study, "one", "two", right=0.9)
    assert freed == pytest.approx({"first": 1.0, "second": 0.625, "agreement": 0.625})


def test_a_plan_for_a_pilot_keeps_what_it_was_made_from(designer: Client) -> None:
    pilot = lopsided().study
    aggregate_study(study=pilot)
    values = {"name": "Next", "dataset": "pets", "protocol": "pairwise", "units_per_hit": 12}
    study = create_study(design=make_design(values))
    names = {"pilot": pilot.slug, "pilot_first": "A", "pilot_second": "B"}
    form = asked(study, units_per_hit=12, controls_per_hit=2) | names
    half = designer.post(
        do(study, "plan-power"), form | {"pilot_second": "", "page": "planning"}, follow=True
    )
    assert "enter two names, or leave both fields empty" in half.content.decode()
    designer.post(do(study, "plan-power"), form)
    assert run_job(Job.objects.get(kind="plan_power").pk)
    plan = Analysis.objects.get(study=study, what="plan")
    assert plan.settings["win_rate"] == 0.8
    assert plan.data_hash == hash_of_judgments(pilot)
    assert (
        f"participants and about A and B from <code>{pilot.slug}</code>"
        in designer.get(page(study, "planning")).content.decode()
    )


def first_page() -> str:
    return reverse("admin:judgments_study_start_plan")


def alone(**changes: Any) -> dict[str, Any]:
    return initial_values(read_assumptions(FEW).model_dump(mode="json") | changes)


def test_a_plan_without_a_study_is_linked_from_new_study_simulated_and_shown(designer: Client) -> None:
    assert first_page() in designer.get(reverse("admin:judgments_study_add")).content.decode()
    assert "Nothing has been simulated yet" in designer.get(first_page()).content.decode()
    assert designer.post(first_page(), alone()).status_code == 302
    again = designer.post(first_page(), alone(alpha=0.01))
    assert (again.status_code, "still running" in again.content.decode()) == (400, True)
    job = Job.objects.get(kind="plan_power")
    assert run_job(job.pk)
    answer = designer.get(first_page()).content.decode()
    assert "Sample size needed" in answer
    assert "Apply to the design" not in answer
    assert not Analysis.objects.exists()
    designer.post(first_page(), alone(win_rate=0.7))
    assert run_job(Job.objects.latest("pk").pk)
    assert f"?plan={job.pk}" in designer.get(first_page()).content.decode()
    earlier = designer.get(f"{first_page()}?plan={job.pk}")
    assert earlier.context["plan"]["settings"]["win_rate"] == 0.9


def test_a_plan_asks_for_three_values_and_folds_the_rest(designer: Client) -> None:
    open_part = designer.get(first_page()).content.decode().partition("All assumptions")[0]
    for question, other in (("systems", "metrics"), ("metrics", "systems")):
        groups = re.split('<div class="q-section"', open_part)[1:]
        asked = [group for group in groups if f'data-question="{other}"' not in group]
        names = re.findall(r'<(?:input|select)[^>]* name="(\w+)"', " ".join(asked))
        assert len(names) == 3, (question, names)


def test_the_pay_of_a_plan_is_typed_as_an_amount(designer: Client) -> None:
    shown = designer.get(first_page()).content.decode()
    assert 'name="reward_cents" value="0.00"' in shown
    designer.post(first_page(), alone() | {"reward_cents": "1.50"})
    assert Job.objects.get().args["assumptions"]["reward_cents"] == 150


def test_a_wrong_assumption_is_said_and_what_was_typed_stays(designer: Client) -> None:
    answer = designer.post(first_page(), alone(win_rate=7))
    assert answer.status_code == 400
    assert "Nothing was simulated" in answer.content.decode()
    assert 'value="7"' in answer.content.decode()
    assert not Job.objects.exists()


def test_who_may_add_no_study_has_no_such_page_and_nobody_sees_anothers_plan(designer: Client) -> None:
    designer.post(first_page(), alone())
    assert run_job(Job.objects.get().pk)
    other = signed_in(User.objects.create_user("clerk", is_staff=True))
    assert other.get(first_page()).status_code == 403
    boss = signed_in(User.objects.create_superuser("boss"))
    assert (
        "Nothing has been simulated yet"
        in boss.get(f"{first_page()}?plan={Job.objects.get().pk}").content.decode()
    )
