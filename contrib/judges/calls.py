"""The URLs of judges below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.judges.operations import import_judge, start_judge_comparison, start_judge_run
from contrib.judges.views import JudgeAnswerResource, JudgeResource, JudgesView
from judgments.api.operations import operation_path

router = SimpleRouter()
router.register("judges", JudgeResource, "judges")
router.register("judge-answers", JudgeAnswerResource, "judge-answers")

urlpatterns = [
    operation_path(import_judge),
    operation_path(start_judge_run),
    operation_path(start_judge_comparison),
    path("studies/<str:slug>/judges/", JudgesView.as_view(), name="study-judges"),
    path("", include(router.urls)),
]
