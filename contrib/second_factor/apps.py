"""Declare what the feature “second_factor” adds to the platform."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from common.environment import Environment
from config.features import Feature


class SecondFactorConfig(Feature):
    name = "contrib.second_factor"
    packages = ("django_otp", "django_otp.plugins.otp_static", "django_otp.plugins.otp_totp")
    middleware = {  # a middleware, and the one after which it is placed
        "contrib.second_factor.middleware.SecondFactorMiddleware": "config.sign_in.KnownBrowserMiddleware"
    }
    commands = {  # by section and words of `quorum`: name for `manage.py`, what it does, class
        "The installation": {
            "server second-factor": (
                "reset_second_factor",
                "let in who lost phone and codes",
                "contrib.second_factor.management.ResetSecondFactor",
            )
        }
    }
    urls = "contrib.second_factor.urls"
    account_pages = ((_("Second factor"), "second-factor"),)

    @classmethod
    def settings(cls, env: Environment) -> dict[str, Any]:
        # SECOND_FACTOR: whether staff must have a second factor; otherwise each account can have one
        return {"SECOND_FACTOR": env.bool("SECOND_FACTOR", default=False), "OTP_TOTP_ISSUER": "Quorum"}

    @classmethod
    def check_absence(cls, env: Environment) -> None:
        if env.bool("SECOND_FACTOR", default=False):
            raise ImproperlyConfigured(
                "SECOND_FACTOR is true, and CONTRIB_APPS leaves it out; expected second_factor there, or false."
            )

    def start(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from contrib.second_factor.devices import require_code

        user_logged_in.connect(require_code)
