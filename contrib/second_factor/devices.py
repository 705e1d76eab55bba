"""An account's authenticator app and recovery codes. django-otp stores and checks them."""

from __future__ import annotations

import secrets
from base64 import b32encode

import segno
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django_otp import verify_token
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from common import rate_limits
from common.errors import QuorumError

# A session has a state under this key: whether a code must still be entered, or was entered.
STATE_KEY = "second_factor"
CODE_DUE, CODE_GIVEN = "wanted", "given"
RECOVERY_CODE_COUNT = 10
DEVICE_NAME = "second factor"


class WrongCode(QuorumError):
    title = "The code is not right"


def has_second_factor(user: User) -> bool:
    return TOTPDevice.objects.filter(user=user, confirmed=True).exists()


def require_code(*, user: User, request: HttpRequest, **_: object) -> None:
    """Require a code in a new session if the account has a second factor (a receiver of ``user_logged_in``)."""
    request.session.pop(STATE_KEY, None)
    if user.is_staff and has_second_factor(user):
        request.session[STATE_KEY] = CODE_DUE


def get_or_create_pending_device(user: User) -> TOTPDevice:
    """Return the account's device that waits for its first code. Create it if there is none."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # lock, so that two windows show the same QR code
        defaults = {"name": DEVICE_NAME}
        device, _ = TOTPDevice.objects.get_or_create(user=user, confirmed=False, defaults=defaults)
    return device


def totp_secret_of(device: TOTPDevice) -> str:
    return b32encode(device.bin_key).decode()


def qr_code_of(device: TOTPDevice) -> str:
    return segno.make(device.config_url, micro=False).svg_data_uri(scale=4, light="#fff")


def enable_second_factor(*, user: User, code: str) -> list[str]:
    """Turn on the second factor, with the app's first code. Return the recovery codes.

    Raises:
        WrongCode: the code is not valid.
        TooManyAttempts: there were too many attempts.
    """
    device = get_or_create_pending_device(user)
    _check_code(user, device, code)
    with transaction.atomic():
        TOTPDevice.objects.filter(user=user, confirmed=True).delete()
        TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
        return _replace_recovery_codes(user)


def end_other_sessions(session: SessionBase, *, user: User) -> None:
    """End the account's other sessions, which began without a code."""
    sessions = Session.objects.filter(expire_date__gt=timezone.now()).exclude(session_key=session.session_key)
    keys = [row.pk for row in sessions.iterator() if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=keys).delete()


def check_code(*, user: User, code: str) -> None:
    """Check a code of the app or a recovery code, and use it up.

    Raises:
        WrongCode: the code is not valid.
        TooManyAttempts: there were too many attempts.
    """
    code = "".join(code.split()).lower()
    device_model = TOTPDevice if code.isdigit() else StaticDevice
    device = device_model.objects.filter(user=user, confirmed=True).first()
    _check_code(user, device, code)


def renew_recovery_codes(*, user: User, code: str) -> list[str]:
    """Replace the recovery codes, and return the new ones. Errors are those of ``check_code``."""
    check_code(user=user, code=code)
    with transaction.atomic():
        return _replace_recovery_codes(user)


def disable_second_factor(*, user: User, code: str) -> None:
    check_code(user=user, code=code)
    remove_second_factor(user)


def remove_second_factor(user: User) -> bool:
    """Remove the account's second factor. Return whether it had one."""
    with transaction.atomic():
        StaticDevice.objects.filter(user=user).delete()
        return bool(TOTPDevice.objects.filter(user=user).delete()[0])


def _check_code(user: User, device: TOTPDevice | StaticDevice | None, code: str) -> None:
    """Raise WrongCode if the device does not accept the code, and TooManyAttempts after too many wrong codes."""
    limit_key = f"code of {user.pk}"
    # without a device, verification fails, and counts as a failed attempt
    device_id = device.persistent_id if device is not None else ""

    def verify() -> TOTPDevice | StaticDevice | None:
        return verify_token(user, device_id, "".join(code.split()))

    # the limits of passwords hold for codes, too
    if rate_limits.limit_failed_attempts(verify, ("login", limit_key), ("account", limit_key)) is None:
        raise WrongCode(
            gettext(
                "The code is wrong. Wait for the next code of the app, and check that the clock "
                "of your phone is right."
            )
        )


def _replace_recovery_codes(user: User) -> list[str]:
    """Delete the recovery codes, create new ones, and return these."""
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name=DEVICE_NAME)
    # a code begins with a letter, since `check_code` takes a code of digits for a code of the app
    codes = [f"r{secrets.token_hex(5)}" for _ in range(RECOVERY_CODE_COUNT)]
    device.token_set.bulk_create(device.token_set.model(device=device, token=code) for code in codes)
    return codes
