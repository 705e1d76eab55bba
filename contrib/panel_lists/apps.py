"""Declare what the feature “panel_lists” adds to the platform."""

from config.features import Feature


class PanelListsConfig(Feature):
    name = "contrib.panel_lists"
    pages = ("contrib.panel_lists.page",)
    commands = {
        "Crowds and money": {
            "crowd panel": (
                "reconcile_panel",
                "a panel's list beside the study's own",
                "contrib.panel_lists.management.ReconcilePanel",
            )
        }
    }

    def start(self) -> None:
        from judgments.jobs.registry import READING, register

        # ``scope`` is what a token needs to read the job by HTTP.
        register(
            "read_panel_list", "contrib.panel_lists.handlers.read_panel_list", queue=READING, scope="workers"
        )
