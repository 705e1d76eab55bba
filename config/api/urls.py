"""URLs below /api/."""

from __future__ import annotations

from django.conf import settings
from django.urls import include, path, re_path
from rest_framework.routers import SimpleRouter

from annotation.api import resources as annotation
from annotation.api import work
from annotation.crowds.operations import close, open_to_workers
from annotation.crowds.worker_operations import qualify
from annotation.launch.views.api import ChecklistView
from annotation.money import call_decisions
from annotation.money import operations as money
from annotation.money.views.api import money_path
from annotation.money.views.spending import SpendingRequestResource, SpendingView
from annotation.privacy import operations as privacy
from annotation.privacy.views import api as privacy_api
from annotation.quality import operations as quality
from annotation.quality.api import cases, controls, rules
from annotation.work.operations import expire, extend, pause, resume
from config.api.framework import unknown_address
from config.api.schema import DocsView, SchemaView
from evaluation.data.export import views as export_api
from evaluation.reports import api as report_api
from evaluation.reports.releases import views as releases_api
from evaluation.reports.sharing import share_report
from evaluation.reports.storage import make_report
from evaluation.results.operations import start_aggregation, start_evaluation
from evaluation.results.reopening import reopen
from evaluation.results.views import api as results_api
from judgments.access import api as access_api
from judgments.api import jobs as jobs_api
from judgments.api import studies as studies_api
from judgments.api.operations import operation_path
from judgments.datasets import api as datasets_api
from judgments.design.editing import api as design_api
from judgments.studies.operations import change_item, discard, generate, take_back_change

app_name = "api"

router = SimpleRouter()
router.register("datasets", datasets_api.DatasetResource, "datasets")
router.register("dataset-roles", datasets_api.DatasetRoleResource, "dataset-roles")
router.register("systems", datasets_api.SystemResource, "systems")
router.register("studies", studies_api.StudyResource, "studies")
router.register("units", studies_api.UnitResource, "units")
router.register("hits", studies_api.HITResource, "hits")
router.register("jobs", jobs_api.JobResource, "jobs")
router.register("assignments", annotation.AssignmentResource, "assignments")
router.register("judgments", annotation.JudgmentResource, "judgments")
router.register("workers", annotation.WorkerResource, "workers")
router.register("consensus", results_api.ConsensusResource, "consensus")
router.register("reports", report_api.ReportResource, "reports")
router.register("exports", export_api.ExportResource, "exports")
router.register("releases", releases_api.ReleaseResource, "releases")
router.register("items", datasets_api.ItemResource, "items")
router.register("captions", datasets_api.CaptionResource, "captions")
router.register("outputs", datasets_api.OutputResource, "outputs")
router.register("pairs", studies_api.PairResource, "pairs")
router.register("events", access_api.EventResource, "events")
router.register("roles", access_api.RoleResource, "roles")
router.register("exclusions", cases.ExclusionResource, "exclusions")
router.register("cases", cases.CaseResource, "cases")
router.register("problem-reports", annotation.ProblemReportResource, "problem-reports")
router.register("budgets", annotation.BudgetResource, "budgets")
router.register("ledger", annotation.LedgerResource, "ledger")
router.register("spending-requests", SpendingRequestResource, "spending-requests")
router.register("publications", annotation.PublicationResource, "publications")
router.register("sessions", annotation.SessionResource, "sessions")
router.register("rules", rules.RuleResource, "rules")
router.register("participations", annotation.ParticipationResource, "participations")
router.register("erasures", privacy_api.ErasureResource, "erasures")
router.register("erasure-requests", privacy_api.ErasureRequestResource, "erasure-requests")
router.register("consent-versions", privacy_api.ConsentVersionResource, "consent-versions")
router.register("invitations", annotation.InvitationResource, "invitations")
router.register("crowd-calls", annotation.CrowdCallResource, "crowd-calls")
router.register("written-captions", annotation.WrittenCaptionResource, "written-captions")
router.register("saved-presets", design_api.SavedPresetResource, "saved-presets")

STUDY = "studies/<str:slug>"

urlpatterns = [
    # for workers
    path(f"{STUDY}/join/", work.JoinView.as_view(), name="join"),
    path(f"{STUDY}/assignments/", work.AcceptView.as_view(), name="accept"),
    path(f"{STUDY}/consent/", privacy_api.ConsentView.as_view(), name="consent"),
    path(f"{STUDY}/leave/", privacy_api.LeaveView.as_view(), name="leave"),
    path("assignments/<str:id>/", annotation.AssignmentView.as_view(), name="assignment"),
    path("assignments/<str:id>/submit/", work.SubmitView.as_view(), name="submit"),
    path("assignments/<str:id>/revise/", work.ReviseView.as_view(), name="revise"),
    path("assignments/<str:id>/extend/", work.ExtendView.as_view(), name="extend"),
    path("assignments/<str:id>/retake/", work.RetakeView.as_view(), name="retake"),
    path("assignments/<str:id>/return/", work.ReturnView.as_view(), name="return"),
    path("assignments/<str:id>/report/", work.ProblemReportView.as_view(), name="report"),
    # for researchers
    *(
        operation_path(operation)
        for operation in (
            generate,
            discard,
            change_item,
            take_back_change,
            open_to_workers,
            close,
            qualify,
            pause,
            resume,
            extend,
            expire,
            reopen,
            start_aggregation,
            start_evaluation,
            make_report,
            privacy.change_consent_text,
            privacy.decline_request,
        )
    ),
    path(f"{STUDY}/design/", design_api.DesignView.as_view(), name="design"),
    path(f"{STUDY}/numbers/", design_api.PlanView.as_view(), name="numbers"),
    path(f"{STUDY}/checklist/", ChecklistView.as_view(), name="checklist"),
    operation_path(share_report, report_api.ReportLinkView),
    operation_path(privacy.erase, privacy_api.EraseView),
    path(f"{STUDY}/erase-person/preview/", privacy_api.ErasurePreviewView.as_view(), name="erasure-preview"),
    operation_path(quality.approve, cases.ChangedView),
    operation_path(quality.reject, cases.ChangedView),
    operation_path(quality.exclude, cases.ExclusionView),
    operation_path(quality.readmit, cases.ExclusionView),
    money_path(money.bonus, preview="What a bonus would cost", detail="For the newest approved work."),
    money_path(
        money.top_up, preview="What top-ups would cost", detail="For all approved work below the wage floor."
    ),
    money_path(money.budget, preview="What another budget would change", detail="Of an opened study."),
    money_path(call_decisions.retry, preview="What another attempt would cost", detail="For a failed call."),
    money_path(
        call_decisions.mark_as_done,
        preview="What is booked if the call was done",
        detail="For a failed call.",
    ),
    money_path(call_decisions.mark_as_not_done, preview="What a new call costs", detail="For a failed call."),
    path(f"{STUDY}/agreement/", results_api.AgreementView.as_view(), name="agreement"),
    path(f"{STUDY}/evaluation/", results_api.EvaluationView.as_view(), name="evaluation"),
    operation_path(quality.set_rule, rules.RuleView, "rules/<str:rule>"),
    path(f"{STUDY}/controls/", controls.ControlsView.as_view(), name="controls"),
    path(
        f"{STUDY}/control-items/", controls.ControlItemResource.as_view({"get": "list"}), name="control-items"
    ),
    path("spending/", SpendingView.as_view(), name="spending"),
    path("presets/", design_api.PresetsView.as_view(), name="presets"),
    *(path("", include(feature.calls)) for feature in settings.FEATURES.values() if feature.calls),
    path("", include(router.urls)),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", DocsView.as_view(), name="docs"),
    path("docs/<slug:tag>/", DocsView.as_view(), name="docs"),
    re_path(r"^[\s\S]*\Z", unknown_address),  # any other address, even with line ends, which "." excludes
]
