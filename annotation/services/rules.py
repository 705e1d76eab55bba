"""The rules of a study as rows: copied from its design, changed by a designer, and made into rules that look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.histories import answers_of
from annotation.models import QualityRule
from annotation.rules import RULES, ControlAccuracy, Rule, make_rule
from judgments.errors import DesignError, WrongState
from judgments.models import Study
from judgments.services.events import note_event
from judgments.services.studies import design_of

# What a designer gets who asks for rules and names none: each acts when it is sure, and a person decides the rest.
RECOMMENDED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("too-fast", "pause", {}),
    ("straight-lining", "pause", {}),
    ("side-bias", "pause", {}),
    ("alternation", "pause", {}),
    ("disagreement", "flag", {"of_crowd": 0.5}),
    ("pasted-text", "flag", {}),
    ("control-accuracy", "exclude", {}),
    ("repeat-consistency", "flag", {}),
)


def settings_of(study: Study, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """``settings`` over what the study's design says of control items."""
    if name != ControlAccuracy.name:
        return dict(settings)
    # the stored design as it is: to check all of it again would take longer than everything else that a look does
    controls = study.design.get("controls", {})
    below = {"least": controls.get("after"), "threshold": controls.get("threshold")}
    return {key: value for key, value in below.items() if value is not None} | dict(settings)


def rule_of(study: Study, name: str, settings: Mapping[str, Any]) -> Rule:
    """The rule as it looks at this study.

    Raises:
        WrongState: there is no such rule, or no such setting; it says which.
    """
    try:
        return make_rule(name, settings_of(study, name, settings))
    except ValueError as error:
        raise WrongState(f"Nothing was changed: {error}.") from None


@transaction.atomic
def copy_rules(*, study: Study) -> int:
    """The rules of the design as rows that watch the study; how many are new. A rule that has a row keeps it, whatever
    the designer has made of it since.

    Raises:
        DesignError: the design names a rule or a setting that there is not.
    """
    there = set(QualityRule.objects.filter(study=study).values_list("rule", flat=True))
    new = []
    for number, entry in enumerate(design_of(study).rules, start=1):
        try:
            make_rule(entry.rule, settings_of(study, entry.rule, entry.settings))
        except ValueError as error:
            raise DesignError(f"rules, table {number}: {error}.", field="rules") from None
        if entry.rule in there:
            continue
        there.add(entry.rule)
        new.append(
            QualityRule(
                study=study, rule=entry.rule, settings=entry.settings, action=entry.action, enabled=True
            )
        )
    QualityRule.objects.bulk_create(new)
    return len(new)


def recommend_rules(*, study: Study) -> int:
    """Switch the recommended rules on in a study that has none; how many. Those that mean nothing there stay out."""
    if QualityRule.objects.filter(study=study).exists():
        return 0
    answers = answers_of(study)
    made = QualityRule.objects.bulk_create(
        QualityRule(study=study, rule=name, settings=settings, action=action, enabled=True)
        for name, action, settings in RECOMMENDED
        if RULES[name].applies(answers)
    )
    return len(made)


@transaction.atomic
def set_rule(
    *,
    study: Study,
    rule: str,
    settings: Mapping[str, Any],
    action: str,
    enabled: bool,
    by: User | None = None,
) -> QualityRule:
    """Change what a rule does in the study from now on; what it did stays.

    Raises:
        WrongState: no such rule, setting or action; nothing changes.
    """
    rule_of(study, rule, settings)
    if action not in QualityRule.Action.values:
        raise WrongState(
            f"Nothing was changed: {action!r} is none of {', '.join(QualityRule.Action.values)}."
        )
    row, _ = QualityRule.objects.update_or_create(
        study=study,
        rule=rule,
        defaults={
            "settings": dict(settings),
            "action": action,
            "enabled": enabled,
            "changed_by": by,
            "changed_at": timezone.now(),
        },
    )
    note_event(
        study=study,
        what="rule-changed",
        words=f"The rule {rule} is {f'on; it will {action}' if enabled else 'off'}.",
        by=by,
        rule=rule,
        action=action,
        enabled=enabled,
        settings=dict(settings),
    )
    return row
