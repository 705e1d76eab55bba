"""The frame of a study's pages: their tabs by section, buttons of steps, and running jobs.

Also the page that is shown while a job computes the figures of a page.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from judgments.access.rights import Right, rights_of
from judgments.admin.addresses import preview_address
from judgments.admin.base import signed_in
from judgments.cached_figures import newest_figures_job
from judgments.models import Job, Study
from judgments.models.jobs import of_studies
from judgments.studies.designs import design_of, kind_of
from judgments.studies.pages import Context, StudySection, StudyStep
from judgments.studies.study_page import PAGE_PARTS, PAGES, STEPS, first_page, study_page_address

POLL_SECONDS = 2  # time between polls for figures that are being computed

MAX_JOBS = 20  # number of a study's newest jobs among which the newest of each kind is sought


def study_context(site: AdminSite, request: HttpRequest, study: Study, *, active: str) -> Context:
    """Return the template context that all pages of a study share. ``active`` is the name of the current page."""
    rights = rights_of(request.user, study)
    jobs = jobs_to_show(study)
    busy_kinds = {job.kind for job in jobs if job.is_under_way}
    steps = [
        step
        for step in STEPS.values()
        if step.has_button(study)
        and step.permission in rights
        and step.job not in busy_kinds
        and (not step.requires or signed_in(request).has_perm(step.requires))
    ]
    next_step = primary_step(steps, study, active)
    other_steps = [step for step in steps if step is not next_step]
    may_preview = study.source == Study.Source.DESIGNED
    is_unopened = study.state in (Study.State.DRAFT, Study.State.GENERATED)
    may_delete = is_unopened and Right.OWN in rights
    links_to_launch = _should_link_to_launch(study, next_step, active)
    return {
        **site.each_context(request),
        "title": study.name,
        "study": study,
        "kind": kind_of(study),
        "criterion_studies": _studies_of_criteria(study, request),
        "currency": design_of(study).currency,
        "steps": STEPS,
        "parts": [
            {"template": part.template, "facts": part.facts(request, study)}
            for part in PAGE_PARTS
            if part.page == active
        ],
        "study_sections": tabs_by_section(study, rights, active),
        "next_step": next_step,
        "launch_link": study_page_address(study, "launch") if links_to_launch else "",
        "other_steps": other_steps,
        "may_preview": may_preview,
        "may_delete": may_delete,
        "shows_menu": len(other_steps) + may_preview + may_delete > 1,  # a single action is a button
        "active_page": active,
        "page_style": PAGES[active].style,
        "preview_link": preview_address(study),
        "rights": rights,
        "may_review": Right.REVIEW in rights,
        "may_change": Right.CHANGE in rights,
        "may_own": Right.OWN in rights,
        "may_add": signed_in(request).has_perm("judgments.add_study"),
        "jobs": jobs,
    }


def _studies_of_criteria(study: Study, request: HttpRequest) -> list[tuple[str, Study, str]]:
    """Return the studies of the other criteria of the same imported file, as (criterion, study, address)."""
    slugs = study.notes.get("criteria", {})
    studies = Study.objects.visible_to(request.user).filter(slug__in=slugs.values()).exclude(pk=study.pk)
    rows = {row.slug: row for row in studies}
    return [(name, rows[slug], first_page(rows[slug])) for name, slug in slugs.items() if slug in rows]


def _should_link_to_launch(study: Study, next_step: StudyStep | None, active: str) -> bool:
    is_generated = study.state == Study.State.GENERATED and not study.simulated
    return is_generated and next_step is None and active != "launch"


def tabs_by_section(study: Study, rights: Collection[str], active: str) -> list[Context]:
    """Return the sections of a study with the tabs that the person may open. Leave out sections without tabs.

    The current page has a tab even if the study has no content for it.
    """
    active_page = PAGES.get(active)
    marked_page = active_page.parent_page if active_page and active_page.parent_page else active
    pages = [
        page
        for page in sorted(PAGES.values(), key=lambda page: page.order)
        if page.label and page.permission in rights
    ]
    sections = []
    for section in StudySection:
        tabs = [
            {
                "label": gettext(page.label),
                "link": study_page_address(study, page.name),
                "current": _aria_current(page.name, active, marked_page),
            }
            for page in pages
            if page.section_in(study) == section
            and (page.name == marked_page or (section.has_content(study) and page.has_tab(study)))
        ]
        if tabs:
            is_active = any(tab["current"] for tab in tabs)
            label = section.label_for(study)
            sections.append({"label": label, "link": tabs[0]["link"], "tabs": tabs, "is_active": is_active})
    return sections


def _aria_current(page: str, active: str, marked_page: str) -> str:
    """Return the attribute ``aria-current`` of a page's tab.

    It is "page" for the current page, "true" for the tab that is marked for a current page without a tab, and "" for
    other tabs.
    """
    if page != marked_page:
        return ""
    return "page" if page == active else "true"


def primary_step(steps: Sequence[StudyStep], study: Study, active: str) -> StudyStep | None:
    """Return the step with the main button of the page ``active``; None if there is none.

    Prefer a step that is primary on this page to one that is primary in this state of the study.
    """
    page_steps = [step for step in steps if active in step.primary_pages]
    state_steps = [step for step in steps if study.state in step.primary_states]
    primary_steps = page_steps + state_steps
    return primary_steps[0] if primary_steps else None


def jobs_to_show(study: Study) -> list[Job]:
    """Return the newest job of each kind if it is queued or running, or if it failed."""
    jobs_by_kind: dict[str, Job] = {}
    for job in Job.objects.listed().filter(of_studies(study.slug))[:MAX_JOBS]:
        jobs_by_kind.setdefault(job.kind, job)
    return [job for job in jobs_by_kind.values() if job.is_under_way or job.error]


def show_counting(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show that figures are being computed.

    The script of this page requests the same address again until the response has another status than 204.
    """
    job = newest_figures_job(study)
    has_failed = job is not None and job.has_failed
    if request.headers.get("HX-Request") and not has_failed:
        return HttpResponse(status=204)
    context |= {"figures_job": job, "has_failed": has_failed, "address": request.get_full_path()}
    context["poll_seconds"] = POLL_SECONDS
    response = TemplateResponse(request, "judgments/study/counting.html", context)
    response["Cache-Control"] = "no-store"
    return response
