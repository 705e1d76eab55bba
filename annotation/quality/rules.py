"""Store a study's detectors as rows: copied from the design, recommended, or set by a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import QualityRule
from annotation.quality.detectors import RULES, make_rule
from annotation.quality.detectors.base import Rule
from annotation.quality.detectors.correctness import ControlAccuracy
from annotation.quality.histories import answer_format_of
from common.errors import DesignError, WrongState
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.designs import design_of

# The name, action and settings of each detector of a study whose design names none. Only detectors with strong evidence
# pause or exclude a worker; the others flag, so that a person decides.
RECOMMENDED_RULES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("too-fast", "pause", {}),
    ("straight-lining", "pause", {}),
    ("side-bias", "pause", {}),
    ("alternation", "pause", {}),
    ("disagreement", "flag", {"of_crowd": 0.5}),  # half of the others' agreement with each other is expected
    *((name, "flag", {}) for name, rule in RULES.items() if rule.is_recommended),  # those of features
    ("control-accuracy", "exclude", {}),
    ("repeat-consistency", "flag", {}),
)


def _with_design_settings(study: Study, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a detector's settings. Defaults of ``ControlAccuracy`` are the pass mark and ``controls.after``."""
    if name != ControlAccuracy.name:
        return dict(settings)
    # read the stored JSON: validating the whole design takes longer than examining a worker
    controls = study.design.get("controls", {})
    pass_mark = {"least": controls.get("after"), "threshold": controls.get("threshold")}
    defaults = {key: value for key, value in pass_mark.items() if value is not None}
    return {**defaults, **settings}


def make_study_rule(study: Study, name: str, settings: Mapping[str, Any]) -> Rule:
    """Return the study's detector with this name. Raise WrongState if the detector or a setting is unknown or wrong."""
    try:
        return make_rule(name, _with_design_settings(study, name, settings))
    except ValueError as error:
        raise WrongState(_("Nothing was changed: %(error)s.") % {"error": error}) from None


def check_action(rule: Rule, action: str) -> None:
    """Raise ValueError if a detector that may only flag has another action."""
    if rule.only_flags and action != QualityRule.Action.FLAG:
        raise ValueError(
            _(
                "the action of %(rule)s is “%(action)s”; expected “flag”, because a finding of "
                "this detector is no proof"
            )
            % {"rule": rule.name, "action": action}
        )


@transaction.atomic
def copy_rules(*, study: Study) -> int:
    """Copy the design's detectors into rows, except those that already have a row. Return the number of new rows.

    Raises:
        DesignError: the design names a detector, a setting or an action that is wrong.
    """
    stored_names = set(QualityRule.objects.filter(study=study).values_list("rule", flat=True))
    new_rows = []
    for number, entry in enumerate(design_of(study).rules, start=1):
        try:
            rule = make_rule(entry.rule, _with_design_settings(study, entry.rule, entry.settings))
            check_action(rule, entry.action)
        except ValueError as error:
            raise DesignError(
                _("rules, table %(number)s: %(error)s.") % {"number": number, "error": error}, field="rules"
            ) from None
        if entry.rule in stored_names:
            continue
        stored_names.add(entry.rule)
        new_rows.append(
            QualityRule(
                study=study, rule=entry.rule, settings=entry.settings, action=entry.action, enabled=True
            )
        )
    QualityRule.objects.bulk_create(new_rows)
    return len(new_rows)


def recommend_rules(*, study: Study) -> int:
    """Enable the recommended detectors that apply, in a study without detectors. Return their number."""
    if QualityRule.objects.filter(study=study).exists():
        return 0
    answers = answer_format_of(study)
    rows = QualityRule.objects.bulk_create(
        QualityRule(study=study, rule=name, settings=settings, action=action, enabled=True)
        for name, action, settings in RECOMMENDED_RULES
        if RULES[name].applies_to(answers)
    )
    return len(rows)


@transaction.atomic
def store_rule(
    *,
    study: Study,
    rule: str,
    settings: Mapping[str, Any],
    action: str,
    enabled: bool,
    by: User | None = None,
) -> QualityRule:
    """Store a detector's settings and action. Raise WrongState if they are wrong."""
    try:
        check_action(make_study_rule(study, rule, settings), action)
    except ValueError as error:
        raise WrongState(_("Nothing was changed: %(error)s.") % {"error": error}) from None
    row, _is_new = QualityRule.objects.update_or_create(
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
        sentence=f"The detector {rule} is {f'on; it will {action}' if enabled else 'off'}.",
        by=by,
        rule=rule,
        action=action,
        enabled=enabled,
        settings=dict(settings),
    )
    return row
