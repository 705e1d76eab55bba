"""The pages "Error analysis" of a study: the list of disagreements, and a single pair or text."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from unfold.widgets import UnfoldAdminSelectWidget

from common.amounts import DASH, coefficient, percent, percent_number
from common.errors import ObjectNotFound
from contrib.error_analysis.disagreements import MetricDisagreement, disagreements_at
from contrib.error_analysis.inspection import Inspection, all_metric_scores, read_inspection
from contrib.error_analysis.stored_rankings import find_disagreements, newest_evaluation
from evaluation.models import Analysis
from evaluation.results.consensus.study import SIDE_LABELS
from judgments.admin.addresses import picture_address
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.pages import Context, StudySection, can_be_evaluated
from judgments.studies.study_page import study_page, study_page_address
from quorum.statistics.meta.accuracy import metric_winners

PAGE_SIZE = 25


class ErrorAnalysisForm(forms.Form):
    """The choice of the metric, and of the kind of pairs."""

    def __init__(self, data: Any, *, metrics: list[str], kinds: list[str]) -> None:
        super().__init__(data)
        self.fields["metric"] = forms.ChoiceField(
            label=_("Metric"), choices=[(name, name) for name in metrics], widget=UnfoldAdminSelectWidget
        )
        if kinds:
            self.fields["kind"] = forms.ChoiceField(
                label=_("Pairs"), required=False, widget=UnfoldAdminSelectWidget,
                choices=[("", _("All kinds")), *((name, name) for name in kinds)],
            )  # fmt: skip


@study_page(
    "closer",
    "Error analysis",
    order=52,
    has_tab=can_be_evaluated,
    section=StudySection.FINDINGS,
    results_label=gettext_noop("Where metrics and people disagree"),
    style="css/closer.css",
)
def show_disagreements(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    compares_pairs = KINDS[study.protocol].compares_pairs
    analysis = newest_evaluation(study)
    context |= {"analysis": analysis, "compares_pairs": compares_pairs}
    if analysis is None:
        return TemplateResponse(request, "evaluation/study_closer.html", context)
    metrics = list(analysis.result["metrics"])
    metric = request.GET.get("metric", "")
    if metric not in metrics:
        metric = metrics[-1]  # of the default metrics, this is cider-d
    ranked_disagreements = find_disagreements(study, analysis, metric, wait=False)  # a job may rank them
    kinds = sorted({kind for kind in ranked_disagreements.kinds if kind})
    kind = request.GET.get("kind", "")
    if kind not in kinds:
        kind = ""
    page = Paginator(ranked_disagreements.of_kind(kind), PAGE_SIZE).get_page(request.GET.get("page"))
    disagreements = disagreements_at(study, analysis, ranked_disagreements, list(page.object_list))
    context |= {
        "form": ErrorAnalysisForm(
            {"metric": metric, "kind": kind}, metrics=metrics, kinds=kinds if len(kinds) > 1 else []
        ),
        "metric": metric,
        "page": page,
        "filter_query": "&" + urlencode({"metric": metric, "kind": kind}),
        "compared_count": ranked_disagreements.ranking.compared,
        "rows": [_disagreement_row(study, metric, disagreement) for disagreement in disagreements],
        # The feature `follow_up` adds this step.
        "can_select": "next-batch" in context["steps"] and _can_be_judged_again(study),
    }
    return TemplateResponse(request, "evaluation/study_closer.html", context)


def _can_be_judged_again(study: Study) -> bool:
    """Return whether a new draft can ask about selected rows. Captions of imported studies cannot be sampled again."""
    kind = KINDS[study.protocol]  # only some kinds can sample units by their ids
    return kind.supports_unit_ids and (kind.compares_pairs or study.source == Study.Source.DESIGNED)


def _disagreement_row(study: Study, metric: str, disagreement: MetricDisagreement) -> dict[str, Any]:
    """Return a disagreement as the list shows it, the chosen metric first. Certainties of captions are percentiles."""
    compares_pairs = KINDS[study.protocol].compares_pairs
    judged_row, consensus = disagreement.row, disagreement.consensus
    texts = [judged_row.first.text, judged_row.second.text] if compares_pairs else [judged_row.first.text]
    value = consensus.value if consensus else None
    names = sorted(disagreement.scores, key=lambda name: name != metric)
    return {
        "key": judged_row.key,
        "link": f"{study_page_address(study, 'closer-look')}?{urlencode({'id': judged_row.key, 'metric': metric})}",
        "kind": judged_row.kind,
        "image": judged_row.item.name,
        "picture": picture_address(judged_row.item),
        "texts": [
            (str(number), text, compares_pairs and value == number)
            for number, text in enumerate(texts, start=1)
        ],
        "people_answer": _describe_people(consensus, compares_pairs),
        "people_certainty": percent(disagreement.people),
        "metric_certainty": percent(disagreement.metric),
        "scores": [(name, *side_by_side(*disagreement.scores[name])) for name in names],
    }


def _describe_people(consensus: Any, compares_pairs: bool) -> str:
    """Return people's consensus on a pair or a unit in words. ``consensus`` is its ``Consensus``, or None."""
    if consensus is None or (compares_pairs and consensus.value is None):
        return _("no consensus")
    if not compares_pairs:
        if consensus.share is not None:
            share = percent_number(consensus.share)
            return _("%(share)s %% “yes” (answers: %(n)s)") % {"share": share, "n": consensus.n}
        mean = DASH if consensus.value is None else coefficient(consensus.value)
        return _("mean %(value)s (answers: %(n)s)") % {"value": mean, "n": consensus.n}
    if not consensus.votes:
        return _("text %(value)s (the winner was published without the votes)") % {
            "value": f"{consensus.value:.0f}"
        }
    wins, losses = consensus.votes.get("wins", 0), consensus.votes.get("losses", 0)
    sentence = ngettext(
        "text %(value)s, chosen for %(chosen)s of %(n)s item",
        "text %(value)s, chosen for %(chosen)s of %(n)s items",
        consensus.n,  # the pair's items: in triplets one for each reference
    )
    return sentence % {"value": f"{consensus.value:.0f}", "chosen": max(wins, losses), "n": consensus.n}


def side_by_side(first: float, second: float | None) -> tuple[str, str]:
    """Format two scores with two digits, or with up to four digits if they would look equal."""
    if second is None:
        return coefficient(first), ""
    formatted_pairs = [(coefficient(first, digits), coefficient(second, digits)) for digits in (2, 3, 4)]
    return next((pair for pair in formatted_pairs if pair[0] != pair[1]), formatted_pairs[0])


def _format_score(value: float) -> str:
    would_look_like_zero = 0 < abs(value) < 0.0005
    return "< .001" if would_look_like_zero else coefficient(value, 3)


@study_page("closer-look", order=53, parent_page="closer", style="css/closer.css")
def show_inspection(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    try:
        inspection = read_inspection(study, request.GET.get("id", "")[:80])
    except ObjectNotFound:
        raise Http404 from None
    analysis = newest_evaluation(study)
    metric = request.GET.get("metric", "")
    list_address = study_page_address(study, "closer")
    context |= {
        "inspection": inspection,
        "picture": picture_address(inspection.item),
        "source": design_of(study).source,
        "captions": [
            (number, caption, inspection.consensus is not None and inspection.consensus.value == number)
            for number, caption in enumerate(inspection.captions, start=1)
        ],
        "compares_pairs": len(inspection.captions) == 2,
        "people_answer": _describe_people(inspection.consensus, len(inspection.captions) == 2),
        "vote_rows": _vote_rows(study, inspection),
        "metric_rows": _metric_rows(analysis, inspection) if analysis else [],
        "list_link": f"{list_address}?{urlencode({'metric': metric})}" if metric else list_address,
    }
    return TemplateResponse(request, "evaluation/study_closer_one.html", context)


def _vote_rows(study: Study, inspection: Inspection) -> list[dict[str, Any]]:
    """Return each unit with its reference and people's answers in words."""
    kind = kind_of(study)
    labels, two_sided = {choice.value: choice.text for choice in kind.choices}, kind.two_sided

    def describe_value(value: float | None) -> str:
        if value is None:
            return "–"
        if two_sided:
            side = kind.outcome_of(int(value))
            is_text = side in (1, 2)
            return _("text %(number)s") % {"number": f"{side}"} if is_text else str(SIDE_LABELS[side])
        return labels.get(int(value), f"{value:g}")

    return [
        {
            "unit": unit.key,
            "reference": unit.reference.text if unit.reference else "",
            "votes": [(vote.worker, describe_value(vote.value), vote.used) for vote in votes],
        }
        for unit, votes in inspection.votes
    ]


def _metric_rows(analysis: Analysis, inspection: Inspection) -> list[dict[str, Any]]:
    """Return the scores of all metrics, the winner that each names, and whether people name the same."""
    rows = []
    value = inspection.consensus.value if inspection.consensus else None
    for name, (first, second) in all_metric_scores(analysis, inspection).items():
        row = {"name": name, "first": _format_score(first), "second": "", "winner": ""}
        agrees_with_people = None
        if second is not None:
            winner = int(metric_winners([first], [second])[0])  # 0 for a tie
            row |= {"second": _format_score(second), "winner": str(winner) if winner else _("tie")}
            if value is not None:
                agrees_with_people = winner == value
        rows.append({**row, "agrees_with_people": agrees_with_people})
    return rows
