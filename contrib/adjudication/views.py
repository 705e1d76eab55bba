"""The pages of an adjudicator, on which a person decides disputed units one by one."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.admin.views.decorators import staff_member_required
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.errors import AnswerProblem
from annotation.models import Adjudication
from annotation.views.decorators import see_other
from annotation.work.answers.form_answers import answers_of_form, undecided_positions
from annotation.work.sheet.pictures import preview_picture_url
from annotation.work.sheet.texts import translated_text
from annotation.work.worksheet import steps_of
from common.errors import ObjectNotFound, QuorumError
from common.files import can_be_stored
from common.markup import render_markdown
from contrib.adjudication import decisions
from judgments.admin.base import signed_in
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of


def _require_adjudicator(request: HttpRequest) -> None:
    if not decisions.may_adjudicate(signed_in(request)):
        raise PermissionDenied


@never_cache
@require_safe
@staff_member_required
def list_waiting(request: HttpRequest) -> HttpResponse:
    _require_adjudicator(request)
    user = signed_in(request)
    queue = decisions.waiting_adjudications(user)
    counts = dict(queue.order_by().values("study").annotate(n=Count("pk")).values_list("study", "n"))
    decided_count = Adjudication.objects.filter(adjudicator=user, state=Adjudication.State.DECIDED).count()
    context = {
        "studies": [
            {"study": study, "waiting_count": counts[study.pk]}
            for study in Study.objects.filter(pk__in=counts).order_by("name")
        ],
        "first_waiting": queue.values_list("pk", flat=True).first(),
        "decided_count": decided_count,
    }
    return render(request, "annotation/adjudication/waiting.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@staff_member_required
def decide_unit(request: HttpRequest, pk: int) -> HttpResponse:
    _require_adjudicator(request)
    try:
        adjudication = decisions.adjudication_for(user=signed_in(request), pk=pk)
    except ObjectNotFound as error:
        raise Http404(str(error)) from None
    if request.method == "POST":
        try:
            return _store_decision(request, adjudication)
        except AnswerProblem as error:
            return _adjudication_page(request, adjudication, problem=str(error))
        except QuorumError as error:
            messages.error(request, str(error))
            return see_other("adjudication:waiting")
    if adjudication.state != Adjudication.State.WAITING:
        messages.info(
            request,
            _("This item is already decided. To change the decision, ask the person who sent you the item."),
        )
        return redirect("adjudication:waiting")
    return _adjudication_page(request, adjudication)


def _store_decision(request: HttpRequest, adjudication: Adjudication) -> HttpResponse:
    """Store the posted decision, and go to the next waiting unit, of the same study if it has one."""
    kind, page_units = kind_of(adjudication.study), [decisions.page_unit_of(adjudication)]
    if not can_be_stored(dict(request.POST.lists())):
        raise AnswerProblem(_("Nothing was saved: a text contains characters that cannot be stored."))
    answers = answers_of_form(request.POST, page_units, kind=kind, final=True, saved={})  # no draft
    if not answers or undecided_positions(request.POST, page_units, kind):
        raise AnswerProblem(_("Nothing was decided: choose an answer."))
    decisions.decide_adjudication(
        adjudication=adjudication, answer=answers[0]["value"], reason=request.POST.get("reason", "")
    )
    queue = decisions.waiting_adjudications(signed_in(request))
    next_adjudication = (
        queue.filter(study=adjudication.study, pk__gt=adjudication.pk).first() or queue.first()
    )
    if next_adjudication is None:
        messages.success(request, _("Your decision is stored. There are no more items for you to decide."))
        return see_other("adjudication:waiting")
    return see_other("adjudication:decide", next_adjudication.pk)


def _adjudication_page(request: HttpRequest, adjudication: Adjudication, problem: str = "") -> HttpResponse:
    """Show the unit as workers see it, with a field for the reason."""
    study, unit = adjudication.study, adjudication.unit
    design = design_of(study)
    (step,) = steps_of(
        [decisions.page_unit_of(adjudication)],
        design=design,
        picture_url=lambda page_unit: preview_picture_url(unit.item),
        answers={},
    )
    queue = decisions.waiting_adjudications(signed_in(request))
    next_waiting = queue.filter(pk__gt=adjudication.pk).first() or queue.exclude(pk=adjudication.pk).first()
    context = {
        "adjudication": adjudication,
        "study": study,
        "kind": KINDS[study.protocol].for_design(design),
        "step": step,
        "waiting_count": queue.count(),
        "next_waiting": next_waiting,
        "problem": problem,
        "reason": request.POST.get("reason", ""),
        "design": design,
        "instructions": render_markdown(translated_text(design.instructions)) if design.instructions else "",
    }
    return render(request, "annotation/adjudication/decide.html", context, status=400 if problem else 200)
