"""Webhooks and what they were told, for whoever may change the study: addresses can hold keys of other services."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.request import Request

from annotation.api import work
from annotation.models import Webhook, WebhookDelivery
from annotation.webhooks import operations
from annotation.webhooks.webhooks import secret_of
from judgments.access.roles import PERMISSIONS, RIGHTS, Right, staff_of
from judgments.api.operations import create_action, row_action
from judgments.api.resources import Filters, Resource, study_filter
from judgments.models import Study, StudyRole

CHANGING = [role for role, rights in RIGHTS.items() if Right.CHANGE in rights]


def changeable(studies: QuerySet[Study], request: Request) -> QuerySet[Study]:
    """Those of the studies that who asks may change."""
    user = staff_of(request)
    if user.has_perm(PERMISSIONS[Right.CHANGE]):
        return studies
    own = StudyRole.objects.filter(user=user, role__in=CHANGING)
    return studies.filter(pk__in=own.values("study"))


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """An address that hears of a study; never its secret."""

    study = serializers.CharField(source="study.slug", read_only=True)
    events = serializers.ListField(child=serializers.CharField(), read_only=True)
    made_by = serializers.CharField(source="made_by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Webhook
        fields = ["id", "study", "url", "events", "active", "failures", "rests_until", "made_by", "made_at"]
        read_only_fields = fields


class WebhookWithSecret(WebhookSerializer):
    """The one answer that tells the secret."""

    secret = serializers.SerializerMethodField()

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]
        read_only_fields = fields

    def get_secret(self, webhook: Webhook) -> str:
        return secret_of(webhook)


class WebhookFilters(Filters):
    """Of webhooks."""

    study = study_filter()

    class Meta:
        model = Webhook
        fields = ["study"]


class DeliverySerializer(serializers.ModelSerializer[WebhookDelivery]):
    """A message: what it says, and how far it came."""

    study = serializers.CharField(source="webhook.study.slug", read_only=True)
    payload = serializers.DictField(read_only=True)

    class Meta:
        model = WebhookDelivery
        fields = [
            *("id", "webhook", "study", "event", "payload", "state", "attempts", "made_at", "next_at"),
            *("delivered_at", "status", "problem"),
        ]
        read_only_fields = fields


class DeliveryFilters(Filters):
    """Of deliveries."""

    study = study_filter(field_name="webhook__study")

    class Meta:
        model = WebhookDelivery
        fields = ["study", "webhook", "event", "state"]


@extend_schema_view(destroy=extend_schema(description=operations.remove.description))
class WebhookResource(mixins.DestroyModelMixin, Resource):
    """Addresses that are told what happens in a study."""

    reading, scope = PERMISSIONS[Right.CHANGE], "webhooks"
    queryset = Webhook.objects.select_related("study", "made_by")
    serializer_class = WebhookSerializer
    filterset_class = WebhookFilters

    def rows_for(
        self, queryset: QuerySet[Webhook], studies: QuerySet[Study], request: Request
    ) -> QuerySet[Webhook]:
        """Of studies that who asks may change."""
        return queryset.filter(study__in=changeable(studies, request))

    create = create_action(
        operations.add,
        reply=WebhookWithSecret,
        route="api:webhooks-detail",
        responses={404: work.Problem, 409: work.Problem},
    )
    ping = row_action(
        operations.ping, "ping", reply=DeliverySerializer, status=201, responses={409: work.Problem}
    )
    rotate = row_action(operations.rotate, "rotate", reply=WebhookWithSecret)
    switch = row_action(operations.switch, "switch", reply=WebhookSerializer)

    def perform_destroy(self, instance: Webhook) -> None:
        """Remove it."""
        operations.remove.run(instance.study, {"webhook": str(instance.pk)}, by=staff_of(self.request))


class DeliveryResource(Resource):
    """What webhooks were told, or are to be told."""

    reading, study_path, scope = PERMISSIONS[Right.CHANGE], "webhook__study", "webhooks"
    queryset = WebhookDelivery.objects.select_related("webhook__study")
    serializer_class = DeliverySerializer
    filterset_class = DeliveryFilters
    orderings = {"made_at": "made_at"}
    lookup_value_regex = "[-0-9a-fA-F]{36}"

    def rows_for(
        self, queryset: QuerySet[WebhookDelivery], studies: QuerySet[Study], request: Request
    ) -> QuerySet[WebhookDelivery]:
        """Of studies that who asks may change."""
        return queryset.filter(webhook__study__in=changeable(studies, request))

    retry = row_action(operations.retry, "retry", reply=DeliverySerializer, responses={409: work.Problem})
