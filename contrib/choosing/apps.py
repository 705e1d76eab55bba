"""Declare what the feature “choosing” adds to the platform: pages, calls, commands and jobs that sample items."""

from django.utils.translation import gettext_lazy as _

from config.features import Feature
from judgments.jobs.registry import HEAVY, INTERACTIVE, JobKind


class ChoosingConfig(Feature):
    name = "contrib.choosing"
    pages = ("contrib.choosing.views",)
    calls = "contrib.choosing.calls"
    # By section and by words of `quorum`: the name for `manage.py`, what the command gives, and its operation or class.
    commands = {
        "Studies": {
            "study choose": (
                "select_items",
                "the items that tell systems apart, within a budget",
                "contrib.choosing.operations.choose_items",
            )
        },
        "Results": {
            "weigh": (
                "weigh_back",
                "results for all items, estimated from the chosen ones, and what choosing saves",
                "contrib.choosing.management.EstimateForAllItems",
            )
        },
    }
    jobs = {
        "select_items": JobKind("contrib.choosing.handlers.select_items", INTERACTIVE, _("Choice of items")),
        "weigh_back": JobKind(
            "contrib.choosing.handlers.weigh_back", INTERACTIVE, _("Estimates for all items"), scope="reports"
        ),
        "choice_savings": JobKind(
            "contrib.choosing.handlers.choice_savings",
            HEAVY,
            _("Measurement of savings by item selection"),
            scope="reports",
        ),
    }
