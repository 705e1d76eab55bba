"""Declare what the feature “prolific” adds to the platform."""

from typing import Any

from common.environment import Environment
from config.features import Feature


class ProlificConfig(Feature):
    name = "contrib.prolific"
    verbose_name = "Prolific"
    crowd_offers = ("contrib.prolific.offer.OFFER",)
    crowds = ("contrib.prolific.backend.ProlificBackend",)
    urls = "contrib.prolific.urls"
    pages = ("contrib.prolific.views",)
    calls = "contrib.prolific.calls"
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
            # the workspace of the balance and of the groups
            "PROLIFIC_WORKSPACE": env.str("PROLIFIC_WORKSPACE", default=""),
            # subscribe_prolific prints the secret
            "PROLIFIC_HOOK_SECRET": env.str("PROLIFIC_HOOK_SECRET", default=""),
            # the project of new studies; by default the first one
            "PROLIFIC_PROJECT": env.str("PROLIFIC_PROJECT", default=""),
            # Prolific's fee in percent, for companies in 2026, without tax; 33.3 for universities
            # (prolific.com/pricing)
            "PROLIFIC_FEE_PERCENT": env.decimal("PROLIFIC_FEE_PERCENT", default="42.8"),
        }
