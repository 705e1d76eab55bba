"""Decorators of the workers' pages, and redirects after a posted form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.errors import NotAdmitted, NotJoined, StudyPaused, WorkerExcluded, WorkPaused
from annotation.views.visitors import member_of, worker_of
from common.errors import ObjectNotFound, QuorumError
from common.rate_limits import TooManyAttempts
from judgments.studies.studies import find_study

# HTTP methods of a page: one that is only read, one that is only posted to, and one with a form that posts to itself
GET, POST, GET_POST = ("GET", "HEAD"), ("POST",), ("GET", "HEAD", "POST")

ViewFunction = Callable[..., HttpResponse]


class SeeOther(HttpResponseRedirect):
    """A redirect (303) after a posted form, so that a reload does not post the form again."""

    status_code = 303


def see_other(to: str, *args: Any, fragment: str = "") -> SeeOther:
    """Return a redirect (303) to a URL name or an address."""
    return SeeOther(resolve_url(to, *args) + (f"#{fragment}" if fragment else ""))


def errors_as_pages(view: ViewFunction) -> ViewFunction:
    """Decorate a view to show its QuorumErrors as pages with the error's status.

    An ObjectNotFound becomes an ordinary 404 instead, except NotJoined, which is shown as a page with status 403.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except QuorumError as error:
            if isinstance(error, ObjectNotFound) and not isinstance(error, NotJoined):
                raise Http404(str(error)) from None
            response = render(
                request,
                "annotation/ended.html",
                {
                    "title": gettext(error.title),
                    "message": str(error),
                    "slug": kwargs.get("slug", "") if _may_continue(request, error) else "",
                    "may_try_again": isinstance(error, StudyPaused | TooManyAttempts),
                    # for a stopped worker, the study's page would only redirect to this page
                    "is_stopped_worker": isinstance(error, WorkPaused | WorkerExcluded),
                },
                status=error.status,
            )
            if isinstance(error, TooManyAttempts):
                response.headers["Retry-After"] = str(error.wait)
            return response

    return wrapped


def worker_page(methods: Sequence[str]) -> Callable[[ViewFunction], ViewFunction]:
    """Decorate a page for workers: set the allowed methods, show errors as pages, and prevent caching."""

    def decorate(view: ViewFunction) -> ViewFunction:
        return never_cache(require_http_methods(methods)(errors_as_pages(view)))

    return decorate


def member_page(methods: Sequence[str]) -> Callable[[ViewFunction], ViewFunction]:
    """Decorate a page for a study's workers. The view gets study and worker in place of the slug.

    Visitors who do not take part in the study are redirected to the study's page.
    """

    def decorate(view: ViewFunction) -> ViewFunction:
        @wraps(view)
        def view_for_member(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
            study = find_study(slug)
            worker = member_of(request, study)
            if worker is None:
                return redirect("annotation:study", slug)
            return view(request, study, worker, **kwargs)

        return worker_page(methods)(view_for_member)

    return decorate


def _may_continue(request: HttpRequest, error: QuorumError) -> bool:
    """Return whether the page with an error links back to the study, since the visitor can join or go on there."""
    if isinstance(error, NotJoined):
        return True
    # who is not admitted would only be led back to this page
    return not isinstance(error, NotAdmitted) and worker_of(request) is not None
