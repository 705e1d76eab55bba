"""What a study's pages in the admin are made of.

A study is designed in this app, answered in the next one and evaluated in the last, and its pages stand side by
side as tabs. Each app's admin module adds its own pages and steps here, so that no app needs to know those above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse

from judgments.admin.addresses import preview_address
from judgments.admin.base import signed_in
from judgments.errors import WrongState
from judgments.jobs import enqueue
from judgments.kinds import KINDS
from judgments.models import Job, Study

Context = dict[str, Any]
UNDER_WAY = [Job.State.QUEUED, Job.State.RUNNING]


@dataclass(frozen=True, slots=True)
class StudyPage:
    """A page about a study.

    Attributes:
        name: last part of its address, and of its URL name ``admin:judgments_study_<name>``.
        label: the tab; '' for a page without one.
        order: tabs stand in this order.
        view: answers the request; the context holds what every page of the study shows.
        permission: what of the study a person must be allowed to do: view or change.
    """

    name: str
    label: str
    order: int
    view: Callable[[HttpRequest, Study, Context], HttpResponseBase]
    permission: str = "view"


def never(study: Study) -> bool:
    """For steps whose button stands on a page of their own."""
    return False


@dataclass(frozen=True, slots=True)
class StudyStep:
    """Something that is done to a study by a post.

    Attributes:
        name: last part of its address ``do/<name>/``.
        label: the button.
        run: does it; an answer of None leads back to the page the post came from.
        done: said afterwards; '' says nothing.
        offered: whether the button stands at the top of the study's pages.
        primary_in: the states in which it is the filled button, the next thing to do.
        permission: view or change.
        job: the kind of job it asks for; while one is under way, the button is away.
    """

    name: str
    label: str
    run: Callable[[HttpRequest, Study], HttpResponse | None]
    done: str = ""
    offered: Callable[[Study], bool] = never
    primary_in: frozenset[str] = frozenset()
    permission: str = "change"
    job: str = ""


PAGES: dict[str, StudyPage] = {}
STEPS: dict[str, StudyStep] = {}


def add_page(page: StudyPage) -> None:
    """Give every study this page."""
    PAGES[page.name] = page


def add_step(step: StudyStep) -> None:
    """Let this be done to a study."""
    STEPS[step.name] = step


def page_address(study: Study, name: str) -> str:
    """Where a study's page stands."""
    return reverse(f"admin:judgments_study_{name}", args=[study.pk])


def first_page(study: Study) -> str:
    """Where the page stands that matters in the study's state."""
    names = {Study.State.DRAFT.value: "change", Study.State.GENERATED.value: "hits"}
    return page_address(study, names.get(study.state, "results"))


def study_context(
    site: AdminSite, request: HttpRequest, study: Study, *, active: str, may_change: bool
) -> Context:
    """What every page of a study shows: its name and state, tabs, steps, and work under way."""
    jobs = jobs_to_show(study)
    busy = {job.kind for job in jobs if job.state != Job.State.FAILED}
    tabs = [
        {"label": page.label, "link": page_address(study, page.name), "active": page.name == active}
        for page in sorted(PAGES.values(), key=lambda page: page.order)
        if page.label
    ]
    steps = [
        {"name": step.name, "label": step.label, "primary": study.state in step.primary_in}
        for step in STEPS.values()
        if step.offered(study) and (may_change or step.permission == "view") and step.job not in busy
    ]
    return {
        **site.each_context(request),
        "opts": Study._meta,
        "title": study.name,
        "study": study,
        "kind": KINDS[study.protocol],
        "study_tabs": tabs,
        "study_steps": sorted(steps, key=lambda step: bool(step["primary"])),
        "active_page": active,
        "preview_link": preview_address(study),
        "may_change": may_change,
        "jobs": jobs,
    }


def enqueue_once(request: HttpRequest, study: Study, kind: str, **args: Any) -> Job:
    """Ask for work on the study, unless the same work waits or runs already.

    Raises:
        WrongState: it does.
    """
    under_way = Job.objects.filter(kind=kind, args__study=study.slug, state__in=UNDER_WAY)
    if under_way.exists():
        raise WrongState(f"This is under way already for study {study.slug!r}.")
    return enqueue(kind=kind, args={"study": study.slug, **args}, user=signed_in(request))


def jobs_to_show(study: Study) -> list[Job]:
    """Work on the study that waits or runs, and what failed last, until something of its kind succeeds."""
    shown: dict[str, Job] = {}
    for job in Job.objects.filter(args__study=study.slug)[:20]:
        shown.setdefault(job.kind, job)
    return [job for job in shown.values() if job.state != Job.State.DONE]
