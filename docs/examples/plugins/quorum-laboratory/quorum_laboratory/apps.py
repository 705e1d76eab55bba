"""The app of an example plugin that registers a crowd."""

from config.features import Feature


class Laboratory(Feature):
    name = "quorum_laboratory"
    crowd_offers = ("quorum_laboratory.offer.OFFER",)
    crowds = ("quorum_laboratory.crowd.LaboratoryBackend",)
