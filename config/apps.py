"""The app of this installation's system checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.http import HttpRequest


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Installation"

    def ready(self) -> None:
        from django.contrib import admin
        from django.contrib.auth.signals import user_logged_in
        from django_otp.plugins.otp_static.models import StaticDevice
        from django_otp.plugins.otp_totp.models import TOTPDevice

        from config import checks  # noqa: F401 - registers them
        from config.second_factor.devices import note_login

        admin.site.unregister([StaticDevice, TOTPDevice])  # their pages show secrets to other administrators

        def ask_for_second_factor(*, user: User, request: HttpRequest, **_: object) -> None:
            note_login(user=user, session=request.session)

        user_logged_in.connect(ask_for_second_factor, weak=False)
