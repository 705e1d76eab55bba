"""The columns of datasets and of candidates that Quorum knows."""

from __future__ import annotations

from judgments.importers.records.columns import Columns

DATASET_COLUMNS = Columns(
    ("image", "caption"),
    ("caption_id", "split", "url", "text", "boxes", "image_width", "image_height", "document", "text_title"),
    substitutes={"caption": ("text",)},  # an item may have only a source text
)

# the columns with the boxes or keywords that a system names for an image, and the pattern that separates them
CONTENT_SEPARATORS = {"boxes": r"[\s;]+", "keywords": ";"}

CANDIDATE_COLUMNS = Columns(
    ("image", "caption"),
    ("rank", "score", "system", "text", *CONTENT_SEPARATORS),
    substitutes={"image": ("text",), "caption": tuple(CONTENT_SEPARATORS)},  # a text stands for its item
)

STANDARD_COLUMNS = {*DATASET_COLUMNS.optional, *DATASET_COLUMNS.required, *CANDIDATE_COLUMNS.optional}
