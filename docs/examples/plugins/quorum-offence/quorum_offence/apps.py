"""The app of an example plugin that registers a kind of HIT."""

from config.features import Feature


class Offence(Feature):
    name = "quorum_offence"
    kinds = ("quorum_offence.kind.Offence",)
