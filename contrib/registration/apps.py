"""Declare what the feature “registration” adds, such as a command of `quorum`, with its name for `manage.py`."""

from __future__ import annotations

from common.features import lazy_function
from config.features import Feature


class RegistrationConfig(Feature):
    name = "contrib.registration"
    pages = ("contrib.registration.views",)
    calls = "contrib.registration.calls"
    registered_plans = ("contrib.registration.deviations.find_registration",)  # returns a study's plan
    commands = {
        "Studies": {
            "study register": (
                "register",
                "fix hypotheses and rules before it opens",
                "contrib.registration.management.Register",
            )
        }
    }

    def start(self) -> None:
        from judgments.models.studies import reasons_against_opening

        describe = lazy_function("contrib.registration.plans.describe_missing_registration")
        reasons_against_opening.connect(describe, weak=False)
