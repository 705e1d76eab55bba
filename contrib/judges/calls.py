"""The addresses of judges below /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from contrib.judges.operations import ask_judge, compare_judges, import_judge
from contrib.judges.views import JudgeAnswerResource, JudgeResource, JudgesView
from judgments.api.resources import operation_path

router = SimpleRouter()
router.register("judges", JudgeResource, "judges")
router.register("judge-answers", JudgeAnswerResource, "judge-answers")

urlpatterns = [
    operation_path(import_judge),
    operation_path(ask_judge),
    operation_path(compare_judges),
    path("studies/<str:slug>/judges/", JudgesView.as_view(), name="study-judges"),
    path("", include(router.urls)),
]
