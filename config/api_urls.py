"""The addresses below /api/."""

from __future__ import annotations

from django.urls import include, path, re_path
from rest_framework.routers import SimpleRouter

from annotation.api import deciding, desk, money, paying, quality, quiz, running, webhooks, work
from annotation.api import resources as annotation
from config.api import nothing_here
from config.api_schema import DocsView, SchemaView
from evaluation.api import board, challenges, closer, comparing, known, planning, releases, steps
from evaluation.api import resources as evaluation
from judgments.api import designs, material, presets
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
router.register("registrations", releases.RegistrationResource, "registrations")
router.register("releases", releases.ReleaseResource, "releases")
router.register("items", material.ItemResource, "items")
router.register("captions", material.CaptionResource, "captions")
router.register("outputs", material.OutputResource, "outputs")
router.register("pairs", material.PairResource, "pairs")
router.register("events", material.EventResource, "events")
router.register("roles", material.RoleResource, "roles")
router.register("exclusions", desk.ExclusionResource, "exclusions")
router.register("cases", desk.CaseResource, "cases")
router.register("problem-reports", desk.ProblemReportResource, "problem-reports")
router.register("budgets", money.BudgetResource, "budgets")
router.register("ledger", money.LedgerResource, "ledger")
router.register("publications", money.PublicationResource, "publications")
router.register("sessions", money.SessionResource, "sessions")
router.register("webhooks", webhooks.WebhookResource, "webhooks")
router.register("deliveries", webhooks.DeliveryResource, "deliveries")
router.register("rules", quality.RuleResource, "rules")
router.register("quiz-attempts", quality.QuizAttemptResource, "quiz-attempts")
router.register("participations", quality.ParticipationResource, "participations")
router.register("adjudications", deciding.AdjudicationResource, "adjudications")
router.register("invitations", deciding.InvitationResource, "invitations")
router.register("crowd-calls", deciding.CrowdCallResource, "crowd-calls")
router.register("written-captions", deciding.WrittenCaptionResource, "written-captions")
router.register("plans", planning.PlanResource, "plans")
router.register("rehearsals", planning.RehearsalResource, "rehearsals")
router.register("saved-presets", presets.SavedPresetResource, "saved-presets")
router.register("challenges", challenges.ChallengeResource, "challenges")
router.register("submissions", challenges.SubmissionResource, "submissions")

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
    path("studies/<str:slug>/pause/", running.PauseView.as_view(), name="pause"),
    path("studies/<str:slug>/resume/", running.ResumeView.as_view(), name="resume"),
    path("studies/<str:slug>/extend/", running.ExtendStudyView.as_view(), name="extend-study"),
    path("studies/<str:slug>/reopen/", running.ReopenView.as_view(), name="reopen"),
    path("studies/<str:slug>/expire/", running.ExpireView.as_view(), name="expire"),
    path("studies/<str:slug>/design/", designs.DesignView.as_view(), name="design"),
    path("studies/<str:slug>/numbers/", designs.PlanView.as_view(), name="numbers"),
    path("studies/<str:slug>/approve/", desk.ApproveView.as_view(), name="approve"),
    path("studies/<str:slug>/reject/", desk.RejectView.as_view(), name="reject"),
    path("studies/<str:slug>/exclude/", desk.ExcludeView.as_view(), name="exclude"),
    path("studies/<str:slug>/readmit/", desk.ReadmitView.as_view(), name="readmit"),
    path("studies/<str:slug>/bonus/", paying.BonusView.as_view(), name="bonus"),
    path("studies/<str:slug>/top-up/", paying.TopUpView.as_view(), name="top-up"),
    path("studies/<str:slug>/budget/", paying.BudgetView.as_view(), name="budget"),
    path("crowd-calls/<str:id>/retry/", paying.RetryView.as_view(), name="call-retry"),
    path("crowd-calls/<str:id>/was-done/", paying.WasDoneView.as_view(), name="call-was-done"),
    path("crowd-calls/<str:id>/was-not-done/", paying.WasNotDoneView.as_view(), name="call-was-not-done"),
    path("studies/<str:slug>/aggregate/", steps.AggregateView.as_view(), name="aggregate"),
    path("studies/<str:slug>/evaluate/", steps.EvaluateView.as_view(), name="evaluate"),
    path("studies/<str:slug>/agreement/", steps.AgreementView.as_view(), name="agreement"),
    path("studies/<str:slug>/comparison/", comparing.ComparisonView.as_view(), name="comparison"),
    path("studies/<str:slug>/evaluation/", steps.EvaluationView.as_view(), name="evaluation"),
    path("studies/<str:slug>/rules/<str:rule>/", quality.RuleView.as_view(), name="rule"),
    path("studies/<str:slug>/replay/", quality.ReplayView.as_view(), name="replay"),
    path("studies/<str:slug>/controls/", quality.ControlsView.as_view(), name="controls"),
    path(
        "studies/<str:slug>/control-items/",
        quality.ControlItemResource.as_view({"get": "list"}),
        name="control-items",
    ),
    path("studies/<str:slug>/board/", board.BoardView.as_view(), name="board"),
    path("studies/<str:slug>/disagreements/", closer.DisagreementsView.as_view(), name="disagreements"),
    path("studies/<str:slug>/disagreements/<str:key>/", closer.CloserView.as_view(), name="closer"),
    path("studies/<str:slug>/next-batch/", closer.NextBatchView.as_view(), name="next-batch"),
    path("studies/<str:slug>/use-plan/", planning.UsePlanView.as_view(), name="use-plan"),
    path("studies/<str:slug>/report/", steps.MakeReportView.as_view(), name="make-report"),
    path(
        "studies/<str:slug>/known-items/",
        known.KnownItemResource.as_view({"get": "list", "post": "create"}),
        name="known-items",
    ),
    path("presets/", designs.PresetsView.as_view(), name="presets"),
    path("", include(router.urls)),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", DocsView.as_view(), name="docs"),
    re_path(r"^[\s\S]*\Z", nothing_here),
]
