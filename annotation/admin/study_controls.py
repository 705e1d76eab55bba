"""The control items of a study: to look through before workers see them, and to watch while they answer."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.admin.control_figures import FIGURES, grouped, used_up
from annotation.services.stopping import settle_study
from judgments.admin.study_pages import Context, Group, StudyPage, StudyStep, add_page, add_step
from judgments.errors import WrongState
from judgments.models import Study, Unit
from judgments.remembered import certain, remembered
from judgments.services.generation import strike_control
from judgments.services.studies import design_of

ITEMS_ON_A_PAGE = 60


def show_controls(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Each control item with its picture, what is shown, which answer counts as right, and how workers fared."""
    units = (
        Unit.objects.filter(study=study, control=True)
        .exclude(control_kind=Unit.ControlKind.QUIZ)
        .select_related("item__dataset", "reference", "first", "second")
        .order_by("position")
    )
    page = Paginator(units, ITEMS_ON_A_PAGE).get_page(request.GET.get("page"))
    counted = remembered(study, FIGURES)
    figures = certain(counted)
    context |= {
        "counted": counted,
        "page": page,
        "groups": grouped(context["kind"], list(page.object_list), figures.fared),
        "figures": figures,
        "design": design_of(study),
        "pool": study.notes.get("control_pool"),
        "alarm": used_up(study),
        "may_strike": context["may_change"] and study.source == Study.Source.DESIGNED,
    }
    return TemplateResponse(request, "admin/annotation/study_controls.html", context)


def _strike(request: HttpRequest, study: Study) -> None:
    """Strike one item, or all under an image: all or none."""
    keys = request.POST.get("units", "").split()
    if not keys:
        raise WrongState("Nothing was struck: the items named were struck before.")
    with transaction.atomic():
        for key in keys:
            strike_control(study=study, unit_key=key)
        settle_study(study=study)  # it may change whose judgments are used
    count = "One control item was" if len(keys) == 1 else f"{len(keys)} control items were"
    if study.opened_at is not None:
        what = (
            "what workers answered on it stays" if len(keys) == 1 else "what workers answered on them stays"
        )
        messages.success(request, f"{count} struck; {what}, and counts for nobody.")
        return
    messages.success(request, f"{count} struck; no worker will see {'it' if len(keys) == 1 else 'them'}.")


add_page(StudyPage(name="controls", label="Control items", order=30, view=show_controls, group=Group.PREPARE))
add_step(StudyStep(name="strike", label="Strike control items", run=_strike))
