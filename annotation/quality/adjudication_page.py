"""A chosen person decides disputed units, one after another, without seeing votes or workers."""

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
from annotation.quality import adjudication as services
from annotation.views.common import see_other
from annotation.work.pictures import preview_picture_url
from annotation.work.presentation import worded
from annotation.work.worksheet import answers_of_form, sheet_of, undecided
from common.errors import NotThere, QuorumError
from common.files import can_be_stored
from common.markup import render_markdown
from judgments.admin.base import signed_in
from judgments.kinds import KINDS
from judgments.studies.studies import design_of


def _refuse_others(request: HttpRequest) -> None:
    if not services.may_adjudicate(signed_in(request)):
        raise PermissionDenied


@never_cache
@require_safe
@staff_member_required
def waiting(request: HttpRequest) -> HttpResponse:
    """Show the units that wait for this person, by study."""
    _refuse_others(request)
    user = signed_in(request)
    rows = services.waiting_for(user).order_by().values("study__name", "study__slug", "study__simulated")
    first = services.waiting_for(user).values_list("pk", flat=True).first()
    decided = Adjudication.objects.filter(adjudicator=user, state=Adjudication.State.DECIDED).count()
    context = {
        "studies": list(rows.annotate(n=Count("pk")).order_by("study__name")),
        "first": first,
        "decided": decided,
    }
    return render(request, "annotation/adjudication/waiting.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@staff_member_required
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a unit; a post decides it and leads to the next."""
    _refuse_others(request)
    try:
        adjudication = services.own_adjudication(user=signed_in(request), pk=pk)
    except NotThere as error:
        raise Http404(str(error)) from None
    if request.method == "POST":
        try:
            return _take(request, adjudication)
        except AnswerProblem as error:
            return _page(request, adjudication, problem=str(error))
        except QuorumError as error:
            messages.error(request, str(error))
            return see_other("annotation:adjudicate")
    if adjudication.state != Adjudication.State.WAITING:
        messages.info(request, _("This one is decided. Whoever sent it to you can take it back."))
        return redirect("annotation:adjudicate")
    return _page(request, adjudication)


def _take(request: HttpRequest, adjudication: Adjudication) -> HttpResponse:
    """Store the answer of the form and go on.

    Raises:
        AnswerProblem: it is missing or not allowed.
        WrongState: it was decided otherwise, or withdrawn.
    """
    kind, places = KINDS[adjudication.study.protocol], [services.place_of(adjudication)]
    if not can_be_stored(dict(request.POST.lists())):
        raise AnswerProblem(_("Nothing was saved: a text holds signs that cannot be stored."))
    given = answers_of_form(request.POST, places, kind=kind, final=True, saved={})
    if not given or undecided(request.POST, places, kind):
        raise AnswerProblem(_("Nothing was decided: choose an answer."))
    services.decide(adjudication=adjudication, given=given[0]["value"], reason=request.POST.get("reason", ""))
    left = services.waiting_for(signed_in(request))
    following = left.filter(study=adjudication.study, pk__gt=adjudication.pk).first() or left.first()
    if following is None:
        messages.success(request, _("Decided. Nothing else waits for you."))
        return see_other("annotation:adjudicate")
    return see_other("annotation:adjudication", following.pk)


def _page(request: HttpRequest, adjudication: Adjudication, problem: str = "") -> HttpResponse:
    study, unit = adjudication.study, adjudication.unit
    design = design_of(study)
    (step,) = sheet_of(
        [services.place_of(adjudication)],
        design=design,
        picture_url=lambda place: preview_picture_url(unit.item),
        answers={},
    )
    left = services.waiting_for(signed_in(request))
    later = left.filter(pk__gt=adjudication.pk).first() or left.exclude(pk=adjudication.pk).first()
    context = {
        "adjudication": adjudication,
        "study": study,
        "kind": KINDS[study.protocol].of(design),
        "step": step,
        "left": left.count(),
        "later": later,
        "problem": problem,
        "reason": request.POST.get("reason", ""),
        "design": design,
        "instructions": render_markdown(worded(design.instructions)) if design.instructions else "",
    }
    return render(request, "annotation/adjudication/decide.html", context, status=400 if problem else 200)
