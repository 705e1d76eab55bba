"""The page Releases: frozen bundles of a study's judgments, made, checked, compared and taken home."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from common.downloads import file_download
from common.errors import NotThere
from evaluation.errors import ReleaseError
from evaluation.models import Release
from evaluation.releases.documents import LICENCES
from evaluation.releases.storage import (
    Terms,
    check_terms,
    find_release,
    is_kept,
    next_version,
    release_file,
    release_name,
)
from judgments.access.roles import Right
from judgments.models import Job, Study
from judgments.studies.study_page import (
    Context,
    Group,
    StudyPage,
    StudyStep,
    add_page,
    add_step,
    enqueue_once,
    page_address,
    take_refusal,
)

MOST_SHOWN = 100
FLIPPED_SHOWN = 20


class ReleaseForm(forms.Form):
    """The terms of a release; the service says what is wrong with them."""

    version = forms.CharField(
        label="Version", max_length=20, help_text="such as 1.0 or 1.1", widget=UnfoldAdminTextInputWidget
    )
    licence = forms.ChoiceField(
        label="Licence",
        choices=[(name, f"{name}: {one['name']}") for name, one in LICENCES.items()],
        initial="CC-BY-4.0",
        widget=UnfoldAdminSelectWidget,
    )
    title = forms.CharField(
        label="Title", max_length=300, required=False, help_text="empty: the study's name",
        widget=UnfoldAdminTextInputWidget,
    )  # fmt: skip
    citation = forms.CharField(
        label="How it is to be cited", max_length=5000, required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )  # fmt: skip
    texts = forms.ChoiceField(
        label="Captions and references",
        choices=[("with", "their texts"), ("without", "their ids alone")],
        help_text="ids alone where the dataset's licence does not let you give its texts away",
        widget=UnfoldAdminSelectWidget,
    )
    comments = forms.ChoiceField(
        label="What workers wrote to you",
        choices=[("without", "left out"), ("with", "comments, without names, addresses and longer numbers")],
        widget=UnfoldAdminSelectWidget,
    )

    def terms(self) -> dict[str, Any]:
        """As ``Terms`` takes them."""
        given = self.cleaned_data
        return {
            **{name: given[name] for name in ("version", "licence", "title", "citation")},
            "texts": given["texts"] == "with",
            "comments": given["comments"] == "with",
        }


def show_releases(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """All releases with what checking them said, the form for the next one, and the newest comparison."""
    refusal = take_refusal(request, study)
    found = list(Release.objects.filter(study=study).select_related("made_by").order_by("-pk")[:MOST_SHOWN])
    checks: dict[str, Job] = {}
    for job in _done(study, "verify_release").order_by("-pk")[:MOST_SHOWN]:
        checks.setdefault(job.args["version"], job)
    kept = [release.version for release in found if is_kept(release)]
    comparison = _done(study, "compare_releases").order_by("-pk").first()
    begin = {"version": next_version(study)} | (refusal.sent if refusal else {})
    context |= {
        "releases": [(one, one.version in kept, checks.get(one.version)) for one in found],
        "kept": kept,
        "refusal": refusal,
        "form": ReleaseForm(initial=begin),
        "is_closed": study.state == Study.State.CLOSED,
        "comparison": comparison,
        "flipped": comparison.result["consensus"][:FLIPPED_SHOWN] if comparison and comparison.result else [],
    }
    return TemplateResponse(request, "evaluation/study_releases.html", context)


def _done(study: Study, kind: str) -> Any:
    return Job.objects.filter(kind=kind, args__study=study.slug, state=Job.State.DONE)


def download_release(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    """The bundle of ``?version=``."""
    try:
        release = find_release(study, request.GET.get("version", ""))
        path = release_file(release)
    except NotThere as error:
        raise Http404(str(error)) from None
    name = release_name(study, release.version)
    return file_download(request, path, name=name, content_type="application/zip")


def _release(request: HttpRequest, study: Study) -> HttpResponse:
    form = ReleaseForm(request.POST)
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise ReleaseError(f"Nothing was released. {form.fields[name].label}: {errors[0]}")
    terms = form.terms()
    check_terms(study, Terms(**terms))
    enqueue_once(request, study, "release", **terms)
    messages.success(request, "The release is being made; it appears here.")
    return redirect(page_address(study, "releases"))


def _verify(request: HttpRequest, study: Study) -> HttpResponse:
    release = find_release(study, request.POST.get("version", ""))
    release_file(release)
    enqueue_once(request, study, "verify_release", version=release.version)
    return redirect(page_address(study, "releases"))


def _compare(request: HttpRequest, study: Study) -> HttpResponse:
    before, after = (find_release(study, request.POST.get(name, "")) for name in ("before", "after"))
    if before == after:
        raise ReleaseError("A release is compared with another one; choose two.")
    for release in (before, after):
        release_file(release)
    enqueue_once(request, study, "compare_releases", before=before.version, after=after.version)
    return redirect(page_address(study, "releases"))


def _was_opened(study: Study) -> bool:
    return study.state in (Study.State.OPEN, Study.State.CLOSED)


add_page(
    StudyPage(
        name="releases",
        label="Releases",
        order=70,
        view=show_releases,
        shown=_was_opened,
        group=Group.ANALYSE,
    )
)
add_page(StudyPage(name="release-file", label="", order=71, view=download_release))
add_step(
    StudyStep(name="release", label="Release", run=_release, permission=Right.OWN, job="release", beside=True)
)
add_step(StudyStep(name="verify-release", label="Verify", run=_verify, permission=Right.VIEW, beside=True))
add_step(
    StudyStep(name="compare-releases", label="Compare", run=_compare, permission=Right.VIEW, beside=True)
)
