"""The rules of a study: on or off, what they do, their settings, and whom they would have found."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from rest_framework import serializers

from annotation.models import Case, Judgment, QualityRule
from annotation.quality.detectors import RULES
from annotation.quality.histories import answers_of, judged
from annotation.quality.operations import TryRequest, set_rule, settings_of
from annotation.quality.rules import RECOMMENDED, replay_rule, rule_of
from common.errors import QuorumError, WrongState
from common.parameters import sentence_of
from judgments.admin.operations import add_operation, posted
from judgments.models import Study
from judgments.studies.studies import design_of
from judgments.studies.study_page import (
    Context,
    Group,
    StudyPage,
    StudyStep,
    add_page,
    add_step,
    page_address,
)

MOST_TO_REPLAY = 50_000  # judgments; more are a command's work
LABELS = {
    "least": "Looks from so many answers",
    "alpha": "False alarms at most (alpha)",
    "control-accuracy least": "Looks from so many control items",
    "control-accuracy threshold": "Least share right",
    "disagreement of_crowd": "Share of the others' agreement",
    "pasted-text share": "Share pasted",
    "repeat-consistency least": "Looks from so many repeats",
    "repeat-consistency threshold": "Least share answered alike",
    "side-bias tolerance": "Habit that is let pass (share beyond half)",
    "straight-lining tolerance": "Tolerance towards long runs (0 to 1)",
    "too-fast of_crowd": "Share of the others' time",
    "too-fast seconds": "Too fast below (seconds)",
    "too-fast share": "Share of answers so fast",
}


def show_rules(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    unopened = study.state in (Study.State.DRAFT, Study.State.GENERATED)
    rows = {row.rule: row for row in QualityRule.objects.filter(study=study).select_related("changed_by")}
    chosen = {name: (action, settings) for name, action, settings in RECOMMENDED}
    waiting = (
        {entry.rule: entry for entry in design_of(study).rules if entry.rule not in rows} if unopened else {}
    )
    chosen |= {name: (entry.action, entry.settings) for name, entry in waiting.items()}
    of_rules = Case.objects.filter(study=study).order_by().values_list("rule")
    cases: dict[str, int] = dict(of_rules.annotate(found=Count("pk")))
    answers = answers_of(study)
    rules = []
    for name, kind in RULES.items():
        row = rows.get(name)
        action, settings = (row.action, row.settings) if row else chosen[name]
        rules.append(
            {
                "name": name,
                "title": kind.title,
                "about": kind.about,
                "applies": kind.applies(answers),
                "row": row,
                "waits": name in waiting,
                "action": action,
                "settings": _fields(study, name, settings),
                "cases": cases.get(name, 0),
            }
        )
    context |= {
        "rules": rules,
        "actions": QualityRule.Action.choices,
        "watching": sum(row.enabled for row in rows.values()),
        "waiting": len(waiting),
    }
    return TemplateResponse(request, "admin/annotation/study_rules.html", context)


def _fields(study: Study, name: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    try:
        rule = rule_of(study, name, settings)
    except WrongState:  # a row of another version: the form starts from the rule's own settings
        rule = rule_of(study, name, {})
    return [
        {"name": key, "label": label_of(name, key), "value": f"{value:g}", "whole": isinstance(value, int)}
        for key, value in rule.model_dump().items()
    ]


def label_of(rule: str, setting: str) -> str:
    return LABELS.get(f"{rule} {setting}") or LABELS.get(setting, setting)


def show_replay(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show whom a rule would have flagged in finished work, with the settings of the query."""
    name = request.GET.get("rule", "")
    # counted no further than the bound, and revised ones too: which are current, a database looks up for all of them
    answers = Judgment.objects.filter(assignment__study=study, assignment__submitted_at__isnull=False)
    count = answers.order_by()[: MOST_TO_REPLAY + 1].count()
    if count <= MOST_TO_REPLAY:
        count = judged(study).count()
    context |= {"subtitle": "Replay", "rule_name": name, "count": count, "most": MOST_TO_REPLAY}
    try:
        if count <= MOST_TO_REPLAY:
            settings = settings_of(study, name, request.GET.dict())
            context["replay"] = replay_rule(study=study, rule=name, settings=settings)
            context["rule_title"] = RULES[name].title
    except QuorumError as error:
        context["problem"] = str(error)
    except serializers.ValidationError as error:
        context["problem"] = sentence_of(error.detail)
    return TemplateResponse(request, "admin/annotation/study_replay.html", context)


def _try(request: HttpRequest, study: Study) -> HttpResponse:
    """Redirect to the replay with the settings of the form."""
    values = posted(request, TryRequest)
    query = urlencode({"rule": request.POST.get("rule", ""), **values.get("settings", {})})
    return redirect(f"{page_address(study, 'replay')}?{query}")


add_page(StudyPage(name="rules", label="Detectors", order=44, view=show_rules, group=Group.CHECK))
add_page(StudyPage(name="replay", label="", order=0, view=show_replay, under="rules"))
add_operation(set_rule, name="save-rule", label="Change a detector", fields=())
add_step(StudyStep(name="try-rule", label="Try a detector", run=_try, permission="view"))
