"""A format of exports."""

from config.features import Feature


class Preferences(Feature):
    name = "quorum_preferences"
    formats = ("quorum_preferences.format.PREFERENCES",)
