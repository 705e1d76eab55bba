"""The admin lists of publications, sessions, calls and ledger entries."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import display

from annotation.models import CrowdCall, CrowdSession, LedgerEntry, Publication
from judgments.admin.base import ReadOnlyAdmin
from judgments.admin.columns import format_time, study_column
from judgments.studies.designs import design_of
from judgments.templatetags.judgments_tags import cents


class CrowdListAdmin(ReadOnlyAdmin):
    """The base class of the lists. ``help`` is the page of the documentation that a list links to."""

    help = "crowds/README.md#what-is-the-same-everywhere"


@admin.register(Publication)
class PublicationAdmin(CrowdListAdmin):
    empty_list_text = "When a study is opened at a crowd, the crowd offers the pages of work of the study."
    list_display = (
        "__str__",
        study_column,
        "platform",
        "hit",
        "state",
        "places",
        "held_slots",
        "price",
        "expiry",
    )
    list_filter = ("platform", "state", "study")
    list_select_related = ("study", "hit")
    search_fields = ("=external_id", "=token", "=hit__key")

    @display(description=gettext_lazy("available until"), ordering="expires_at")
    def expiry(self, publication: Publication) -> str:
        return format_time(publication.expires_at) if publication.expires_at else "–"

    @display(description=gettext_lazy("price per place"))
    def price(self, publication: Publication) -> str:
        return cents(publication.price_cents, design_of(publication.study).currency)


@admin.register(CrowdSession)
class CrowdSessionAdmin(CrowdListAdmin):
    empty_list_text = "A row is added whenever a crowd sends a person to a study."
    list_display = ("external_id", study_column, "worker", "status", "confirmed", "booked", "submission_time")
    ordering = ("-pk",)
    list_filter = ("platform", "status", "confirmed", "study")
    list_select_related = ("study", "worker")
    search_fields = ("=external_id", "=worker__name")
    exclude = ("receipt",)  # the worker controls its content

    @display(description=gettext_lazy("submitted"), ordering="submitted_at")
    def submission_time(self, session: CrowdSession) -> str:
        return format_time(session.submitted_at) if session.submitted_at else "–"


@admin.register(CrowdCall)
class CrowdCallAdmin(CrowdListAdmin):
    empty_list_text = "Requests to a crowd are stored here before they are sent."
    list_display = ("call_time", study_column, "kind", "worker", "state", "problem", "why", "made_by")
    ordering = ("-pk",)
    list_filter = ("platform", "kind", "state", "study")
    list_select_related = ("study", "worker", "made_by")
    search_fields = ("=key", "=worker__name", "=session__external_id")

    @display(description=gettext_lazy("created at"), ordering="pk")
    def call_time(self, call: CrowdCall) -> str:
        return format_time(call.made_at)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(CrowdListAdmin):
    empty_list_text = "This lists each amount that is reserved or paid at a crowd."
    list_display = ("entry_time", "study", "what", "reserved_money", "spent_money", "person", "key")
    ordering = ("-pk",)
    list_filter = ("what", "budget__platform", "budget__study")
    list_select_related = ("budget__study", "by")
    search_fields = ("=key",)

    @display(description=gettext_lazy("time"), ordering="pk")
    def entry_time(self, entry: LedgerEntry) -> str:
        return format_time(entry.at)

    @display(description=gettext_lazy("study"))
    def study(self, entry: LedgerEntry) -> str:
        return _("%(study)s on %(place)s") % {
            "study": entry.budget.study.slug,
            "place": entry.budget.platform,
        }

    @display(description=gettext_lazy("caused by"))
    def person(self, entry: LedgerEntry) -> str:
        """Return the account and, if known, the interface and the request by which it acted."""
        if not entry.door:
            return str(entry.by or "–")
        return f"{entry.by or _('the platform')}, {entry.door} {entry.request}"

    @display(description=gettext_lazy("reserved"))
    def reserved_money(self, entry: LedgerEntry) -> str:
        return cents(entry.reserved_cents, entry.budget.currency)

    @display(description=gettext_lazy("spent"))
    def spent_money(self, entry: LedgerEntry) -> str:
        return cents(entry.spent_cents, entry.budget.currency)
