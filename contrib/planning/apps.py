"""Declare what the feature “planning” adds to the platform."""

from django.utils.translation import gettext_lazy as _

from config.features import Feature
from judgments.jobs.registry import HEAVY, JobKind


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
    jobs = {
        "plan_power": JobKind(
            "contrib.planning.handlers.plan_power", HEAVY, _("Planning of pairs and votes"), scope="reports"
        ),
    }
