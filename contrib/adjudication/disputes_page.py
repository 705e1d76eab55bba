"""The page "Disputes" of a study, on which units are sent to adjudicators."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from rest_framework.reverse import reverse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from annotation.models import Adjudication
from contrib.adjudication.decisions import adjudicators, can_be_adjudicated
from contrib.adjudication.operations import send_units, withdraw_adjudication
from evaluation.models import Consensus
from evaluation.results.consensus.study import SIDE_LABELS
from evaluation.results.reopening import DEFAULT_MARGIN
from judgments.admin.base import BoundedPaginator
from judgments.models import Study
from judgments.studies.designs import kind_of
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

PAGE_SIZE = 50
DISPUTE_CHOICES = [
    ("ties", gettext_lazy("Ties")),
    ("close", gettext_lazy("Ties, and close votes (up to 2 to 1)")),
    ("all", gettext_lazy("All items")),
]


class DisputesPaginator(BoundedPaginator):
    """A paginator that shows at most the first 5,000 disputes, since counting more would be slow."""

    max_count = 5_000


class DisputeForm(forms.Form):
    """The filter of the list of disputed items."""

    show = forms.ChoiceField(
        label=gettext_lazy("Show"), choices=DISPUTE_CHOICES, initial="close", widget=UnfoldAdminSelectWidget
    )
    unit = forms.CharField(
        label=gettext_lazy("Item id starts with"),
        required=False,
        max_length=80,
        widget=UnfoldAdminTextInputWidget,
    )


@study_page(
    "disputes",
    "Disputes",
    order=55,
    has_tab=can_be_adjudicated,
    section=StudySection.FINDINGS,
    results_label=gettext_noop("Disputed items"),
)
def show_disputes(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    form = DisputeForm(request.GET if "show" in request.GET else {"show": "close"})
    choices = form.cleaned_data if form.is_valid() else {"show": "close", "unit": ""}
    rows = Adjudication.objects.filter(study=study).select_related("study", "unit", "adjudicator", "sent_by")
    # Sort and page only row ids. `_rows_to_show` then reads the texts of one page.
    pages = DisputesPaginator(
        _disputed_consensus(study, choices["show"], choices["unit"]).values("pk"), PAGE_SIZE
    )
    page = pages.get_page(request.GET.get("page"))
    context |= {
        "form": form,
        "filter_query": f"&show={choices['show']}&unit={choices['unit']}",
        "page": page,
        "dispute_rows": [_dispute_row(row) for row in _rows_to_show(page.object_list)],
        "has_consensus": Consensus.objects.filter(study=study).exists(),
        "can_be_adjudicated": can_be_adjudicated(study),
        "adjudicators": list(adjudicators(study)),
        "adjudications": [_adjudication_row(row) for row in rows.order_by("-sent_at", "-pk")[:PAGE_SIZE]],
        "counts_by_state": {state: rows.filter(state=state).count() for state in Adjudication.State.values},
        "adjudicate_link": reverse("adjudication:waiting"),
    }
    return TemplateResponse(request, "evaluation/study_disputes.html", context)


def _disputed_consensus(study: Study, show: str, key_prefix: str) -> QuerySet[Consensus]:
    """Return the consensus of the units to show, smallest margin first. ``show`` is a value of DISPUTE_CHOICES."""
    rows = Consensus.objects.filter(study=study, unit__isnull=False)
    if key_prefix:
        rows = rows.filter(unit__key__startswith=key_prefix)
    if show == "all":
        return rows.order_by(F("margin").asc(nulls_last=True), "pk")
    rows = rows.order_by("margin", "pk")  # the order of the index
    return (
        rows.filter(tie=True) if show == "ties" else rows.filter(Q(tie=True) | Q(margin__lt=DEFAULT_MARGIN))
    )


def _rows_to_show(consensus_ids: Any) -> QuerySet[Consensus]:
    """Return the rows of a page with their texts, annotated with the ``adjudication_state`` of the unit."""
    active = Adjudication.objects.filter(unit=OuterRef("unit")).exclude(state=Adjudication.State.WITHDRAWN)
    return (
        Consensus.objects.filter(pk__in=consensus_ids)
        .select_related("unit__reference", "unit__first", "unit__second", "unit__item")
        .annotate(adjudication_state=Subquery(active.values("state")[:1]))
        .order_by(F("margin").asc(nulls_last=True), "pk")
    )


def _dispute_row(consensus: Any) -> dict[str, Any]:
    state = Adjudication.State(consensus.adjudication_state).label if consensus.adjudication_state else ""
    votes = _describe_votes(consensus.votes)
    return {"unit": consensus.unit, "votes": votes, "n": consensus.n, "state": state}


def _describe_votes(votes: dict[str, int]) -> str:
    parts = [
        _("%(n)s for “%(answer)s”") % {"n": count, "answer": answer}
        for answer, count in sorted(votes.items())
        if count
    ]
    return ", ".join(parts) or _("none")


def _adjudication_row(adjudication: Adjudication) -> dict[str, Any]:
    return {
        "pk": adjudication.pk,
        "unit": adjudication.unit.key,
        "state": adjudication.get_state_display(),
        "is_withdrawn": adjudication.state == Adjudication.State.WITHDRAWN,
        "adjudicator": adjudication.adjudicator.get_username(),
        "changed_at": adjudication.decided_at or adjudication.sent_at,
        "votes": _describe_votes(adjudication.votes),
        "decision": _describe_decision(adjudication),
        "reason": adjudication.reason,
    }


def _describe_decision(adjudication: Adjudication) -> str:
    kind, value = kind_of(adjudication.study), adjudication.value
    if value is None:
        return "–"
    if kind.two_sided:
        return f"{value} ({SIDE_LABELS[int(value)]})"
    labels = {choice.value: choice.text for choice in kind.choices}
    return f"{value} ({labels[value].lower()})" if value in labels else str(value)


add_operation(send_units, label="Send to an adjudicator", fields=(), leads_to=lambda study: "disputes")
add_operation(withdraw_adjudication, label="Withdraw", fields=(), leads_to=lambda study: "disputes")
