"""Known items for a draft, chosen from units that were judged before."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from annotation.admin.control_figures import in_words
from evaluation.models import Consensus
from evaluation.services.known_items import candidate_of, settled_units, take_known_items
from judgments.admin.study_pages import Context, StudyPage, StudyStep, add_page, add_step, page_address
from judgments.models import Study

ON_A_PAGE = 50


def show_known(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Units of other studies on which everybody agreed, to tick."""
    kind = context["kind"]
    page = Paginator(_offered(request, study), ON_A_PAGE).get_page(request.GET.get("page"))
    rows = []
    for consensus in page.object_list:
        candidate = candidate_of(kind, consensus)
        if candidate is not None and consensus.unit is not None:
            unit = consensus.unit
            unit.expected = candidate.expected
            rows.append({"consensus": consensus, "unit": unit, "shown": in_words(kind, unit)})
    context |= {
        "page": page,
        "rows": rows,
        "known": study.design.get("controls", {}).get("known", []),
        "may_take": context["may_change"] and study.state == Study.State.DRAFT,
    }
    return TemplateResponse(request, "evaluation/study_known.html", context)


def _offered(request: HttpRequest, study: Study) -> QuerySet[Consensus]:
    """Of studies that the person may look at."""
    return settled_units(study).filter(
        study__in=Study.objects.visible_to(request.user).order_by().values("pk")
    )


def _take(request: HttpRequest, study: Study) -> HttpResponse:
    chosen = [int(pk) for pk in request.POST.getlist("chosen") if pk.isdecimal() and len(pk) < 19]
    chosen = list(_offered(request, study).filter(pk__in=chosen).values_list("pk", flat=True))
    new = take_known_items(study=study, chosen=chosen)
    messages.success(request, f"{new} known item{'' if new == 1 else 's'} added to the design.")
    return redirect(page_address(study, "known"))


add_page(StudyPage(name="known", label="", order=31, view=show_known, under="controls"))
add_step(StudyStep(name="take-known", label="Take known items", run=_take))
