"""The page "Money" of the installation: limits, commitments, and orders that wait for a second person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from annotation.models import SpendingLimit, SpendingRequest
from annotation.money import account_limits
from annotation.money.orders import CONFIRM_PERMISSION, confirm_request, refuse_request
from common.amounts import AmountField
from common.errors import QuorumError, WrongState
from judgments.admin.base import QuorumAdmin, signed_in

if TYPE_CHECKING:
    _Form = forms.ModelForm[SpendingLimit]
else:
    _Form = forms.ModelForm

MAX_REQUESTS_SHOWN = 20


class LimitForm(_Form):
    """The form of one row of limits: those of the installation (without an account), or of one account."""

    account = forms.ModelChoiceField(
        queryset=User.objects.filter(is_staff=True).order_by("username"),
        required=False,
        empty_label=gettext_lazy("the whole installation"),
        help_text=gettext_lazy("Limits of one account replace the general limits for each account."),
        widget=UnfoldAdminSelectWidget,
    )
    currency = forms.RegexField(
        r"^[A-Z]{3}$",
        initial="USD",
        help_text=gettext_lazy("Three letters, such as USD."),
        widget=UnfoldAdminTextInputWidget,
    )
    day_cents = AmountField(
        gettext_lazy("Per day"), gettext_lazy("If the field is empty, there is no limit.")
    )
    total_cents = AmountField(
        gettext_lazy("In total"),
        gettext_lazy("The sum of reserved and spent amounts. If the field is empty, there is no limit."),
    )
    account_day_cents = AmountField(
        gettext_lazy("Daily limit of each account"),
        gettext_lazy("For accounts that have no individual limits."),
    )
    account_total_cents = AmountField(
        gettext_lazy("Total limit of each account"),
        gettext_lazy("For accounts that have no individual limits."),
    )
    confirm_cents = AmountField(
        gettext_lazy("Amount above which a second person must confirm an order"),
        gettext_lazy(
            "An order that costs more than this amount needs confirmation. If the field is empty, no "
            "confirmation is needed."
        ),
    )

    class Meta:
        model = SpendingLimit
        fields = ["account", "currency", *account_limits.LIMIT_FIELDS]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        try:
            account_limits.refuse_installation_limits_of_account(values.get("account"), values)
        except WrongState as problem:
            raise forms.ValidationError(str(problem)) from problem
        rows = SpendingLimit.objects.filter(account=values.get("account"), currency=values.get("currency"))
        if rows.exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("These limits exist already; change them instead."))
        return values


@admin.register(SpendingLimit)
class SpendingLimitAdmin(QuorumAdmin):
    help = "roles.md#limits-on-money"
    form = LimitForm
    add_label = "Set a limit"

    def get_urls(self) -> list[URLPattern]:
        decide_path = path(
            "requests/<int:pk>/<str:decision>/",
            self.admin_site.admin_view(require_POST(self.decide_on_request)),
            name="annotation_spendingrequest_decide",
        )
        return [decide_path, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, *args: Any, **options: Any) -> TemplateResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        orders = SpendingRequest.objects.select_related("study", "asked_by", "decided_by").order_by("-pk")
        waiting_orders = orders.filter(state="waiting").order_by("pk")
        context = {
            **self.admin_site.each_context(request),
            "title": _("Money"),
            "spending_by_account": account_limits.spending_by_account(),
            "waiting_orders": list(waiting_orders[:MAX_REQUESTS_SHOWN]),
            "waiting_order_count": waiting_orders.count(),
            "decided_orders": list(orders.exclude(state="waiting")[:MAX_REQUESTS_SHOWN]),
            "may_change": self.has_change_permission(request),
            "may_add": self.has_add_permission(request),
            "may_confirm": request.user.has_perm(CONFIRM_PERMISSION),
        }
        return TemplateResponse(request, "admin/annotation/spending.html", context)

    def save_model(self, request: HttpRequest, obj: SpendingLimit, form: Any, change: bool) -> None:
        with transaction.atomic():
            # A check of an order locks the installation's row. Saving that row waits for the check; other rows do not.
            if obj.account is not None:
                account_limits.lock_limits(obj.currency)
            super().save_model(request, obj, form, change)

    def decide_on_request(self, request: HttpRequest, pk: int, decision: str) -> HttpResponse:
        """Confirm or refuse a spending request; ``decision`` is "confirm" or "refuse"."""
        by = signed_in(request)
        if decision not in ("confirm", "refuse"):
            raise Http404
        if not by.has_perm(CONFIRM_PERMISSION) or not self.has_view_permission(request):
            raise PermissionDenied
        try:
            if decision == "confirm":
                messages.success(request, confirm_request(request_id=pk, by=by).words)
            else:
                refuse_request(request_id=pk, by=by, why=request.POST.get("why", ""))
                messages.success(request, _("Request %(pk)s is refused.") % {"pk": pk})
        except QuorumError as error:
            messages.error(request, str(error))
        return redirect("admin:annotation_spendinglimit_changelist")
