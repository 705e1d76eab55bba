"""Declare what the feature “follow_up” adds to the platform."""

from config.features import Feature


class FollowUpConfig(Feature):
    name = "contrib.follow_up"
    pages = ("contrib.follow_up.page",)
    calls = "contrib.follow_up.calls"
    additions = {
        "evaluation/parts/choose_known.html": "draft-controls",
        "evaluation/parts/new_items.html": "winner",
    }
