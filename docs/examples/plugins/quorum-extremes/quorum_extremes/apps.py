"""A detector."""

from config.features import Feature


class Extremes(Feature):
    name = "quorum_extremes"
    detectors = ("quorum_extremes.detector.Extremes",)
