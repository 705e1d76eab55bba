"""Declare what the feature “choosing” adds to the platform."""

from config.features import Feature


class ChoosingConfig(Feature):
    name = "contrib.choosing"
    pages = ("contrib.choosing.views",)
    calls = "contrib.choosing.calls"
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
                "what chosen items say of all, and what choosing saves",
                "contrib.choosing.management.WeighBack",
            )
        },
    }

    def start(self) -> None:
        from judgments.jobs.registry import HEAVY, INTERACTIVE, register

        for kind, queue, scope in (
            ("select_items", INTERACTIVE, "studies"),
            ("weigh_back", INTERACTIVE, "reports"),
            ("choice_savings", HEAVY, "reports"),
        ):
            register(kind, f"contrib.choosing.handlers.{kind}", queue=queue, scope=scope)
