"""The import formats of published sets, and the readers of each format, which are loaded when a file is opened."""

from __future__ import annotations

from functools import partial

from django.utils.translation import gettext_noop

from common.features import lazy_function
from judgments.importers.import_format import ImportFormat

# Readers of both sets of fifty references. Their first argument is the name of the set.
_FIFTY_DATASET = lazy_function("contrib.published_sets.fifty.FiftyDataset")
_TRIPLETS = lazy_function("contrib.published_sets.fifty.FiftyTriplets")
_PAIRWISE = lazy_function("contrib.published_sets.fifty.FiftyPairwise")

# ``title`` is the label of a format in forms, and ``words`` its label on the page of an upload (default: its name).
FLICKR8K = ImportFormat(
    name="flickr8k",
    title=gettext_noop("Flickr8k: Flickr8k.token.txt, and optionally the lists of its splits"),
    words="Flickr8k",
    dataset=lazy_function("contrib.published_sets.flickr8k.Flickr8kDataset"),
)
COCO = ImportFormat(
    name="coco",
    title=gettext_noop("MS COCO: one JSON document"),
    words="MS COCO",
    dataset=lazy_function("contrib.published_sets.coco.CocoDataset"),
    candidates=lazy_function("contrib.published_sets.coco.open_results"),
)
FLICKR8K_EXPERT = ImportFormat(
    name="flickr8k-expert",
    title=gettext_noop("Flickr8k's expert grades: ExpertAnnotations.txt"),
    judgments={"graded": lazy_function("contrib.published_sets.flickr8k.Flickr8kExpert")},
)
FLICKR8K_CROWD = ImportFormat(
    name="flickr8k-crowd",
    title=gettext_noop("Flickr8k's crowd counts: CrowdFlowerAnnotations.txt"),
    judgments={"relevance": lazy_function("contrib.published_sets.flickr8k.Flickr8kCrowd")},
)
PASCAL_50S = ImportFormat(
    name="pascal-50s",
    title=gettext_noop("PASCAL-50S: references.jsonl and pairs.jsonl"),
    words="PASCAL-50S",
    dataset=partial(_FIFTY_DATASET, "pascal-50s"),
    judgments={"triplet": partial(_TRIPLETS, "pascal-50s"), "pairwise": partial(_PAIRWISE, "pascal-50s")},
)
ABSTRACT_50S = ImportFormat(
    name="abstract-50s",
    title=gettext_noop("ABSTRACT-50S: references.jsonl and pairs.jsonl"),
    dataset=partial(_FIFTY_DATASET, "abstract-50s"),
    judgments={"triplet": partial(_TRIPLETS, "abstract-50s")},
)
