"""Declare what the feature “mtme” adds to the platform."""

from config.features import Feature


class MtmeConfig(Feature):
    name = "contrib.mtme"
    formats = ("contrib.mtme.formats.MTME",)
