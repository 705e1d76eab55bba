"""Declare what the feature “error_analysis” adds to the platform."""

from config.features import Feature


class ErrorAnalysisConfig(Feature):
    name = "contrib.error_analysis"
    pages = ("contrib.error_analysis.views",)
    calls = "contrib.error_analysis.calls"
