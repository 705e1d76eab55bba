"""The URLs of archives below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.archives.sending import publish_release
from contrib.archives.views import DepositResource
from judgments.api.operations import operation_path

router = SimpleRouter()
router.register("deposits", DepositResource, "deposits")

urlpatterns = [operation_path(publish_release), path("", include(router.urls))]
