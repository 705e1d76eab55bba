"""The URLs of plans below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.planning.operations import use_plan
from contrib.planning.resources import PlanResource
from judgments.api.operations import operation_path

router = SimpleRouter()
router.register("plans", PlanResource, "plans")

urlpatterns = [operation_path(use_plan), path("", include(router.urls))]
