"""The URLs of the evaluation server below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.challenges.api import ChallengeResource, SubmissionJobResource, SubmissionResource

router = SimpleRouter()
router.register("challenges", ChallengeResource, "challenges")
router.register("submissions", SubmissionResource, "submissions")
router.register("submission-jobs", SubmissionJobResource, "submission-jobs")

urlpatterns = [path("", include(router.urls))]
