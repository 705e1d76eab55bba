"""Declare what “ethics” adds. A command has its name for `manage.py`, what it prints, and its class or operation."""

from config.features import Feature


class EthicsConfig(Feature):
    name = "contrib.ethics"
    questions = ("ethics board", "IRB")
    pages = ("contrib.ethics.views",)
    calls = "contrib.ethics.calls"
    commands = {
        "Studies": {
            "study ethics": (
                "ethics",
                "a checklist for an ethics board, filled from the design",
                "contrib.ethics.management.PrintEthics",
            ),
            "study texts": (
                "ready_texts",
                "consent and ethics texts of a usual case, filled from the design",
                "contrib.ethics.ready_texts.fill_in_ready_texts",
            ),
        }
    }
