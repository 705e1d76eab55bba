"""The app of an example plugin that registers an export format."""

from config.features import Feature


class Preferences(Feature):
    name = "quorum_preferences"
    formats = ("quorum_preferences.format.PREFERENCES",)
