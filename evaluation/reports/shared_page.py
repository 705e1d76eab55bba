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

PAGE = "index.html"


def full_link(request: HttpRequest, study: Study) -> str:
    address = link_to_report(study)
    return address and request.build_absolute_uri(address)


@never_cache
@require_safe
def shared_report(request: HttpRequest, entry: int, mark: str, name: str = PAGE) -> HttpResponseBase:
    """Show the newest report of the link's study, or send one of its files.

    The page's content security policy allows its own styles, but no scripts.
    """
    policy = {"style-src": [UNSAFE_INLINE], "script-src": None, "sandbox": ["allow-downloads"]}
    return csp_replace(policy)(lambda shared: _shared_report(shared, entry, mark, name))(request)


def _shared_report(request: HttpRequest, entry: int, mark: str, name: str) -> HttpResponseBase:
    try:
        study = limit_failed_attempts(lambda: study_of_link(entry, mark), ("token",))
    except TooManyAttempts as error:
        members, headers = {"message": str(error)}, {"Retry-After": str(error.wait)}
        return HttpResponse(
            render_to_string("429.html", members, request), status=error.status, headers=headers
        )
    report = Analysis.objects.newest(study, Analysis.Kind.REPORT) if study is not None else None
    if report is None:
        raise Http404
    try:
        response = archived_file(request, report_archive(report), name, what="report")
    except ObjectNotFound as error:
        raise Http404(str(error)) from None
    if name == PAGE:
        response.headers["Content-Disposition"] = "inline"
    response.headers["X-Robots-Tag"] = "noindex, nofollow"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
