"""The URLs of plans and rehearsals below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.planning.operations import use_plan
from contrib.planning.rehearsals.resources import RehearsalResource
from contrib.planning.resources import PlanResource
from judgments.api.operations import operation_path

router = SimpleRouter()
router.register("plans", PlanResource, "plans")
router.register("rehearsals", RehearsalResource, "rehearsals")

urlpatterns = [operation_path(use_plan), path("", include(router.urls))]
