"""The URLs of webhooks below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.webhooks.api import DeliveryResource, WebhookResource

router = SimpleRouter()
router.register("webhooks", WebhookResource, "webhooks")
router.register("deliveries", DeliveryResource, "deliveries")

urlpatterns = [path("", include(router.urls))]
