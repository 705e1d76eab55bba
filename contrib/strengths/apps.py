"""Declare what the feature “strengths” adds to the platform."""

from config.features import Feature


class StrengthsConfig(Feature):
    name = "contrib.strengths"
    pages = ("contrib.strengths.views",)
    calls = "contrib.strengths.calls"
    report_sections = ("contrib.strengths.section.ranking_section",)
    commands = {
        "Results": {
            "strengths": (
                "strengths",
                "systems by people's choices, with ties and rank bands",
                "contrib.strengths.management.Strengths",
            )
        }
    }
