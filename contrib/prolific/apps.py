"""Declare what the feature “prolific” adds to the platform."""

from typing import Any

from common.environment import Environment
from config.features import Feature


class ProlificConfig(Feature):
    name = "contrib.prolific"
    verbose_name = "Prolific"
    questions = ("Prolific",)
    crowd_offers = ("contrib.prolific.offer.OFFER",)
    crowds = ("contrib.prolific.backend.ProlificBackend",)
    urls = "contrib.prolific.urls"
    pages = ("contrib.prolific.views",)
    calls = "contrib.prolific.calls"
    # By section and by words of `quorum`: the name for `manage.py`, what the command gives, and its operation or class.
    commands = {
        "Crowds and money": {
            "crowd demographics": (
                "fetch_demographics",
                "what Prolific knows about a study's people",
                "contrib.prolific.demographics.demographics",
            ),
            "crowd subscribe": (
                "subscribe_prolific",
                "let Prolific call this server",
                "contrib.prolific.management.SubscribeProlific",
            ),
        }
    }

    @classmethod
    def settings(cls, env: Environment) -> dict[str, Any]:
        return {
            "PROLIFIC_API_URL": env.str("PROLIFIC_API_URL", default="https://api.prolific.com"),
            "PROLIFIC_TOKEN": env.str("PROLIFIC_TOKEN", default=""),
            # The workspace of the balance and of the participant groups.
            "PROLIFIC_WORKSPACE": env.str("PROLIFIC_WORKSPACE", default=""),
            # The secret that signs notifications, which the command subscribe_prolific prints.
            "PROLIFIC_HOOK_SECRET": env.str("PROLIFIC_HOOK_SECRET", default=""),
            # The project of new studies; by default the first one.
            "PROLIFIC_PROJECT": env.str("PROLIFIC_PROJECT", default=""),
            # Prolific's fee in per cent without tax (prolific.com/pricing): for companies; universities pay 33.3.
            "PROLIFIC_FEE_PERCENT": env.decimal("PROLIFIC_FEE_PERCENT", default="42.8"),
        }
