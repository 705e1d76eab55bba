"""The page "Detectors" of a study: each detector with its settings, its action, and how often it flagged."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Case, QualityRule
from annotation.quality.detectors import RULES, installed_rule
from annotation.quality.histories import answer_format_of
from annotation.quality.operations import set_rule
from annotation.quality.rules import RECOMMENDED_RULES, make_study_rule
from common.errors import WrongState
from judgments.design.editing.rows import DETECTORS
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

# labels of settings by "detector setting", or by the setting alone if it means the same for all detectors
SETTING_LABELS = {
    "least": gettext_noop("Minimum number of answers"),
    "alpha": gettext_noop("Maximum false positive rate (alpha)"),
    "control-accuracy least": gettext_noop("Minimum number of check questions"),
    "control-accuracy threshold": gettext_noop("Pass mark"),
    "disagreement of_crowd": gettext_noop(
        "Minimum agreement, as a fraction of the agreement among the other participants"
    ),
    "repeat-consistency least": gettext_noop("Minimum number of repeated items"),
    "repeat-consistency threshold": gettext_noop("Minimum share of equal answers"),
    "side-bias tolerance": gettext_noop("Tolerated side bias (share above one half)"),
    "straight-lining tolerance": gettext_noop("Tolerance for runs of equal answers (0 to 1)"),
    "too-fast of_crowd": gettext_noop(
        "Minimum time, as a fraction of the time that the other participants take"
    ),
    "too-fast seconds": gettext_noop("Minimum time (seconds)"),
    "too-fast share": gettext_noop("Maximum share of fast answers"),
}

ACTION_LABELS = {
    QualityRule.Action.FLAG.value: gettext_noop("flag for review"),
    QualityRule.Action.PAUSE.value: gettext_noop(
        "pause the participant until somebody has reviewed the flag"
    ),
    QualityRule.Action.EXCLUDE.value: gettext_noop("exclude the participant"),
}


@study_page(
    "rules",
    "Detectors",
    order=46,
    section=StudySection.LIVE,
    section_before_opening=StudySection.DESIGN,
    help="quality.md",
)
def show_rules(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    is_unopened = study.state in (Study.State.DRAFT, Study.State.GENERATED)
    rows = {row.rule: row for row in QualityRule.objects.filter(study=study).select_related("changed_by")}
    # detectors of the design, which are copied into rows when the study opens
    design_rules = design_of(study).rules if is_unopened else ()
    rules_from_opening = {entry.rule: entry for entry in design_rules if entry.rule not in rows}
    # action and settings of each detector without a row
    proposals = {name: (action, settings) for name, action, settings in RECOMMENDED_RULES}
    for name, entry in rules_from_opening.items():
        proposals[name] = (entry.action, entry.settings)
    flags = Case.objects.filter(study=study).order_by().values_list("rule")
    flag_counts: dict[str, int] = dict(flags.annotate(flags=Count("pk")))
    answer_format = answer_format_of(study)
    rules = []
    for name, rule in RULES.items():
        row = rows.get(name)
        applies = rule.applies_to(answer_format)
        action, settings = (row.action, row.settings) if row else proposals.get(name, ("flag", {}))
        rules.append(
            {
                "name": name,
                "title": _(rule.title),
                "description": _(rule.description),
                "false_alarms": _(rule.false_alarms) if rule.false_alarms else "",
                "only_flags": rule.only_flags,
                "applies": applies,
                # detectors that only flag examine how texts were written, which pages may not record
                "lacks_data": answer_format.is_text and rule.only_flags and not applies,
                "row": row,
                "starts_at_opening": name in rules_from_opening,
                "action": action,
                "settings": _setting_fields(study, name, settings),
                "flag_count": flag_counts.get(name, 0),
            }
        )
    context |= {
        "rules": rules,
        "unsuitable_rules": [rule for rule in rules if not rule["applies"]],
        "actions": [(value, _(label)) for value, label in ACTION_LABELS.items()],
        "enabled_count": sum(row.enabled for name, row in rows.items() if name in RULES),
        "starting_count": sum(name in RULES for name in rules_from_opening),
        "absent_rules": [_title_of(name) for name in (*rows, *rules_from_opening) if name not in RULES],
    }
    return TemplateResponse(request, "admin/annotation/study_rules.html", context)


def _title_of(name: str) -> str:
    """Return the title of a detector whose feature may be off; its name if it is not installed."""
    rule = installed_rule(name)
    return _(rule.title) if rule else name


def _setting_fields(study: Study, name: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a detector's form: all its settings, with their values in this study."""
    try:
        rule = make_study_rule(study, name, settings)
    except WrongState:  # the row is of another version, so the form starts from the default settings
        rule = make_study_rule(study, name, {})
    return [
        {
            "name": key,
            "label": setting_label(name, key),
            "value": f"{value:g}",
            "is_integer": isinstance(value, int),
        }
        for key, value in rule.model_dump().items()
    ]


def setting_label(rule: str, setting: str) -> str:
    """Return the label of a detector's setting in the reader's language."""
    label = RULES[rule].setting_labels.get(setting) or SETTING_LABELS.get(f"{rule} {setting}")
    return _(label or SETTING_LABELS.get(setting, setting))


# the titles for the form of a design, whose app must not import this one
DETECTORS.update({name: rule.title for name, rule in RULES.items()})
# fields=(): the template of the page has the form
add_operation(set_rule, name="save-rule", label="Change a detector", fields=())
