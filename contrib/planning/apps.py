"""Declare what the feature “planning” adds to the platform."""

from config.features import Feature


class PlanningConfig(Feature):
    name = "contrib.planning"
    questions = ("how many judgments do I need", "how many pairs or votes or workers", "sample size", "power")
    pages = ("contrib.planning.views",)
    calls = "contrib.planning.calls"
    # By section and by words of `quorum`: the name for `manage.py`, what the command gives, and its class.
    commands = {
        "Studies": {
            "study plan": (
                "plan_power",
                "how many pairs, references and votes are needed",
                "contrib.planning.management.PlanPower",
            )
        }
    }
    commands_without_data = ("plan_power",)  # it works in a folder without an installation

    def start(self) -> None:
        from judgments.jobs.registry import HEAVY, register

        # ``scope`` is what a token needs to read the job by HTTP.
        register("plan_power", "contrib.planning.handlers.plan_power", queue=HEAVY, scope="reports")
