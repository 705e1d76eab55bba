"""The app of an example plugin that registers a detector."""

from config.features import Feature


class Extremes(Feature):
    name = "quorum_extremes"
    detectors = ("quorum_extremes.detector.Extremes",)
