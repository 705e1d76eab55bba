"""Declare what the feature “bounds” adds to the platform."""

from config.features import Feature
from judgments.jobs.registry import HEAVY, JobKind


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
    jobs = {
        "leave_one_out": JobKind("contrib.bounds.handlers.leave_one_out", HEAVY, scope="reports"),
    }
