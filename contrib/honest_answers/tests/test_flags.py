"""Flags of signs that a program wrote an answer: their action, their evidence, and rehearsed cheats."""

from typing import Any

import pytest

from annotation.models import Case, Exclusion, Judgment, Participation, QualityRule
from annotation.quality.rules import copy_rules, store_rule
from annotation.work.sheet.hidden_line import HIDDEN_WORDS
from annotation.work.submissions import submit_assignment
from common.errors import DesignError, WrongState
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from judgments.studies.designs import design_of
from tests.annotation.casting import joined, make_dataset, make_study
from tests.annotation.leasing import claimed
from tests.annotation.writing import BOTH, PASTED, TEXTS, write, writing_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("rule", ["pasted-text", "typing", "phrasing", "canary"])
@pytest.mark.parametrize("action", ["pause", "exclude"])
def test_a_sign_may_only_flag_whatever_the_rules_say(rule: str, action: str) -> None:
    study = writing_study(images=3, writing=BOTH)
    said = (
        f"the action of {rule} is “{action}”; expected “flag”, because a finding of this detector is no proof"
    )
    with pytest.raises(WrongState, match=f"^Nothing was changed: {said}\\.$"):
        store_rule(study=study, rule=rule, settings={}, action=action, enabled=True)
    study.design = study.design | {"rules": [{"rule": rule, "action": action, "settings": {}}]}
    with pytest.raises(DesignError, match=f"rules, table 1: {said}"):
        copy_rules(study=study)
    assert not QualityRule.objects.exists()


def test_a_row_of_an_earlier_version_that_excludes_flags_too() -> None:
    study = writing_study(images=3, writing=BOTH)
    QualityRule.objects.create(study=study, rule="pasted-text", settings={}, action="exclude", enabled=True)
    ada = joined(study).worker
    done = write(study, ada, signals=PASTED)
    case = Case.objects.get()
    assert (case.rule, case.action, case.worker) == ("pasted-text", "flag", ada)
    assert not Exclusion.objects.exists()
    assert Participation.objects.get(worker=ada).standing == "active"
    done.refresh_from_db()
    assert done.state == "submitted"


def test_the_evidence_stands_side_by_side_on_the_review_page(designer: Any) -> None:
    study = writing_study(images=6, writers=2)
    store_rule(study=study, rule="phrasing", settings={"least": 3}, action="flag", enabled=True)
    ada, bob = joined(study, "ada").worker, joined(study, "bob").worker
    write(study, ada)
    first = set(Judgment.objects.values_list("unit", flat=True))
    # of other items, so bob's page has to be the other one
    claim = claimed(study, bob)
    if {place.unit.pk for place in claim.page_units} & first:
        submit_assignment(
            assignment=claim.assignment,
            answers=[{"position": n, "answer": f"Nothing like it was seen in place {n}."} for n in (1, 2, 3)],
        )
    write(study, bob, tuple(f"{text}!" for text in TEXTS))
    case = Case.objects.get()
    assert case.worker == bob
    html = designer.get(f"/admin/judgments/study/{study.pk}/review/").content.decode()
    for text in TEXTS:
        assert f"{text}!</td>" in html
        assert f">{text}<br>" in html
    assert "by ada, about another item; similarity 1.0" in html
    assert "This is a hint, not a proof" in html


def test_a_rehearsed_cheat_who_pastes_is_found_and_nobody_who_types() -> None:
    study = make_study(
        make_dataset(images=14, pictures=False), "caption", judgments_per_unit=4, units_per_hit=3,
        controls={"per_hit": 0}, writing=BOTH,
    )  # fmt: skip
    rehearse(
        study=study,
        crowd=RehearsalCrowd(workers=8, spammers=0.25, sorts="pasting", seed=2, rules=True, drop_outs=0.0),
    )
    signs = ("pasted-text", "typing", "phrasing", "canary")
    pasting = set(
        Judgment.objects.filter(signals__pasted__gt=0).values_list("assignment__worker__name", flat=True)
    )
    assert len(pasting) == 2
    flagged = Case.objects.filter(rule__in=signs).values_list("rule", "worker__name")
    assert {name for _, name in flagged} == pasting
    assert {rule for rule, _ in flagged} >= {"pasted-text", "canary"}
    typed = Judgment.objects.exclude(assignment__worker__name__in=pasting)
    assert all(row.signals["keys"] > 0 for row in typed)
    assert not any(word in str(row.answer) for row in typed for word in HIDDEN_WORDS)
    assert not Exclusion.objects.exists()
    assert design_of(study).writing.record
