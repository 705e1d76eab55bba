"""What was put up, who worked on it there, what was asked, and the books: to look at, never to change."""

from __future__ import annotations

from django.contrib import admin
from unfold.decorators import display

from annotation.models import CrowdCall, CrowdSession, LedgerEntry, Publication
from judgments.admin.base import ReadOnlyAdmin, short_time, study_column
from judgments.templatetags.quorum_figures import cents


@admin.register(Publication)
class PublicationAdmin(ReadOnlyAdmin):
    list_display = ("__str__", study_column, "place", "hit", "state", "places", "held", "price", "until")
    list_filter = ("place", "state", "study")
    list_select_related = ("study", "hit")
    search_fields = ("=external_id", "=token", "=hit__key")

    @display(description="offered until", ordering="expires_at")
    def until(self, publication: Publication) -> str:
        return short_time(publication.expires_at) if publication.expires_at else "–"

    @display(description="price of a place")
    def price(self, publication: Publication) -> str:
        return cents(publication.price_cents)


@admin.register(CrowdSession)
class CrowdSessionAdmin(ReadOnlyAdmin):
    list_display = ("external_id", study_column, "worker", "status", "confirmed", "booked", "handed_in")
    ordering = ("-pk",)
    list_filter = ("place", "status", "confirmed", "study")
    list_select_related = ("study", "worker")
    search_fields = ("=external_id", "=worker__name")
    exclude = ("receipt",)  # the worker controls every sign of it

    @display(description="submitted", ordering="submitted_at")
    def handed_in(self, session: CrowdSession) -> str:
        return short_time(session.submitted_at) if session.submitted_at else "–"


@admin.register(CrowdCall)
class CrowdCallAdmin(ReadOnlyAdmin):
    list_display = ("when", study_column, "kind", "worker", "state", "problem", "why", "made_by")
    ordering = ("-pk",)
    list_filter = ("place", "kind", "state", "study")
    list_select_related = ("study", "worker", "made_by")
    search_fields = ("=key", "=worker__name", "=session__external_id")

    @display(description="made at", ordering="pk")
    def when(self, call: CrowdCall) -> str:
        return short_time(call.made_at)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    list_display = ("when", "study", "what", "reserved", "spent", "key")
    ordering = ("-pk",)
    list_filter = ("what", "budget__place", "budget__study")
    list_select_related = ("budget__study",)
    search_fields = ("=key",)

    @display(description="at", ordering="pk")
    def when(self, entry: LedgerEntry) -> str:
        return short_time(entry.at)

    @display(description="study")
    def study(self, entry: LedgerEntry) -> str:
        return f"{entry.budget.study.slug} at {entry.budget.place}"

    @display(description="reserved")
    def reserved(self, entry: LedgerEntry) -> str:
        return cents(entry.reserved_cents)

    @display(description="spent")
    def spent(self, entry: LedgerEntry) -> str:
        return cents(entry.spent_cents)
