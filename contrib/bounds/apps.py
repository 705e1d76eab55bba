"""Declare what the feature “bounds” adds to the platform."""

from config.features import Feature


class BoundsConfig(Feature):
    name = "contrib.bounds"
    pages = ("contrib.bounds.views",)
    calls = "contrib.bounds.calls"
    commands = {
        "Datasets": {
            "dataset bounds": (
                "leave_one_out",
                "what people and unrelated texts reach by each metric",
                "contrib.bounds.management.LeaveOneOut",
            )
        }
    }

    def start(self) -> None:
        from judgments.jobs.registry import HEAVY, register

        # ``scope`` is what a token needs to read the job by HTTP.
        register("leave_one_out", "contrib.bounds.handlers.leave_one_out", queue=HEAVY, scope="reports")
