"""Sign in and change a password, within limits on wrong ones; the second factor's page, and the way to it."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import authenticate, logout
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.auth.views import PasswordChangeView
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from unfold.forms import AdminOwnPasswordChangeForm

from common import rate_limits
from common.errors import QuorumError
from config.observing.requests import Middleware
from config.second_factor import devices
from config.second_factor.devices import GIVEN_CODES, SIGNED_IN, STATE, WANTED

KNOWN_COOKIE = "quorum_known"
HALF_A_YEAR = 180 * 24 * 3600


class LimitedBackend(ModelBackend):
    """Check passwords within the limits, whatever page asks: no door can be made without them."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **more: Any,
    ) -> Any:
        if username is None or password is None:
            return None
        account = _account(username)
        # The owner's browser counts apart, so that others' wrong passwords do not lock it out.
        known = ["known"] if request is not None and _is_known(request, account) else []
        limits = [("login", account, *known), ("account", account, *known), *([] if known else [("logins",)])]
        attempt = partial(super().authenticate, request, username, password, **more)
        try:
            return rate_limits.guess(attempt, *limits)
        except rate_limits.TooMany as error:
            raise ValidationError(str(error), code="too_many") from None  # which a form shows


def _account(username: str) -> str:
    return username.casefold()[:150]


def _is_known(request: HttpRequest, account: str) -> bool:
    try:
        marked = signing.loads(request.COOKIES.get(KNOWN_COOKIE, ""), salt=KNOWN_COOKIE, max_age=HALF_A_YEAR)
    except signing.BadSignature:
        return False
    return bool(marked == account)


def remember_browser(response: HttpResponse, user: AbstractBaseUser) -> None:
    """Mark a browser as one from which the account signed in."""
    mark = signing.dumps(_account(user.get_username()), salt=KNOWN_COOKIE)
    response.set_cookie(
        KNOWN_COOKIE, mark, max_age=HALF_A_YEAR, httponly=True, samesite="Lax", secure=settings.HTTPS
    )


class OwnPasswordForm(AdminOwnPasswordChangeForm):
    """Check the old password as signing in does."""

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        if authenticate(username=self.user.get_username(), password=old) is None:
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return old


def change_password(request: HttpRequest) -> HttpResponseBase:
    return PasswordChangeView.as_view(
        form_class=OwnPasswordForm,
        success_url=reverse("admin:password_change_done"),
        extra_context=admin.site.each_context(request),
    )(request)


class SecondFactorMiddleware(Middleware):
    """Lead an account that still owes its second factor to the page; it is signed in nowhere else."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # a worker has no session; to look for one would make every page vary by cookies
        if settings.SESSION_COOKIE_NAME in request.COOKIES and _owes(request):
            home, here = reverse("admin:index"), reverse("second-factor")
            if request.path.startswith(home) and request.path not in (here, reverse("admin:logout")):
                return _lead_here(_wanted(request))
            if request.path != here:
                request.user = AnonymousUser()
        response = self.get_response(request)
        if hasattr(request, SIGNED_IN) and isinstance(request.user, User):
            if _owes(request) and response.status_code == 302:
                response = _lead_here(response.headers["Location"])
            remember_browser(response, request.user)
        return response


def _lead_here(following: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('second-factor')}?{urlencode({'next': following})}")


def _owes(request: HttpRequest) -> bool:
    state = request.session.get(STATE)
    if state == GIVEN_CODES:
        return False
    return state == WANTED or (
        settings.SECOND_FACTOR and isinstance(request.user, User) and request.user.is_staff
    )


def _wanted(request: HttpRequest) -> str:
    if request.path == reverse("admin:login"):
        return request.GET.get("next", "")
    return request.get_full_path() if request.method == "GET" else ""


@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Ask for the code; set the second factor up; or renew the codes and turn it off."""
    user = request.user
    if not isinstance(user, User) or not user.is_staff:
        return redirect(f"{reverse('admin:login')}?{urlencode({'next': request.path})}")
    try:
        shown = _do(request, user) if request.method == "POST" else None
    except QuorumError as error:
        return _page(request, user, problem=str(error), status=error.status)
    return shown or _page(request, user)


def _do(request: HttpRequest, user: User) -> HttpResponse | None:
    code, what = request.POST.get("code", "")[:40], request.POST.get("what", "")
    if what == "sign-out":
        logout(request)
        return redirect("admin:login")
    if not devices.has_second_factor(user):
        codes = devices.set_up(user=user, code=code)
        request.session.cycle_key()
        request.session[STATE] = GIVEN_CODES
        devices.keep_only(request.session, user=user)
        return _page(request, user, codes=codes)
    if _owes(request):
        devices.check_code(user=user, code=code)
        request.session.cycle_key()
        request.session[STATE] = GIVEN_CODES
        return redirect(_next(request))
    if what == "renew":
        return _page(request, user, codes=devices.renew_codes(user=user, code=code))
    if what == "off" and not settings.SECOND_FACTOR:
        devices.turn_off(user=user, code=code)
        request.session.pop(STATE, None)
        messages.success(request, gettext("The second factor is off."))
        return redirect("admin:index")
    return None


def _next(request: HttpRequest) -> str:
    address = request.GET.get("next", "")
    fine = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if fine else reverse("admin:index")


def _page(request: HttpRequest, user: User, *, status: int = 200, **shown: Any) -> HttpResponse:
    context = admin.site.each_context(request) | {"title": "Second factor", "account": user} | shown
    if not devices.has_second_factor(user):
        device = devices.device_to_set_up(user)
        context |= {"picture": devices.picture_of(device), "secret": devices.secret_of(device)}
    context |= {"owed": _owes(request), "required": settings.SECOND_FACTOR, "address": _next(request)}
    return render(request, "admin/second_factor.html", context, status=status)
