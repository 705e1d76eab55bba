"""The admin pages of accounts, groups and API tokens."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group as AccountGroup
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from judgments.access.permission_names import PermissionNamesAdmin
from judgments.access.tokens import SCOPES, create_token, revoke_token
from judgments.admin.base import PER_PAGE, BoundedPaginator, ReadOnlyAdmin, signed_in
from judgments.admin.columns import format_time
from judgments.admin.filters import NewestRowsFilter
from judgments.models import ApiToken, Study

TOKEN_LIFETIMES = [
    ("30", gettext_lazy("30 days")),
    ("90", gettext_lazy("90 days")),
    ("365", gettext_lazy("a year")),
    ("", gettext_lazy("no expiry")),
]

admin.site.unregister(User)
admin.site.unregister(AccountGroup)


@admin.register(User)
class AccountAdmin(UserAdmin, PermissionNamesAdmin):
    help = "roles.md#an-account-in-a-minute"
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_fullwidth = True
    list_per_page = PER_PAGE
    paginator = BoundedPaginator
    show_full_result_count = False
    filter_horizontal = ()  # Django's widget with two lists is hard to use with a screen reader
    list_filter = ("is_staff", "is_superuser", "is_active", ("groups", NewestRowsFilter))


@admin.register(AccountGroup)
class AccountGroupAdmin(GroupAdmin, PermissionNamesAdmin):
    help = "roles.md#permissions-for-all-studies"
    filter_horizontal = ()  # as in AccountAdmin
    list_fullwidth = True
    list_per_page = PER_PAGE
    paginator = BoundedPaginator
    show_full_result_count = False


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        label=gettext_lazy("Purpose"),
        help_text=gettext_lazy("For example “notebook of the pilot”."),
    )
    scopes = forms.MultipleChoiceField(
        choices=lambda: [(scope, f"{scope}: {gettext(label)}") for scope, label in SCOPES.items()],
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Scopes"),
        help_text=gettext_lazy(
            "A token never has more permissions than your account. Permission to write includes "
            "permission to read."
        ),
    )
    studies = forms.ModelMultipleChoiceField(
        queryset=Study.objects.none(),
        to_field_name="slug",
        required=False,
        label=gettext_lazy("Only these studies"),
        help_text=gettext_lazy(
            "If you choose no study, the token is valid for all studies that you can see, now and in "
            "the future."
        ),
    )
    good_for = forms.ChoiceField(
        choices=TOKEN_LIFETIMES, required=False, initial="90", label=gettext_lazy("Expires after")
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["studies"]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        field.queryset = Study.objects.visible_to(user).order_by("slug")

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["good_for"]
        return timezone.now() + timedelta(days=int(days)) if days else None


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    help = "api.md#tokens"
    empty_list_text = "A token lets a program use the HTTP interface on your behalf."
    list_display = ("token", "user", "scopes_and_studies", "created_at", "last_used", "validity", "revoke")
    list_display_links = None
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    add_label = "Create a token"

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.is_staff  # also called on the login page, where nobody is signed in

    def has_view_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return obj is None or obj.user_id == request.user.pk or super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_staff  # also called on the login page, where nobody is signed in

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        rows: QuerySet[ApiToken] = self.all_rows(request).prefetch_related("studies")
        return rows if super().has_view_permission(request) else rows.filter(user=signed_in(request))

    @display(description="token", ordering="name")
    def token(self, token: ApiToken) -> SafeString:
        return format_html('<span class="q-name">{}</span> <code>{}…</code>', token.name, token.prefix)

    @display(description="scopes (studies)")
    def scopes_and_studies(self, token: ApiToken) -> str:
        scopes = ", ".join(token.scopes)
        if not token.limited:
            return scopes
        studies = ", ".join(study.slug for study in token.studies.all()) or gettext("no study (deleted)")
        return f"{scopes} ({studies})"

    @display(description="last used", ordering="last_used_at", empty_value=gettext_lazy("never"))
    def last_used(self, token: ApiToken) -> str | None:
        return format_time(token.last_used_at) if token.last_used_at else None

    @display(description="valid until", ordering="expires_at")
    def validity(self, token: ApiToken) -> str:
        if token.revoked_at is not None:
            return gettext("revoked %(at)s") % {"at": format_time(token.revoked_at)}
        return format_time(token.expires_at) if token.expires_at else gettext("never expires")

    @display(description="next step")
    def revoke(self, token: ApiToken) -> SafeString | str:
        if not token.usable_at(timezone.now()):
            return ""
        address = reverse("admin:judgments_apitoken_revoke", args=[token.pk])
        return format_html('<a class="q-button" href="{}">{}</a>', address, gettext("Revoke"))

    def get_urls(self) -> list[URLPattern]:
        revoke_pattern = path(
            "<int:pk>/revoke/", self.admin_site.admin_view(self.revoke_view), name="judgments_apitoken_revoke"
        )
        return [revoke_pattern, *super().get_urls()]

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        return redirect("admin:judgments_apitoken_changelist")

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = TokenForm(request.POST or None, user=signed_in(request))
        token_values: dict[str, Any] = {}
        if request.method == "POST" and form.is_valid():
            token, key = create_token(
                user=signed_in(request),
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data["scopes"],
                studies=list(form.cleaned_data["studies"]),
                expires_at=form.expires_at,
            )
            token_values = {"token": token, "key": key}
        return self._page(
            request, "judgments/token_new.html", gettext("Create a token"), form=form, **token_values
        )

    def revoke_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        token = self.get_queryset(request).filter(pk=pk).first()
        if token is None:
            raise Http404
        if request.method == "POST":
            revoke_token(token=token)
            messages.success(request, gettext("The token %(name)s was revoked.") % {"name": token.name})
            return redirect("admin:judgments_apitoken_changelist")
        return self._page(
            request,
            "judgments/token_revoke.html",
            gettext("Revoke %(name)s?") % {"name": token.name},
            token=token,
        )

    @method_decorator(never_cache)
    def _page(self, request: HttpRequest, template: str, title: str, **values: Any) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "opts": ApiToken._meta, "title": title, **values}
        return TemplateResponse(request, template, context)
