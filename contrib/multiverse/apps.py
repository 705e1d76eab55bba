"""Declare what the feature “multiverse” adds to the platform."""

from config.features import Feature


class MultiverseConfig(Feature):
    name = "contrib.multiverse"
    report_parts = ("contrib.multiverse.part.Multiverse",)
