"""The second factor's page: set it up, enter a code, renew the recovery codes, turn it off."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from common.errors import QuorumError
from contrib.second_factor import devices
from contrib.second_factor.devices import CODE_GIVEN, STATE_KEY
from contrib.second_factor.middleware import is_required, needs_code


@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Show the form for a code, or the form that sets up the second factor, renews recovery codes, or turns it off."""
    user = request.user
    if not isinstance(user, User) or not user.is_staff:
        return redirect(f"{reverse('admin:login')}?{urlencode({'next': request.path})}")
    try:
        response = _carry_out_form(request, user) if request.method == "POST" else None
    except QuorumError as error:
        return _page(request, user, problem=str(error), status=error.status)
    return response or _page(request, user)


def _carry_out_form(request: HttpRequest, user: User) -> HttpResponse | None:
    """Carry out the action of the form. Return None if there is no such action."""
    code, action = request.POST.get("code", "")[:40], request.POST.get("what", "")
    if action == "sign-out":
        logout(request)
        return redirect("admin:login")
    if not devices.has_second_factor(user):
        codes = devices.enable_second_factor(user=user, code=code)
        request.session.cycle_key()
        request.session[STATE_KEY] = CODE_GIVEN
        devices.end_other_sessions(request.session, user=user)
        return _page(request, user, recovery_codes=codes)
    if needs_code(request):
        devices.check_code(user=user, code=code)
        request.session.cycle_key()
        request.session[STATE_KEY] = CODE_GIVEN
        return redirect(_next_address(request))
    if action == "renew":
        return _page(request, user, recovery_codes=devices.renew_recovery_codes(user=user, code=code))
    if action == "off" and not is_required():
        devices.disable_second_factor(user=user, code=code)
        request.session.pop(STATE_KEY, None)
        messages.success(request, gettext("The second factor is off."))
        return redirect("admin:index")
    return None


def _next_address(request: HttpRequest) -> str:
    address = request.GET.get("next", "")
    hosts = {request.get_host()}
    is_safe = url_has_allowed_host_and_scheme(address, hosts, require_https=request.is_secure())
    return address if is_safe else reverse("admin:index")


def _page(request: HttpRequest, user: User, *, status: int = 200, **extra_context: Any) -> HttpResponse:
    context = admin.site.each_context(request) | {"title": "Second factor", "account": user} | extra_context
    if not devices.has_second_factor(user):
        device = devices.get_or_create_pending_device(user)
        context |= {"qr_code": devices.qr_code_of(device), "secret": devices.totp_secret_of(device)}
    context |= {"needs_code": needs_code(request), "is_required": is_required()}
    context["next_address"] = _next_address(request)
    return render(request, "admin/second_factor.html", context, status=status)
