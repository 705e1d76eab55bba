"""The calls that change webhooks, and list them and their messages.

They are for people who may change the study, since addresses can contain keys of other services.
"""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.request import Request

from annotation.api import bodies
from contrib.webhooks import operations
from contrib.webhooks.delivery import secret_of
from contrib.webhooks.models import Webhook, WebhookDelivery
from judgments.access.permissions import staff_of
from judgments.access.rights import PERMISSIONS, RIGHTS_BY_ROLE, Right
from judgments.api.filters import filters_of, study_filter
from judgments.api.operations import create_action, row_action
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.models import Study, StudyRole

ROLES_WITH_CHANGE_RIGHT = [role for role, rights in RIGHTS_BY_ROLE.items() if Right.CHANGE in rights]


def changeable_studies(studies: QuerySet[Study], request: Request) -> QuerySet[Study]:
    user = staff_of(request)
    if user.has_perm(PERMISSIONS[Right.CHANGE]):  # the right to change all studies
        return studies
    roles = StudyRole.objects.filter(user=user, role__in=ROLES_WITH_CHANGE_RIGHT)
    return studies.filter(pk__in=roles.values("study"))


class WebhookSerializer(RowSerializer[Webhook]):
    """An address to which a study's events are sent. The secret is left out."""

    study = Related("study.slug")
    events = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="Names of the events that are sent."
    )
    made_by = Related("made_by.username", optional=True)

    class Meta:
        model = Webhook
        fields = ["id", "study", "url", "events", "active", "failures", "rests_until", "made_by", "made_at"]


class WebhookWithSecret(WebhookSerializer):
    """A webhook with its secret, which is shown only in this response."""

    secret = serializers.SerializerMethodField(
        help_text="Key of the messages' signatures: base64 after `whsec_`."
    )

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]

    def get_secret(self, webhook: Webhook) -> str:
        return secret_of(webhook)


class DeliverySerializer(RowSerializer[WebhookDelivery]):
    """A message to a webhook, and its delivery."""

    study = Related("webhook.study.slug")
    payload = serializers.DictField(
        read_only=True, help_text="Data of the message; its members differ by event."
    )

    class Meta:
        model = WebhookDelivery
        fields = [
            "id", "webhook", "study", "event", "payload", "state", "attempts", "made_at", "next_at",
            "delivered_at", "status", "problem",
        ]  # fmt: skip


@extend_schema_view(destroy=extend_schema(description=operations.remove_webhook.description))
class WebhookResource(mixins.DestroyModelMixin, Resource):
    """Addresses to which a study's events are sent."""

    read_permission = PERMISSIONS[Right.CHANGE]
    scope = "webhooks"
    queryset = Webhook.objects.select_related("study", "made_by")
    serializer_class = WebhookSerializer
    filterset_class = filters_of(Webhook, study=study_filter())

    def rows_for(
        self, queryset: QuerySet[Webhook], studies: QuerySet[Study], request: Request
    ) -> QuerySet[Webhook]:
        return queryset.filter(study__in=changeable_studies(studies, request))

    create = create_action(
        operations.add_webhook,
        reply=WebhookWithSecret,
        route="api:webhooks-detail",
        responses={404: bodies.Problem, 409: bodies.Problem},
    )
    ping = row_action(
        operations.ping_webhook, "ping", reply=DeliverySerializer, status=201, responses={409: bodies.Problem}
    )
    rotate = row_action(operations.rotate_secret, "rotate", reply=WebhookWithSecret)
    switch = row_action(operations.switch_webhook, "switch", reply=WebhookSerializer)

    def perform_destroy(self, instance: Webhook) -> None:
        operations.remove_webhook.run(
            instance.study, {"webhook": str(instance.pk)}, by=staff_of(self.request)
        )


class DeliveryResource(Resource):
    """The messages of webhooks, sent and waiting."""

    read_permission = PERMISSIONS[Right.CHANGE]
    study_path = "webhook__study"
    scope = "webhooks"
    queryset = WebhookDelivery.objects.select_related("webhook__study")
    serializer_class = DeliverySerializer
    filterset_class = filters_of(
        WebhookDelivery, "webhook", "event", "state", study=study_filter(field_name="webhook__study")
    )
    orderings = {"made_at": "made_at"}
    lookup_value_regex = "[-0-9a-fA-F]{36}"

    def rows_for(
        self, queryset: QuerySet[WebhookDelivery], studies: QuerySet[Study], request: Request
    ) -> QuerySet[WebhookDelivery]:
        return queryset.filter(webhook__study__in=changeable_studies(studies, request))

    retry = row_action(
        operations.retry_delivery, "retry", reply=DeliverySerializer, responses={409: bodies.Problem}
    )
