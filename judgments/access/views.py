"""The pages and API resources about access: who may do what.

They are the pages "Access" and "Log" of a study, the admin pages of accounts, groups and API tokens, the log and
the roles over HTTP, and the check of who may send large bodies (deploy/nginx.conf).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group as AccountGroup
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from rest_framework import serializers, status
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from common.files import guard_formula
from judgments.access.permission_names import PermissionNamesAdmin
from judgments.access.tokens import SCOPES, create_token, revoke_token
from judgments.admin.base import (
    MAX_KEY_DIGITS,
    MAX_OFFERED,
    PER_PAGE,
    BoundedChoices,
    BoundedPaginator,
    ReadOnlyAdmin,
    in_words,
    short_time,
    signed_in,
)
from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.models import ApiToken, Study, StudyEvent, StudyRole
from judgments.operations import grant_role_operation, revoke_role_operation
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

PAGE_SIZE = 50
ROWS_PER_BATCH = 1_000

# roles in a study, from the least to the most powerful, with what each may do
ROLES = [
    ("viewer", "can view all pages, results and files"),
    (
        "reviewer",
        "can also approve and reject work, exclude participants, decide disputes and answer participants",
    ),
    ("designer", "can also change the design, open and close the study, and spend the budget"),
    ("owner", "can also give roles and delete the study"),
]

LOG_COLUMNS = ["at", "what", "words", "why", "by", "details"]


@study_page("people", "Access", order=80, section=StudySection.SHARE, help="roles.md#roles")
def show_people(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    roles = StudyRole.objects.filter(study=study).select_related("user", "given_by")
    page = BoundedPaginator(roles.order_by("given_at", "pk"), PAGE_SIZE).get_page(request.GET.get("page"))
    context |= offered_accounts() if context["may_own"] else {}
    context |= {"page": page, "study_roles": page.object_list, "roles": ROLES}
    context["own_account"] = signed_in(request)
    return TemplateResponse(request, "judgments/study/people.html", context)


def offered_accounts() -> Context:
    """Return the accounts that can get a role, and whether there are more of them than the page offers."""
    staff = User.objects.filter(is_active=True, is_staff=True).order_by("username")
    accounts = list(staff[: MAX_OFFERED + 1])
    return {"accounts": accounts[:MAX_OFFERED], "has_more_accounts": len(accounts) > MAX_OFFERED}


@study_page("log", "Log", order=81, section=StudySection.SHARE, help="roles.md#the-log")
def show_log(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    events = StudyEvent.objects.filter(study=study)
    event_codes = list(events.order_by("what").values_list("what", flat=True).distinct()[:MAX_OFFERED])
    accounts = list(User.objects.filter(pk__in=events.values("by")).order_by("username")[:MAX_OFFERED])
    filtered_events = _filter_events(request, events).select_related("by")
    page = BoundedPaginator(filtered_events, PAGE_SIZE).get_page(request.GET.get("page"))
    filters = {name: request.GET[name] for name in ("what", "by") if request.GET.get(name)}
    context |= {
        "page": page,
        "events": [
            {"event": event, "details": event.details and in_words(event.details)}
            for event in page.object_list
        ],
        "event_codes": event_codes,
        "accounts": accounts,
        "selected_code": request.GET.get("what", ""),
        "selected_account": request.GET.get("by", ""),
        "filter_query": urlencode(filters),
        "is_filtered": bool(filters),
    }
    return TemplateResponse(request, "judgments/study/log.html", context)


def _filter_events(request: HttpRequest, events: QuerySet[StudyEvent]) -> QuerySet[StudyEvent]:
    what, by = request.GET.get("what", ""), request.GET.get("by", "")
    if what:
        events = events.filter(what=what)
    if by == "platform":
        return events.filter(by=None)
    if by:
        is_key = by.isdecimal() and len(by) <= MAX_KEY_DIGITS
        return events.filter(by=int(by)) if is_key else events.none()
    return events


@study_page("log-file", order=82)
def download_log(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    """Stream the log: ``?as=csv`` or ``?as=jsonl``."""
    events = _filter_events(request, StudyEvent.objects.filter(study=study)).select_related("by")
    rows = (_as_row(event) for event in events.order_by("pk").iterator(chunk_size=ROWS_PER_BATCH))
    writers = {"csv": (_csv_lines, "text/csv"), "jsonl": (_json_lines, "application/x-ndjson")}
    format = request.GET.get("as", "csv")
    if format not in writers:
        raise Http404
    write, content_type = writers[format]
    response = StreamingHttpResponse(write(rows), content_type=f"{content_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-log.{format}"'
    return response


def _as_row(event: StudyEvent) -> dict[str, Any]:
    return {
        "at": event.at.isoformat(timespec="seconds"),
        "what": event.what,
        "words": event.words,
        "why": event.why,
        "by": event.by.get_username() if event.by else None,
        "details": event.details,
    }


class _LineWriter:
    """A file-like object for ``csv.writer`` whose ``write`` returns the line."""

    def write(self, line: str) -> str:
        return line


def _csv_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_LineWriter())
    yield writer.writerow(LOG_COLUMNS)
    for row in rows:
        cells = row | {"details": json.dumps(row["details"], ensure_ascii=False, sort_keys=True)}
        yield writer.writerow([guard_formula(cells[name] or "") for name in LOG_COLUMNS])


def _json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"


for _operation in (grant_role_operation, revoke_role_operation):
    add_operation(_operation, label=_operation.summary, inline=False, leads_to=lambda study: "people")

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
    filter_horizontal = ()  # the two lists of Django's script have barriers for screen readers
    list_filter = ("is_staff", "is_superuser", "is_active", ("groups", BoundedChoices))


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
    empty_words = "A token lets a program use the HTTP interface on your behalf."
    list_display = ("token", "user", "opens", "created_at", "last_used", "good_until", "revoke")
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
    def opens(self, token: ApiToken) -> str:
        scopes = ", ".join(token.scopes)
        if not token.limited:
            return scopes
        studies = ", ".join(study.slug for study in token.studies.all()) or gettext("no study (deleted)")
        return f"{scopes} ({studies})"

    @display(description="last used", ordering="last_used_at", empty_value=gettext_lazy("never"))
    def last_used(self, token: ApiToken) -> str | None:
        return short_time(token.last_used_at) if token.last_used_at else None

    @display(description="valid until", ordering="expires_at")
    def good_until(self, token: ApiToken) -> str:
        if token.revoked_at is not None:
            return gettext("revoked %(at)s") % {"at": short_time(token.revoked_at)}
        return short_time(token.expires_at) if token.expires_at else gettext("never expires")

    @display(description="next step")
    def revoke(self, token: ApiToken) -> SafeString | str:
        if not token.usable_at(timezone.now()):
            return ""
        address = reverse("admin:judgments_apitoken_revoke", args=[token.pk])
        return format_html('<a class="q-button" href="{}">{}</a>', address, gettext("Revoke"))

    def get_urls(self) -> list[URLPattern]:
        revoking = path(
            "<int:pk>/revoke/", self.admin_site.admin_view(self.revoke_view), name="judgments_apitoken_revoke"
        )
        return [revoking, *super().get_urls()]

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        return redirect("admin:judgments_apitoken_changelist")

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = TokenForm(request.POST or None, user=signed_in(request))
        created: dict[str, Any] = {}
        if request.method == "POST" and form.is_valid():
            token, key = create_token(
                user=signed_in(request),
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data["scopes"],
                studies=list(form.cleaned_data["studies"]),
                expires_at=form.expires_at,
            )
            created = {"token": token, "key": key}
        return self._page(
            request, "judgments/token_new.html", gettext("Create a token"), form=form, **created
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
    def _page(self, request: HttpRequest, template: str, title: str, **more: Any) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "opts": ApiToken._meta, "title": title, **more}
        return TemplateResponse(request, template, context)


class EventSerializer(RowSerializer[StudyEvent]):
    """An entry of a study's log."""

    study = Related("slug")
    details = serializers.DictField(read_only=True)
    by = Related("by.username", optional=True)

    class Meta:
        model = StudyEvent
        fields = ["id", "study", "what", "words", "why", "details", "by", "at"]


class EventResource(Resource):
    """The log of a study: who did what, when and why. Its entries never change."""

    queryset = StudyEvent.objects.select_related("by")
    serializer_class = EventSerializer
    filterset_class = filters_of(StudyEvent, "what", study="slug", by="by__username")
    orderings = {"id": "pk", "at": "at"}


class RoleSerializer(RowSerializer[StudyRole]):
    """A person's role in a study."""

    study = Related("study.slug")
    user = Related("user.username")
    given_by = Related("given_by.username", optional=True)

    class Meta:
        model = StudyRole
        fields = ["id", "study", "user", "role", "given_by", "given_at"]


class RoleResource(Resource):
    """The roles that people have in studies."""

    queryset = StudyRole.objects.select_related("study", "user", "given_by")
    serializer_class = RoleSerializer
    filterset_class = filters_of(StudyRole, "role", study=study_filter(), user="user__username")


class MayUpload(BasePermission):
    """Allow accounts that are signed in or have a token, but no workers. At the address for staff, allow only staff."""

    def has_permission(self, request: Request, view: Any) -> bool:
        user, staff_only = request.user, view.kwargs["who"] != "account"
        return isinstance(user, User) and user.is_active and (user.is_staff or not staff_only)


class MayUploadView(APIView):
    """Tell a proxy, before it reads a body, whether the sender may upload it.

    GET /may-upload/account/ and GET /may-upload/staff/ answer 204 for yes, and 401 or 403 for no.
    """

    permission_classes = (MayUpload,)
    schema = None

    def get(self, request: Request, who: str) -> Response:
        return Response(status=status.HTTP_204_NO_CONTENT)

    def handle_exception(self, exc: Exception) -> Response:
        """Answer 403 instead of 429 (too many wrong tokens), since nginx expects 401 or 403 for a refusal."""
        response = super().handle_exception(exc)
        if response.status_code == status.HTTP_429_TOO_MANY_REQUESTS:
            response.status_code = status.HTTP_403_FORBIDDEN
        return response
