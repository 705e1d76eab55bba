"""The admin's pages of challenges and of submissions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, ForeignKey, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.errors import QuorumError
from contrib.challenges.challenges import (
    change_challenge,
    check_challenge,
    close_challenge,
    make_challenge,
    remove_submission,
)
from contrib.challenges.errors import ChallengeError
from contrib.challenges.models import Challenge, ChallengeEvent, Submission
from judgments.access.visible_rows import visible_rows
from judgments.admin.base import QuorumAdmin, ReadOnlyAdmin, signed_in
from judgments.admin.columns import format_time, json_field_column
from judgments.models import Dataset, DatasetRole
from judgments.models.datasets import sees_all_datasets

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Challenge]
else:
    ModelForm = forms.ModelForm

FIXED_FIELDS = ("dataset", "split", "metrics", "tokenizer")  # they affect scores
METRICS_COLUMN = json_field_column(Challenge, "metrics")  # the metrics of a stored challenge, as text
MAX_LOG_ENTRIES = 50


def _tokenizers() -> list[tuple[str, str]]:
    # imported lazily: the metrics load a compiler, which a web process needs only for pages that show their names
    from quorum.metrics.text.tokenizers import TOKENIZERS

    return [(name, name) for name in TOKENIZERS]


class MetricNames(forms.CharField):
    """A field for names that are separated by commas. Its value is a list."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        return [name.strip() for name in str(value or "").split(",") if name.strip()]


class ChallengeForm(ModelForm):
    prefix = "challenge"  # the admin theme would treat a field called `dataset` as one of its actions

    metrics = MetricNames(
        initial="cider-d, bleu-4, rouge-l",
        widget=UnfoldAdminTextInputWidget,
        help_text=_(
            "Separate metrics by commas. The leaderboard is ordered by the first metric, which must be a "
            "mean over images."
        ),
    )
    tokenizer = forms.ChoiceField(choices=_tokenizers, initial="ptb", widget=UnfoldAdminSelectWidget)

    class Meta:
        model = Challenge
        fields = [
            *("title", "slug", "description", "dataset", "split", "metrics", "tokenizer"),
            *("opens_at", "closes_at", "per_day", "per_total", "shown_before_end"),
        ]
        labels = {"per_day": _("Submissions per day"), "per_total": _("Submissions in total")}

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # of Django, which does not declare it
        if self.errors:  # the instance does not have all values then
            return
        try:
            check_challenge(self.instance)
        except ChallengeError as error:
            self.add_error(error.field if error.field in self.fields else None, str(error))


@admin.register(Challenge)
class ChallengeAdmin(QuorumAdmin):
    """The admin pages of challenges. Texts, times and limits can be changed; settings that affect scores cannot."""

    form = ChallengeForm
    list_display = (
        "title",
        "dataset",
        "split",
        "images",
        "submission_total",
        "opening",
        "closing",
        "public_page",
    )
    list_select_related = ("dataset",)
    search_fields = ("title", "slug")
    prepopulated_fields = {"slug": ("title",)}
    actions = None
    add_label = "Make a challenge"
    empty_list_text = (
        "In a challenge, others submit outputs of their systems, and metrics rank the submissions."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Challenge]:
        return super().get_queryset(request).annotate(submission_count=Count("submissions"))

    def get_prepopulated_fields(self, request: HttpRequest, obj: Challenge | None = None) -> dict[str, Any]:
        return {} if obj else super().get_prepopulated_fields(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Challenge | None = None) -> tuple[Any, ...]:
        return ("slug", *FIXED_FIELDS, METRICS_COLUMN, "images", "log") if obj else ()

    def get_fields(self, request: HttpRequest, obj: Challenge | None = None) -> list[Any]:
        fields = ChallengeForm.Meta.fields
        if obj is None:
            return fields
        return [*(METRICS_COLUMN if name == "metrics" else name for name in fields), "images", "log"]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form_class = super().get_form(request, obj, change=change, **kwargs)
        if obj is not None:  # fixed fields are shown as text, but declared ones would stay in the form
            for name in FIXED_FIELDS:
                form_class.base_fields.pop(name, None)
        return form_class

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> Any:
        if db_field.name == "dataset":
            rows = visible_rows(Dataset.objects.all(), request.user)
            if not sees_all_datasets(request.user):  # a challenge prevents others from sharing its dataset
                rows = rows.filter(roles__user=signed_in(request), roles__role=DatasetRole.Role.OWNER)
            kwargs["queryset"] = rows
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Challenge, form: Any, change: bool) -> None:
        if change:
            change_challenge(challenge=obj, fields=form.changed_data, by=signed_in(request))
        else:
            make_challenge(challenge=obj, by=signed_in(request))

    @display(description="submissions", ordering="submission_count")
    def submission_total(self, challenge: Any) -> int:
        return int(challenge.submission_count)

    @display(description="opens at", ordering="opens_at")
    def opening(self, challenge: Challenge) -> str:
        return format_time(challenge.opens_at)

    @display(description="closes at", ordering="closes_at")
    def closing(self, challenge: Challenge) -> SafeString | str:
        if challenge.is_over_at(timezone.now()):
            assert challenge.closes_at is not None, "it is over"
            return f"closed {format_time(challenge.closes_at)}"
        address = reverse("admin:challenges_challenge_close", args=[challenge.pk])
        closing_time = format_time(challenge.closes_at) if challenge.closes_at else ""
        return format_html('{} <a class="q-button" href="{}">Close</a>', closing_time, address)

    @display(description="public page")
    def public_page(self, challenge: Challenge) -> SafeString:
        return format_html(
            '<a href="{}">Public page</a>', reverse("challenges:challenge", args=[challenge.slug])
        )

    @display(description="log")
    def log(self, challenge: Challenge) -> SafeString:
        events = ChallengeEvent.objects.filter(challenge=challenge).select_related("by")[:MAX_LOG_ENTRIES]
        cells = []
        for event in events:
            account = event.by.get_username() if event.by else "the platform"
            cells.append((format_time(event.at), account, event.words, event.why))
        lines = format_html_join("", "<li>{} · {} · {} {}</li>", cells)
        return format_html("<ul>{}</ul>", lines)

    def get_urls(self) -> list[URLPattern]:
        close_route = path(
            "<int:pk>/close/", self.admin_site.admin_view(self.close_view), name="challenges_challenge_close"
        )
        return [close_route, *super().get_urls()]

    def close_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        challenge = self.get_queryset(request).filter(pk=pk).first()
        if challenge is None or not self.has_view_permission(request, challenge):
            raise Http404
        if not self.has_change_permission(request, challenge):
            raise PermissionDenied
        return _reason_page(
            request,
            title=f"Close {challenge.title}?",
            about="No more captions are taken, and the leaderboard is final and shown.",
            button="Close the challenge",
            list_page="admin:challenges_challenge_changelist",
            success_message=f"{challenge.title} is closed.",
            action=lambda why: close_challenge(challenge=challenge, why=why, by=signed_in(request)),
        )


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    """The admin pages of submissions, which are removed from the leaderboard with a reason, but never deleted."""

    empty_list_text = "Participants of a challenge submit outputs of their systems."
    filled_by = Challenge  # the button of the empty list leads to the page that adds a challenge
    list_display = ("system", "team", "user", "challenge", "state", "public", "submission_time", "remove")
    list_display_links = None
    list_filter = ("challenge", "state")
    list_select_related = ("challenge", "user")
    search_fields = ("system", "team", "user__username")
    # no scores: the leaderboard decides when to show them
    fields = (
        *("challenge", "system", "team", "user", "description", "link", "public", "captions"),
        *("state", "reason", "made_at", "scored_at", "removed_at", "removed_why"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        rows: Any = super().get_queryset(request)
        submissions: QuerySet[Submission] = rows.visible_to(request.user)
        return submissions

    @display(description="submitted at", ordering="made_at")
    def submission_time(self, submission: Submission) -> str:
        return format_time(submission.made_at)

    @display(description="next step")
    def remove(self, submission: Submission) -> SafeString | str:
        if submission.removed_at is not None:
            return f"removed: {submission.removed_why}"
        address = reverse("admin:challenges_submission_remove", args=[submission.pk])
        return format_html('<a class="q-button" href="{}">Remove</a>', address)

    def get_urls(self) -> list[URLPattern]:
        remove_route = path(
            "<int:pk>/remove/",
            self.admin_site.admin_view(self.remove_view),
            name="challenges_submission_remove",
        )
        return [remove_route, *super().get_urls()]

    def remove_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        submission = self.get_queryset(request).select_related("challenge").filter(pk=pk).first()
        if submission is None or not self.has_view_permission(request, submission):
            raise Http404
        if not signed_in(request).has_perm("challenges.change_submission"):
            raise PermissionDenied
        return _reason_page(
            request,
            title=f"Remove {submission.system}?",
            about="It leaves the leaderboard; its authors see the reason. This cannot be undone.",
            button="Remove the submission",
            list_page="admin:challenges_submission_changelist",
            success_message=f"{submission.system} was removed.",
            action=lambda why: remove_submission(submission=submission, why=why, by=signed_in(request)),
        )


def _reason_page(
    request: HttpRequest,
    *,
    title: str,
    about: str,
    button: str,
    list_page: str,
    success_message: str,
    action: Callable[[str], object],
) -> HttpResponse:
    """Show a form that asks for a reason. When it is sent, call ``action`` with the reason, and return to the list.

    Args:
        about: what the action does, in a sentence.
        button: label of the button that sends the form.
        list_page: URL name of the admin's list.
    """
    error = ""
    if request.method == "POST":
        try:
            action(request.POST.get("why", ""))
        except QuorumError as refusal:
            error = str(refusal)
        else:
            messages.success(request, success_message)
            return redirect(list_page)
    context = {
        **admin.site.each_context(request),
        "title": title,
        "about": about,
        "button": button,
        "list_page": list_page,
        "error": error,
    }
    return TemplateResponse(request, "challenges/why.html", context, status=400 if error else 200)
