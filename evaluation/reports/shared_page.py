"""The page of a report that anybody with its link can open."""

from __future__ import annotations

from csp.constants import UNSAFE_INLINE
from csp.decorators import csp_replace
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.errors import ObjectNotFound
from common.rate_limits import TooManyAttempts, limit_failed_attempts
from evaluation.data.export.views import archived_file
from evaluation.models import Analysis
from evaluation.reports.sharing import link_to_report, study_of_link
from evaluation.reports.storage import report_archive
from judgments.models import Study

PAGE = "index.html"  # the file of a report that the link shows


def full_link(request: HttpRequest, study: Study) -> str:
    """Return the address of the link to the report with the host of the request, or "" if there is no link."""
    address = link_to_report(study)
    return address and request.build_absolute_uri(address)


@never_cache
@require_safe
def shared_report(request: HttpRequest, entry: int, signature: str, name: str = PAGE) -> HttpResponseBase:
    """Show the newest report of the link's study, or send one of its files.

    The page's content security policy allows its own styles, but no scripts.

    Args:
        entry, signature: the id and the signature of the entry in the study's log (see ``sharing``).
        name: name of the file.
    """
    policy = {"style-src": [UNSAFE_INLINE], "script-src": None, "sandbox": ["allow-downloads"]}

    @csp_replace(policy)
    def show(request: HttpRequest) -> HttpResponseBase:
        return _shared_file(request, entry, signature, name)

    return show(request)


def _shared_file(request: HttpRequest, entry: int, signature: str, name: str) -> HttpResponseBase:
    """Return a file of the report. Wrong links count as failed attempts of the client, which are limited."""

    def find_study() -> Study | None:
        return study_of_link(entry, signature)

    try:
        study = limit_failed_attempts(find_study, ("token",))  # "token" names a limit of settings.LIMITS
    except TooManyAttempts as error:
        page = render_to_string("429.html", {"message": str(error)}, request)
        return HttpResponse(page, status=error.status, headers={"Retry-After": str(error.wait)})
    report = Analysis.objects.newest(study, Analysis.Kind.REPORT) if study is not None else None
    if report is None:
        raise Http404
    try:
        response = archived_file(request, report_archive(report), name, archive_noun="report")
    except ObjectNotFound as error:
        raise Http404(str(error)) from None
    if name == PAGE:
        response.headers["Content-Disposition"] = "inline"
    response.headers["X-Robots-Tag"] = "noindex, nofollow"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
