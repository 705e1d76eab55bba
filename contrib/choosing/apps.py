"""Declare what the feature “choosing” adds to the platform: pages, calls, commands and jobs that sample items."""

from config.features import Feature


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

    def start(self) -> None:
        from judgments.jobs.registry import HEAVY, INTERACTIVE, register

        handlers = "contrib.choosing.handlers"
        register("select_items", f"{handlers}.select_items", queue=INTERACTIVE, scope="studies")
        register("weigh_back", f"{handlers}.weigh_back", queue=INTERACTIVE, scope="reports")
        register("choice_savings", f"{handlers}.choice_savings", queue=HEAVY, scope="reports")
