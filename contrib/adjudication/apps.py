"""Declare what the feature “adjudication” adds to the platform."""

from config.features import Feature


class AdjudicationConfig(Feature):
    name = "contrib.adjudication"
    urls = "contrib.adjudication.urls"
    pages = ("contrib.adjudication.disputes_page", "contrib.adjudication.needs")
    calls = "contrib.adjudication.calls"
