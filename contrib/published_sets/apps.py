"""Declare what the feature “published_sets” adds to the platform."""

from config.features import Feature


class PublishedSetsConfig(Feature):
    name = "contrib.published_sets"
    questions = ("MS COCO captions", "Flickr8k", "PASCAL-50S")
    import_formats = (
        "contrib.published_sets.formats.FLICKR8K",
        "contrib.published_sets.formats.COCO",
        "contrib.published_sets.formats.FLICKR8K_EXPERT",
        "contrib.published_sets.formats.FLICKR8K_CROWD",
        "contrib.published_sets.formats.PASCAL_50S",
        "contrib.published_sets.formats.ABSTRACT_50S",
    )
    upload_recognisers = ("contrib.published_sets.uploads.recognise_set",)
