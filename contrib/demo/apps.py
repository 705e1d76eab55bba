"""Declare what the feature “demo” adds to the platform."""

from config.features import Feature


class DemoConfig(Feature):
    name = "contrib.demo"
    needs = ("rehearsals",)
    commands = {
        "The installation": {
            "server demo": ("load_demo", "load the demo", "contrib.demo.management.LoadDemo"),
        }
    }
