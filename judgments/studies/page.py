"""The admin of studies: their list, and the views that show their pages and carry out their steps.

The pages and steps themselves are registered in ``judgments.studies.study_page``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Max, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.views.decorators.http import require_POST
from unfold.decorators import display

from common.amounts import thousands
from common.audit import log_about
from common.errors import DesignError, FeatureIsOff, QuorumError
from common.files import can_be_stored
from judgments.access.rights import Right, has_right
from judgments.access.study_log import note_event
from judgments.admin.base import QuorumAdmin, row_or_404, signed_in
from judgments.admin.columns import simulated_mark
from judgments.admin.documentation import page_of_feature, with_help
from judgments.cached_figures import FiguresPending
from judgments.design.editing.form.labels import replace_keys_by_labels
from judgments.design.editing.views import design, from_file, numbers, reuse, start
from judgments.kinds import KINDS, UnavailableKind
from judgments.models import Study, StudyEvent
from judgments.studies.frame_page import show_counting, study_context
from judgments.studies.home_page import with_progress
from judgments.studies.pages import Context, StartPage, StudyPage, StudyStep
from judgments.studies.step_form import store_refusal
from judgments.studies.studies import delete_study
from judgments.studies.study_page import PAGES, START_PAGES, STEPS, first_page, study_page_address

STATE_COLOURS = {
    Study.State.DRAFT: "",
    Study.State.GENERATED: "warning",
    Study.State.OPEN: "success",
    Study.State.CLOSED: "info",
}


@admin.register(Study)
class StudyAdmin(QuorumAdmin):
    """The list of studies, and the addresses of their pages and steps (``judgments.studies.study_page``)."""

    help = "designing.md"
    empty_list_text = "In a study, people judge the texts of a dataset."
    list_display = (
        "study", "state_label", "protocol_title", "dataset", "progress", "created_by", "creation_time"
    )  # fmt: skip
    list_display_links = None
    add_label = "New study"
    list_filter = ("state", "protocol", "source", "simulated", "dataset")
    list_filter_submit = True
    list_select_related = ("dataset", "created_by")
    search_fields = ("name", "slug")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        return with_progress(super().get_queryset(request))

    @display(description="study", ordering="name")
    def study(self, study: Study) -> SafeString:
        address = first_page(study)
        markup = '<a class="q-name" href="{}">{}</a>{}'
        return format_html(markup, address, study.name, simulated_mark(study))

    @display(description="state", label=STATE_COLOURS, ordering="state")
    def state_label(self, study: Study) -> tuple[str, str]:
        return study.state, study.get_state_display()

    @display(description="protocol", ordering="protocol")
    def protocol_title(self, study: Study) -> str:
        return gettext(KINDS[study.protocol].title).partition(":")[0]

    @display(description="pages of work submitted")
    def progress(self, study: Study) -> SafeString | str:
        wanted_count, finished_count = study.wanted, study.finished  # type: ignore[attr-defined]
        if study.source == Study.Source.IMPORTED:
            return gettext("imported")
        if not wanted_count:
            return "–"
        return format_html(
            '<span class="q-bar"><progress max="{}" value="{}"></progress> {} / {}</span>',
            wanted_count, finished_count, thousands(finished_count), thousands(wanted_count),
        )  # fmt: skip

    @display(description="created", ordering="created_at")
    def creation_time(self, study: Study) -> str:
        return date_format(localtime(study.created_at))

    def get_urls(self) -> list[URLPattern]:
        def url(
            route: str, name: str, view: Callable[..., HttpResponseBase], help: str = self.help
        ) -> URLPattern:
            view = self.admin_site.admin_view(view)
            return path(route, with_help(view, help), name=f"judgments_study_{name}")

        return [
            url("numbers/<slug:key>/", "numbers", numbers.show_numbers),  # of an unsaved design
            url("compare/", "compare", partial(reuse.show_comparison, self), "designing.md#use-again"),
            url(
                "from-file/",
                "from_file",
                self._with_add_permission(from_file.add_study_from_file),
                "study-files.md",
            ),
            url("<int:pk>/do/<slug:name>/", "do", require_POST(self.step_view)),
            *(
                url(f"<int:pk>/{page.name}/", page.name, partial(self.page_view, page=page), _help_of(page))
                for page in PAGES.values()
                if page.name != "change"  # the admin already has this address
            ),
            *(
                url(
                    f"{page.name}/", f"start_{page.name}", partial(self.start_view, page=page), _help_of(page)
                )
                for page in START_PAGES.values()
            ),
            *super().get_urls(),
        ]

    def page_view(self, request: HttpRequest, pk: int, page: StudyPage) -> HttpResponseBase:
        """Show a page of a study or, if it cannot be shown now, a page that says why."""
        study = self._find_study(request, pk, page.permission)
        context = self.context(request, study, page.name)
        try:
            response = page.view(request, study, context)
            # the template of a kind whose feature is off raises FeatureIsOff, too, so it is rendered here
            if isinstance(response, TemplateResponse) and isinstance(context["kind"], UnavailableKind):
                response.render()
        except FiguresPending:
            return show_counting(request, study, context)
        except FeatureIsOff as error:
            return _show_feature_is_off(request, context, error)
        return response

    def start_view(self, request: HttpRequest, page: StartPage) -> HttpResponseBase:
        if not self.has_add_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": gettext(page.label),
            "subtitle": gettext(page.label),
        }
        return page.view(request, context)

    def step_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        """Carry out a step that a form posted. If the step is refused, show the reason."""
        step = STEPS.get(name)
        if step is None:
            raise Http404
        study = self._find_study(request, pk, step.permission)
        if step.requires and not signed_in(request).has_perm(step.requires):
            raise PermissionDenied
        last_event_id = StudyEvent.objects.filter(study=study).aggregate(pk=Max("pk"))["pk"] or 0
        try:
            if not can_be_stored(dict(request.POST.lists())):
                raise QuorumError(
                    gettext(
                        "Nothing was changed, because a text contains the character U+0000, which cannot be stored."
                    )
                )
            response = step.run(request, study)
        except QuorumError as error:
            return self._redirect_to_refusal(request, study, step, error)
        if step.permission != Right.VIEW:
            self.log_change(request, study, step.label)
            self._log_step(request, study, step, last_event_id)
        if step.message:
            messages.success(request, gettext(step.message))
        return response or self._redirect_back(request, study)

    def _redirect_to_refusal(
        self, request: HttpRequest, study: Study, step: StudyStep, error: QuorumError
    ) -> HttpResponseRedirect:
        sentence = replace_keys_by_labels(str(error), study.design)
        if step.inline:
            store_refusal(request, study, step.name, sentence)
            return self._redirect_back(request, study, f"#{step.name}")
        if step.refusal_address is not None and isinstance(error, DesignError) and error.field:
            return HttpResponseRedirect(step.refusal_address(study, error.field))
        messages.error(request, sentence)
        return self._redirect_back(request, study)

    @staticmethod
    def _log_step(request: HttpRequest, study: Study, step: StudyStep, last_event_id: int) -> None:
        """Log the step, unless its service already added an entry after the one with this id."""
        person = signed_in(request)
        if not Study.objects.filter(pk=study.pk).exists():
            return  # the step deleted the study, and has already logged this
        if not StudyEvent.objects.filter(study=study, pk__gt=last_event_id, by=person).exists():
            sentence = f"Asked for: {step.label}."
            note_event(
                study=study, what=step.name, sentence=sentence, why=request.POST.get("why", ""), by=person
            )

    def _redirect_back(self, request: HttpRequest, study: Study, fragment: str = "") -> HttpResponseRedirect:
        """Redirect to the page that had the form. ``fragment`` names a part of this page."""
        page = PAGES.get(request.POST.get("page", ""))
        address = study_page_address(study, page.name) if page else first_page(study)
        number = request.POST.get("number", "")  # number of the page of work that had the form
        return HttpResponseRedirect(
            f"{address}?number={number}" if number.isdecimal() else address + fragment
        )

    def context(self, request: HttpRequest, study: Study, active: str) -> Context:
        return study_context(self.admin_site, request, study, active=active)

    def _find_study(self, request: HttpRequest, pk: int | str, permission: str) -> Study:
        """Return the study with this row id for a request.

        Raises:
            Http404: the person may not see such a study.
            PermissionDenied: the person lacks the right ``permission`` in the study.
        """
        studies = Study.objects.visible_to(request.user).select_related("dataset")
        # the head of every page says if there are alarms: participants have seen all check questions
        study = row_or_404(studies.annotate(warned=Count("alarms")), pk)
        if not has_right(request.user, Right(permission), study):
            raise PermissionDenied
        log_about(study=study.slug)
        return study

    def has_view_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        if obj is None and self.has_add_permission(request):
            return True
        return super().has_view_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        if obj is None:
            return super().has_change_permission(request)
        return has_right(request.user, Right.CHANGE, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        if obj is None:
            return super().has_delete_permission(request)
        return has_right(request.user, Right.OWN, obj)

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        return start.add_study(self, request)

    def _with_add_permission(
        self, view: Callable[[StudyAdmin, HttpRequest], HttpResponse]
    ) -> Callable[[HttpRequest], HttpResponse]:
        """Return a view that raises PermissionDenied unless the person may create studies, and then calls ``view``."""

        def checked_view(request: HttpRequest) -> HttpResponse:
            if not self.has_add_permission(request):
                raise PermissionDenied
            return view(self, request)

        return checked_view

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        study = self._find_study(request, object_id, Right.VIEW)
        kind = KINDS[study.protocol]
        if isinstance(kind, UnavailableKind):
            return _show_feature_is_off(request, self.context(request, study, "change"), kind.error())
        return design.show_design(self, request, study)

    def delete_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        study = self._find_study(request, object_id, Right.OWN)
        if request.method == "POST":
            try:
                with transaction.atomic():  # if the deletion is refused, no log entry remains
                    self.log_deletions(request, Study.objects.filter(pk=study.pk))
                    delete_study(study=study)
            except QuorumError as error:
                messages.error(request, str(error))
                return redirect(study_page_address(study, "change"))
            messages.success(request, gettext("Study “%(name)s” was deleted.") % {"name": study.name})
            return redirect(reverse("admin:judgments_study_changelist"))
        return TemplateResponse(
            request,
            "judgments/study/delete.html",
            self.context(request, study, "change") | {"subtitle": gettext("Delete")},
        )


def _help_of(page: StudyPage | StartPage) -> str:
    """Return the documentation page about a page: its own, its feature's, or that of studies."""
    # a StartPage has no ``help``
    return getattr(page, "help", "") or page_of_feature(page.view) or StudyAdmin.help


def _show_feature_is_off(request: HttpRequest, context: Context, error: FeatureIsOff) -> HttpResponse:
    context |= {"subtitle": "", "sentence": str(error)}
    return TemplateResponse(request, "judgments/study/feature_off.html", context, status=error.status)
