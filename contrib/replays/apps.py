"""Declare what the feature “replays” adds to the platform."""

from config.features import Feature


class ReplaysConfig(Feature):
    name = "contrib.replays"
    pages = ("contrib.replays.page",)
    calls = "contrib.replays.calls"
    additions = {"replays/trial.html": "rules", "replays/button.html": "rule-form"}
    commands = {
        "Studies": {
            "study detect": (
                "replay_rules",
                "whom detectors would have flagged",
                "contrib.replays.management.ReplayRules",
            )
        }
    }
