"""What a study costs at its crowds: budgets, every move of money, what was put up, and who came. Read alone."""

from __future__ import annotations

import django_filters as filters
from rest_framework import serializers

from annotation.models import Budget, CrowdSession, LedgerEntry, Publication
from judgments.api.filters import Filters, study_filter
from judgments.api.resources import Resource


class BudgetSerializer(serializers.ModelSerializer[Budget]):
    """Integer cents."""

    study = serializers.CharField(source="study.slug", read_only=True)
    left_cents = serializers.IntegerField(read_only=True)

    class Meta:
        model = Budget
        fields = ["id", "study", "place", "budget_cents", "reserved_cents", "spent_cents", "left_cents"]
        read_only_fields = fields


class BudgetFilters(Filters):
    """Of budgets."""

    study = study_filter()

    class Meta:
        model = Budget
        fields = ["study", "place"]


class BudgetResource(Resource):
    """What a study may cost at a place, and what of it is kept or gone."""

    reading, scope = "annotation.view_budget", "money"
    queryset = Budget.objects.select_related("study")
    serializer_class = BudgetSerializer
    filterset_class = BudgetFilters


class LedgerSerializer(serializers.ModelSerializer[LedgerEntry]):
    """A move of money, in cents."""

    study = serializers.CharField(source="budget.study.slug", read_only=True)
    place = serializers.CharField(source="budget.place", read_only=True)

    class Meta:
        model = LedgerEntry
        fields = [
            *("id", "study", "place", "key", "what", "reserved_cents", "spent_cents", "publication"),
            *("session", "at"),
        ]
        read_only_fields = fields


class LedgerFilters(Filters):
    """Of the ledger."""

    study = study_filter(field_name="budget__study")
    place = filters.CharFilter(field_name="budget__place")

    class Meta:
        model = LedgerEntry
        fields = ["study", "place", "what"]


class LedgerResource(Resource):
    """Every move of money; its sums are the budget's counters."""

    reading, study_path, scope = "annotation.view_ledgerentry", "budget__study", "money"
    queryset = LedgerEntry.objects.select_related("budget__study")
    serializer_class = LedgerSerializer
    filterset_class = LedgerFilters


class PublicationSerializer(serializers.ModelSerializer[Publication]):
    """What was put up at a crowd."""

    study = serializers.CharField(source="study.slug", read_only=True)
    hit = serializers.CharField(source="hit.key", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Publication
        fields = [
            *("id", "study", "place", "hit", "number", "external_id", "group_id", "state", "places", "held"),
            *("reward_cents", "fee_cents", "expires_at", "looked_at", "created_at"),
        ]
        read_only_fields = fields


class PublicationFilters(Filters):
    """Of publications."""

    study = study_filter()
    hit = filters.CharFilter(field_name="hit__key")

    class Meta:
        model = Publication
        fields = ["study", "place", "hit", "state"]


class PublicationResource(Resource):
    """A HIT at Mechanical Turk, a whole study at a panel."""

    reading, scope = "annotation.view_publication", "money"
    queryset = Publication.objects.select_related("study", "hit")
    serializer_class = PublicationSerializer
    filterset_class = PublicationFilters


class SessionSerializer(serializers.ModelSerializer[CrowdSession]):
    """A piece of paid work; never what the crowd itself calls the person."""

    study = serializers.CharField(source="study.slug", read_only=True)
    worker = serializers.CharField(source="worker.name", read_only=True)

    class Meta:
        model = CrowdSession
        fields = [
            *("id", "study", "place", "publication", "worker", "status", "confirmed", "booked"),
            *("arrived_at", "submitted_at", "auto_approval_at", "decided_at", "seen_at"),
        ]
        read_only_fields = fields


class SessionFilters(Filters):
    """Of sessions."""

    study = study_filter()
    worker = filters.CharFilter(field_name="worker__name")

    class Meta:
        model = CrowdSession
        fields = ["study", "place", "worker", "status"]


class SessionResource(Resource):
    """Who came from a crowd, and how it ended."""

    reading, scope = "annotation.view_crowdsession", "money"
    queryset = CrowdSession.objects.select_related("study", "worker")
    serializer_class = SessionSerializer
    filterset_class = SessionFilters
