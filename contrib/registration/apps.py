"""What the registration of plans adds to the platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from config.features import Feature

if TYPE_CHECKING:
    from judgments.models import Study


class RegistrationConfig(Feature):
    name = "contrib.registration"
    pages = ("contrib.registration.views",)
    calls = "contrib.registration.calls"
    registered_plans = ("contrib.registration.plans.find_registered",)
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
        from judgments.models.studies import opening

        opening.connect(_describe_missing_registration)


def _describe_missing_registration(*, study: Study, **about: Any) -> str:
    from contrib.registration.plans import describe_missing_registration

    return describe_missing_registration(study)
