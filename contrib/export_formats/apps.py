"""Declare what the feature “export_formats” adds to the platform."""

from config.features import Feature


class ExportFormatsConfig(Feature):
    name = "contrib.export_formats"
    formats = (
        "contrib.export_formats.formats.QRELS",
        "contrib.export_formats.formats.FLICKR8K",
        "contrib.export_formats.formats.RELIABILITY",
        "contrib.export_formats.formats.SOFT_LABELS",
        "contrib.export_formats.formats.DEMOGRAPHICS",
        "contrib.export_formats.formats.KEYWORDS",
        "contrib.export_formats.formats.GROUNDING",
    )
