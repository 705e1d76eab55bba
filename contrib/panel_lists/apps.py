"""Declare what the feature “panel_lists” adds to the platform."""

from django.utils.translation import gettext_lazy as _

from config.features import Feature
from judgments.jobs.registry import READING, JobKind


class PanelListsConfig(Feature):
    name = "contrib.panel_lists"
    pages = ("contrib.panel_lists.page",)
    # By section and by words of `quorum`: the name for `manage.py`, what the command gives, and its class.
    commands = {
        "Crowds and money": {
            "crowd panel": (
                "reconcile_panel",
                "a panel's list beside the study's own",
                "contrib.panel_lists.management.ReconcilePanel",
            )
        }
    }
    jobs = {
        "read_panel_list": JobKind(
            "contrib.panel_lists.handlers.read_panel_list",
            READING,
            _("Check of a participant list from a panel"),
            scope="workers",
        ),
    }
