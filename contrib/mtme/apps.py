"""Declare what exports for mt-metrics-eval add to the platform."""

from config.features import Feature


class MtmeConfig(Feature):
    name = "contrib.mtme"
    formats = ("contrib.mtme.formats.MTME",)
