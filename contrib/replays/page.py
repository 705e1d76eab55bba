"""The page "Replay" of a study, and the step "Try a detector" that leads to it."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from rest_framework import serializers

from annotation.models import Judgment
from annotation.quality.detectors import RULES, describe_evidence
from common.errors import QuorumError, sentence_of
from contrib.replays.operations import RuleSettingsRequest, settings_from_query
from contrib.replays.rule_replays import MAX_REPLAYED_JUDGMENTS, FlaggedWorker, Replay, replay_rule
from contrib.replays.submitted_pages import finished_judgments
from judgments.models import Study
from judgments.studies.pages import Context, StudyStep
from judgments.studies.step_form import read_posted_parameters
from judgments.studies.study_page import add_step, study_page, study_page_address


@study_page("replay", order=0, parent_page="rules")
def show_replay(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show the workers whom a detector would have flagged in finished work, with the settings in the address."""
    name = request.GET.get("rule", "")
    # Count up to the limit, including revised judgments. To leave those out, the database would read all rows.
    answers = Judgment.objects.filter(assignment__study=study, assignment__submitted_at__isnull=False)
    judgment_count = answers.order_by()[: MAX_REPLAYED_JUDGMENTS + 1].count()
    if judgment_count <= MAX_REPLAYED_JUDGMENTS:
        judgment_count = finished_judgments(study).count()
    context |= {
        "subtitle": _("Replay"),
        "rule_name": name,
        "judgment_count": judgment_count,
        "max_judgments": MAX_REPLAYED_JUDGMENTS,
    }
    try:
        if judgment_count <= MAX_REPLAYED_JUDGMENTS:
            settings = settings_from_query(study, name, request.GET.dict())
            replay = replay_rule(study=study, rule=name, settings=settings)
            context["replay"] = replay
            context["flagged_workers"] = [(worker, _evidence_of(replay, worker)) for worker in replay.found]
            context["rule_title"] = _(RULES[name].title)
    except QuorumError as error:
        context["problem"] = str(error)
    except serializers.ValidationError as error:
        context["problem"] = sentence_of(error.detail)
    return TemplateResponse(request, "admin/annotation/study_replay.html", context)


def _evidence_of(replay: Replay, worker: FlaggedWorker) -> str:
    return describe_evidence(
        replay.rule, {"words": worker.words, "numbers": worker.numbers, "settings": replay.settings}
    )


def _try_rule(request: HttpRequest, study: Study) -> HttpResponse:
    values = read_posted_parameters(request, RuleSettingsRequest)
    query = urlencode({"rule": request.POST.get("rule", ""), **values.get("settings", {})})
    return redirect(f"{study_page_address(study, 'replay')}?{query}")


add_step(StudyStep(name="try-rule", label="Try a detector", run=_try_rule, permission="view"))
