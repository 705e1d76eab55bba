"""The URLs of adjudication below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.adjudication.api import AdjudicationResource

router = SimpleRouter()
router.register("adjudications", AdjudicationResource, "adjudications")

urlpatterns = [path("", include(router.urls))]
