"""Declare what the feature “rehearsals” adds to the platform."""

from config.features import Feature


class RehearsalsConfig(Feature):
    name = "contrib.rehearsals"
    pages = ("contrib.rehearsals.page", "contrib.rehearsals.checklist")
    calls = "contrib.rehearsals.calls"
    commands = {
        "Studies": {
            "study rehearse": (
                "rehearse",
                "a simulated crowd answers",
                "contrib.rehearsals.management.Rehearse",
            )
        }
    }

    def start(self) -> None:
        from judgments.jobs.registry import HEAVY, register

        # ``scope`` is what a token needs to read the job by HTTP.
        register("rehearse", "contrib.rehearsals.handlers.rehearse", queue=HEAVY, scope="studies")
