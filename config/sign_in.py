"""Sign in and change passwords, with limits on the number of wrong passwords."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import authenticate
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordChangeView
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from unfold.forms import AdminOwnPasswordChangeForm

from common import rate_limits
from config.apps import SIGN_IN_ATTRIBUTE
from config.observing.requests import Middleware

KNOWN_COOKIE = "quorum_known"
MAX_AGE = 180 * 24 * 3600  # seconds for which a browser is known


class LimitedBackend(ModelBackend):
    """An authentication backend with limits on wrong passwords. The limits thus apply to all pages and commands."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **options: Any,
    ) -> Any:
        if username is None or password is None:
            return None
        account = _limit_target(username)
        # A limit is its name in settings.LIMITS, and what is counted. A browser from which the account signed in before
        # is counted separately ("known"), so that wrong passwords of other people do not lock it out.
        limits: list[tuple[str, ...]] = [("login", account), ("account", account), ("logins",)]
        if request is not None and _is_known(request, account):
            limits = [("login", account, "known"), ("account", account, "known")]
        attempt = partial(super().authenticate, request, username, password, **options)
        try:
            return rate_limits.limit_failed_attempts(attempt, *limits)
        except rate_limits.TooManyAttempts as error:
            raise ValidationError(str(error), code="too_many") from None  # the form shows the message


def _limit_target(username: str) -> str:
    """Return the text under which wrong passwords of an account are counted."""
    return username.casefold()[:150]  # as long as names of Django's accounts may be


def _is_known(request: HttpRequest, account: str) -> bool:
    """Return whether the browser has a cookie of ``remember_browser`` for the account."""
    try:
        owner = signing.loads(request.COOKIES.get(KNOWN_COOKIE, ""), salt=KNOWN_COOKIE, max_age=MAX_AGE)
    except signing.BadSignature:
        return False
    return bool(owner == account)


def remember_browser(response: HttpResponse, user: AbstractBaseUser) -> None:
    """Set a cookie that marks the browser as one from which the account signed in."""
    mark = signing.dumps(_limit_target(user.get_username()), salt=KNOWN_COOKIE)
    response.set_cookie(
        KNOWN_COOKIE, mark, max_age=MAX_AGE, httponly=True, samesite="Lax", secure=settings.HTTPS
    )


class OwnPasswordForm(AdminOwnPasswordChangeForm):
    """The form to change one's own password. It checks the old password with the limits for signing in."""

    def clean_old_password(self) -> str:
        old_password: str = self.cleaned_data["old_password"]
        if authenticate(username=self.user.get_username(), password=old_password) is None:
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return old_password


def change_password(request: HttpRequest) -> HttpResponseBase:
    return PasswordChangeView.as_view(
        form_class=OwnPasswordForm,
        success_url=reverse("admin:password_change_done"),
        extra_context=admin.site.each_context(request),
    )(request)


class KnownBrowserMiddleware(Middleware):
    """Call ``remember_browser`` after a person has signed in."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if hasattr(request, SIGN_IN_ATTRIBUTE) and isinstance(request.user, User):
            remember_browser(response, request.user)
        return response
