"""Studies: the list, the design, and the pages and steps this app gives them."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.decorators import display

from judgments.admin import study_design
from judgments.admin.base import SIMULATED, QuorumAdmin
from judgments.admin.study_pages import (
    PAGES,
    STEPS,
    Context,
    StudyPage,
    first_page,
    page_address,
    study_context,
)
from judgments.errors import QuorumError
from judgments.kinds import KINDS
from judgments.models import HIT, Study
from judgments.services.studies import delete_study

FINISHED = ["submitted", "approved", "rejected"]
STATE_COLOURS = {
    Study.State.DRAFT: "",
    Study.State.GENERATED: "warning",
    Study.State.OPEN: "success",
    Study.State.CLOSED: "info",
}


@admin.register(Study)
class StudyAdmin(QuorumAdmin):
    """A study from design to results. Services decide; these pages ask and explain."""

    list_display = (
        "study",
        "state_label",
        "protocol_title",
        "dataset",
        "progress",
        "created_by",
        "created",
    )
    list_display_links = None
    add_label = "New study"
    list_filter = ("state", "protocol", "source", "simulated", "dataset")
    list_filter_submit = True
    list_select_related = ("dataset", "created_by")
    search_fields = ("name", "slug")
    actions = None

    # --- the list ------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        """Studies with how many HITs they ask for and how many were handed in, counted beside them."""
        hits = HIT.objects.filter(study=OuterRef("pk")).order_by().values("study")
        wanted = hits.annotate(n=Sum("required")).values("n")
        finished = hits.filter(assignments__state__in=FINISHED).annotate(n=Count("assignments")).values("n")
        return (
            super()
            .get_queryset(request)
            .annotate(
                wanted=Coalesce(Subquery(wanted, output_field=IntegerField()), 0),
                finished=Coalesce(Subquery(finished, output_field=IntegerField()), 0),
            )
        )

    @display(description="study", ordering="name")
    def study(self, study: Study) -> SafeString:
        """The name, leading to the page that matters in the study's state."""
        address = first_page(study)
        shown = '<a class="q-name" href="{}">{}</a>' + (SIMULATED if study.simulated else "")
        return format_html(shown, address, study.name)

    @display(description="state", label=STATE_COLOURS, ordering="state")
    def state_label(self, study: Study) -> tuple[str, str]:
        """The state in a word."""
        return study.state, study.get_state_display()

    @display(description="protocol", ordering="protocol")
    def protocol_title(self, study: Study) -> str:
        """The protocol's name."""
        return KINDS[study.protocol].title.partition(":")[0]

    @display(description="HITs handed in")
    def progress(self, study: Study) -> SafeString | str:
        """How far it is."""
        wanted, finished = study.wanted, study.finished  # type: ignore[attr-defined]
        if study.source == Study.Source.IMPORTED:
            return "imported"
        if not wanted:
            return "–"
        return format_html(
            '<span class="q-bar"><progress max="{}" value="{}"></progress> {} of {}</span>',
            wanted, finished, f"{finished:,}", f"{wanted:,}",
        )  # fmt: skip

    @display(description="created", ordering="created_at")
    def created(self, study: Study) -> str:
        """The day."""
        return date_format(study.created_at, "j M Y")

    # --- addresses -----------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        """The pages and steps that the apps have added, before the admin's own."""
        own = [
            path("from-file/", self.admin_site.admin_view(self.file_view), name="judgments_study_from_file"),
            path(
                "<int:pk>/do/<slug:name>/",
                self.admin_site.admin_view(require_POST(self.step_view)),
                name="judgments_study_do",
            ),
        ]
        own += [
            path(
                f"<int:pk>/{page.name}/",
                self.admin_site.admin_view(partial(self.page_view, page=page)),
                name=f"judgments_study_{page.name}",
            )
            for page in PAGES.values()
            if page.name != "change"  # the admin's own address
        ]
        return own + super().get_urls()

    def page_view(self, request: HttpRequest, pk: int, page: StudyPage) -> HttpResponseBase:
        """One of the study's pages."""
        study = self._study(request, pk, page.permission)
        return page.view(request, study, self.context(request, study, page.name))

    def step_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        """Do a step and say what came of it."""
        step = STEPS.get(name)
        if step is None:
            raise Http404
        study = self._study(request, pk, step.permission)
        try:
            answer = step.run(request, study)
        except QuorumError as error:
            messages.error(request, str(error))
            return self._back(request, study)
        if step.permission == "change":
            self.log_change(request, study, step.label)
        if step.done:
            messages.success(request, step.done)
        return answer or self._back(request, study)

    def _back(self, request: HttpRequest, study: Study) -> HttpResponseRedirect:
        """To the page of the study that the post came from."""
        page = PAGES.get(request.POST.get("page", ""))
        return redirect(page_address(study, page.name) if page and page.label else first_page(study))

    def context(self, request: HttpRequest, study: Study, active: str) -> Context:
        """What every page of a study shows."""
        may_change = self.has_change_permission(request, study)
        context = study_context(self.admin_site, request, study, active=active, may_change=may_change)
        never_opened = study.state in (Study.State.DRAFT, Study.State.GENERATED)
        return context | {"may_delete": never_opened and self.has_delete_permission(request, study)}

    def _study(self, request: HttpRequest, pk: int | str, permission: str) -> Study:
        """The study, if the person may do this to it."""
        studies = Study.objects.select_related("dataset").annotate(warned=Count("alarms"))
        study = studies.filter(pk=pk).first() if str(pk).isdecimal() else None
        allowed = self.has_view_permission if permission == "view" else self.has_change_permission
        if not allowed(request, study):
            raise PermissionDenied
        if study is None:
            raise Http404
        return study

    # --- the design ----------------------------------------------------------------------------

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Choose where to start, then fill in the design."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return study_design.add_study(self, request)

    def file_view(self, request: HttpRequest) -> HttpResponse:
        """A study from a study file."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return study_design.add_study_from_file(self, request)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The design: a form while the study is a draft, to read afterwards."""
        study = self._study(request, object_id, "view")
        return study_design.show_design(self, request, study)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Ask once, then delete; what workers answered is never deleted."""
        study = self._study(request, object_id, "view")
        if not self.has_delete_permission(request, study):
            raise PermissionDenied
        if request.method == "POST":
            try:
                with transaction.atomic():  # a refused deletion leaves no entry behind
                    self.log_deletions(request, Study.objects.filter(pk=study.pk))
                    delete_study(study=study)
            except QuorumError as error:
                messages.error(request, str(error))
                return redirect(page_address(study, "change"))
            messages.success(request, f"Study “{study.name}” was deleted.")
            return redirect(reverse("admin:judgments_study_changelist"))
        return TemplateResponse(
            request,
            "judgments/study/delete.html",
            self.context(request, study, "change") | {"subtitle": "Delete"},
        )
