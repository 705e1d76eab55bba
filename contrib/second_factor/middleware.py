"""Redirect accounts that still have to enter a code to the second factor's page."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from config.apps import SIGN_IN_ATTRIBUTE
from config.observing.requests import Middleware
from contrib.second_factor.devices import CODE_DUE, CODE_GIVEN, STATE_KEY


class SecondFactorMiddleware(Middleware):
    """Middleware that redirects an account in the admin to the second factor's page until it enters a code.

    Outside the admin, the account counts as not signed in until then.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Workers have no session. Reading one would make every page vary by cookies, so that it could not be cached.
        if settings.SESSION_COOKIE_NAME in request.COOKIES and needs_code(request):
            factor_path = reverse("second-factor")
            open_paths = (factor_path, reverse("admin:logout"))
            if request.path.startswith(reverse("admin:index")) and request.path not in open_paths:
                return _redirect_to_second_factor(_requested_path(request))
            if request.path != factor_path:
                request.user = AnonymousUser()
        response = self.get_response(request)
        # The view of this request signed somebody in: enter the code first, and then go where the view redirects.
        has_just_signed_in = hasattr(request, SIGN_IN_ATTRIBUTE) and isinstance(request.user, User)
        if has_just_signed_in and needs_code(request) and response.status_code == 302:
            return _redirect_to_second_factor(response.headers["Location"])
        return response


def _redirect_to_second_factor(next_address: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('second-factor')}?{urlencode({'next': next_address})}")


def is_required() -> bool:
    """Return whether staff must have a second factor."""
    return bool(getattr(settings, "SECOND_FACTOR", False))


def needs_code(request: HttpRequest) -> bool:
    """Return whether the session needs a code, or its account must still set up a second factor."""
    state = request.session.get(STATE_KEY)
    if state == CODE_GIVEN:
        return False
    return state == CODE_DUE or (is_required() and isinstance(request.user, User) and request.user.is_staff)


def _requested_path(request: HttpRequest) -> str:
    if request.path == reverse("admin:login"):
        return request.GET.get("next", "")
    return request.get_full_path() if request.method == "GET" else ""
