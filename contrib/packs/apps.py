"""Declare what the feature “packs” adds to the platform."""

from config.features import Feature


class PacksConfig(Feature):
    name = "contrib.packs"
    needs = ("bounds", "error_spans", "rehearsals")
    commands = {
        "Files, without a database": {
            "replicate": (
                "replicate",
                "a paper's experiment again, with a verdict for each number",
                "contrib.packs.management.Replicate",
            )
        }
    }
    reference = {"papers": "contrib.packs.documentation_page.published_numbers"}
