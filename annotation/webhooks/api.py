"""Webhooks and what they were told, for whoever may change the study: addresses can hold keys of other services."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api import work
from annotation.models import Webhook, WebhookDelivery
from annotation.models.webhooks import EVENTS
from annotation.webhooks.webhooks import (
    add_webhook,
    ping_webhook,
    remove_webhook,
    retry_delivery,
    rotate_secret,
    switch_webhook,
)
from judgments.access.permissions import staff_of, study_for
from judgments.access.roles import PERMISSIONS, RIGHTS, Right
from judgments.api.bodies import body_of, member
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

    secret = serializers.CharField(read_only=True)

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]
        read_only_fields = fields


class WebhookRequest(serializers.Serializer[Any]):
    """A new webhook."""

    study = serializers.CharField(help_text="Slug.")
    url = serializers.CharField(max_length=500, help_text="https://")
    events = serializers.ListField(child=serializers.ChoiceField(choices=list(EVENTS)), min_length=1)


class SwitchRequest(serializers.Serializer[Any]):
    """On or off."""

    active = serializers.BooleanField()


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


@extend_schema_view(
    create=extend_schema(
        request=WebhookRequest,
        responses={201: WebhookWithSecret, 404: work.Problem, 409: work.Problem},
        description="A new webhook. Its secret is in this answer and in no later one.",
    ),
    ping=extend_schema(
        request=None,
        responses={201: DeliverySerializer, 409: work.Problem},
        description="Writes a test message, which goes out within seconds.",
    ),
    rotate=extend_schema(
        request=None, responses=WebhookWithSecret, description="Another secret; the old one ends now."
    ),
    switch=extend_schema(
        request=SwitchRequest,
        responses=WebhookSerializer,
        description="Off gives up what waits; on hears what happens from now on.",
    ),
    destroy=extend_schema(description="Removes a webhook, and its log."),
)
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

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Add one."""
        body = body_of(request)
        study = study_for(request, member(body, "study", str), Right.CHANGE)
        events = member(body, "events", list)
        if not all(isinstance(one, str) for one in events):
            raise ValidationError({"events": ["must be a list of texts."]})
        webhook, secret = add_webhook(
            study=study, url=member(body, "url", str), events=events, by=staff_of(request)
        )
        place = reverse("api:webhooks-detail", args=[webhook.pk], request=request)
        return Response(
            self._told(webhook, secret), status=status.HTTP_201_CREATED, headers={"Location": place}
        )

    def perform_destroy(self, instance: Webhook) -> None:
        """Remove it."""
        remove_webhook(webhook=instance, by=staff_of(self.request))

    @action(detail=True, methods=["post"])
    def ping(self, request: Request, pk: str) -> Response:
        """Try it."""
        delivery = ping_webhook(webhook=self.get_object(), by=staff_of(request))
        return Response(DeliverySerializer(delivery).data, status=status.HTTP_201_CREATED)

    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, pk: str) -> Response:
        """Another secret."""
        webhook: Webhook = self.get_object()
        return Response(self._told(webhook, rotate_secret(webhook=webhook, by=staff_of(request))))

    @action(detail=True, methods=["post"])
    def switch(self, request: Request, pk: str) -> Response:
        """On or off."""
        webhook: Webhook = self.get_object()
        switch_webhook(webhook=webhook, active=member(body_of(request), "active", bool), by=staff_of(request))
        webhook.refresh_from_db()
        return Response(WebhookSerializer(webhook).data)

    @staticmethod
    def _told(webhook: Webhook, secret: str) -> dict[str, Any]:
        return {**WebhookSerializer(webhook).data, "secret": secret}


@extend_schema_view(
    retry=extend_schema(
        request=None,
        responses={200: DeliverySerializer, 409: work.Problem},
        description="Sends again what was given up, under the same id.",
    )
)
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

    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        """Send again."""
        delivery = retry_delivery(delivery=self.get_object())
        return Response(DeliverySerializer(delivery).data)
