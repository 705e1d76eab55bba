"""Declare what the feature “adoption” adds to the platform."""

from config.features import Feature


class AdoptionConfig(Feature):
    name = "contrib.adoption"
    pages = ("contrib.adoption.page",)
    commands = {
        "Studies": {
            "study adopt": (
                "adopt_captions",
                "captions that people wrote become references or a system's",
                "contrib.adoption.operations.adopt",
            )
        }
    }
