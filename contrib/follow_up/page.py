"""The page "Known items": other studies' units with a consensus, for check questions; buttons for follow-up drafts."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import ngettext

from annotation.quality.control_figures import describe_control_item
from contrib.follow_up.batches import more_items, next_batch
from contrib.follow_up.known_items import (
    TakeKnownItemsRequest,
    candidate_of,
    take_known_items,
    visible_units_for_known_items,
)
from evaluation.models import Consensus
from judgments.models import Study
from judgments.studies.pages import Context, StudyStep
from judgments.studies.step_form import add_operation, read_posted_parameters
from judgments.studies.study_page import add_step, study_page, study_page_address

PAGE_SIZE = 50


@study_page("known", order=31, parent_page="controls")
def show_known(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    kind = context["kind"]
    page = Paginator(_visible_consensus(request, study), PAGE_SIZE).get_page(request.GET.get("page"))
    rows = []
    for consensus in page.object_list:
        known_item = candidate_of(kind, consensus)
        unit = consensus.unit
        # None if people gave different grades: the query finds unanimous votes of other kinds only
        if known_item is not None and unit is not None:
            unit.expected = known_item.expected  # only to describe it; the unit is not saved
            rows.append({"consensus": consensus, "unit": unit, "shown": describe_control_item(kind, unit)})
    context |= {
        "page": page,
        "rows": rows,
        "known_items": study.design.get("controls", {}).get("known", []),
        "may_take": context["may_change"] and study.state == Study.State.DRAFT,
    }
    return TemplateResponse(request, "evaluation/study_known.html", context)


def _visible_consensus(request: HttpRequest, study: Study) -> QuerySet[Consensus]:
    return visible_units_for_known_items(study, Study.objects.visible_to(request.user))


def _take_items(request: HttpRequest, study: Study) -> HttpResponse:
    rows = _visible_consensus(request, study)
    rows = rows.filter(pk__in=read_posted_parameters(request, TakeKnownItemsRequest)["chosen"])
    ids = list(rows.values_list("pk", flat=True))
    added_count = take_known_items(study=study, consensus_ids=ids)
    sentence = ngettext(
        "%(n)s known item added to the design.", "%(n)s known items added to the design.", added_count
    )
    messages.success(request, sentence % {"n": added_count})
    return redirect(study_page_address(study, "known"))


add_step(StudyStep(name="take-known", label="Add known items", run=_take_items))

# their forms are in the page of the error analysis, where rows are selected, and beside the winner of the results
add_operation(next_batch, label="Create a study from the selected rows", result_page="change", inline=False)
add_operation(more_items, label="Create a draft with new items", result_page="change", inline=False)
