"""Declare what the feature “panel_lists” adds to the platform."""

from config.features import Feature


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

    def start(self) -> None:
        from judgments.jobs.registry import READING, register

        handler = "contrib.panel_lists.handlers.read_panel_list"
        register("read_panel_list", handler, queue=READING, scope="workers")  # of tokens that may see the job
