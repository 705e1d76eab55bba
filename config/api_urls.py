"""The addresses below /api/."""

from __future__ import annotations

from django.urls import include, path, re_path
from rest_framework.routers import SimpleRouter

from annotation.api import quiz, work
from annotation.api import resources as annotation
from config.api import nothing_here
from config.api_schema import DocsView, SchemaView
from evaluation.api import resources as evaluation
from judgments.api import resources as judgments

app_name = "api"

router = SimpleRouter()
router.register("datasets", judgments.DatasetResource, "datasets")
router.register("systems", judgments.SystemResource, "systems")
router.register("studies", judgments.StudyResource, "studies")
router.register("units", judgments.UnitResource, "units")
router.register("hits", judgments.HITResource, "hits")
router.register("jobs", judgments.JobResource, "jobs")
router.register("assignments", annotation.AssignmentResource, "assignments")
router.register("judgments", annotation.JudgmentResource, "judgments")
router.register("workers", annotation.WorkerResource, "workers")
router.register("consensus", evaluation.ConsensusResource, "consensus")
router.register("reports", evaluation.ReportResource, "reports")
router.register("exports", evaluation.ExportResource, "exports")

urlpatterns = [
    # the worker's calls
    path("studies/<str:slug>/join/", work.JoinView.as_view(), name="join"),
    path("studies/<str:slug>/assignments/", work.AcceptView.as_view(), name="accept"),
    path("studies/<str:slug>/quiz/", quiz.QuizView.as_view(), name="quiz"),
    path("assignments/<str:id>/", annotation.AssignmentView.as_view(), name="assignment"),
    path("assignments/<str:id>/submit/", work.SubmitView.as_view(), name="submit"),
    path("assignments/<str:id>/revise/", work.ReviseView.as_view(), name="revise"),
    path("assignments/<str:id>/extend/", work.ExtendView.as_view(), name="extend"),
    path("assignments/<str:id>/retake/", work.RetakeView.as_view(), name="retake"),
    path("assignments/<str:id>/return/", work.ReturnView.as_view(), name="return"),
    path("assignments/<str:id>/report/", work.ReportView.as_view(), name="report"),
    # the researchers' resources
    path("studies/<str:slug>/open/", annotation.OpenStudyView.as_view(), name="open"),
    path("studies/<str:slug>/close/", annotation.CloseStudyView.as_view(), name="close"),
    path("", include(router.urls)),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", DocsView.as_view(), name="docs"),
    re_path(r"^[\s\S]*\Z", nothing_here),
]
