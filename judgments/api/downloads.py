"""How the schema tells of a file that is handed out by ``judgments.downloads``."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

RANGE_HEADERS = [
    OpenApiParameter(
        "Range", str, OpenApiParameter.HEADER, description="`bytes=1000-`: the rest of a download that broke off."
    ),
    OpenApiParameter(
        "If-Range", str, OpenApiParameter.HEADER,
        description="The ETag that the first part came with: another file is sent whole.",
    ),
]  # fmt: skip


def file_responses(*content_types: str) -> dict[Any, Any]:
    """The file, which has one of these types, a range of it, or why not."""
    kinds = sorted({kind.partition(";")[0] for kind in content_types})
    part = OpenApiResponse(OpenApiTypes.BINARY, description="The range that was asked for.")
    return {
        **{(200, kind): OpenApiTypes.BINARY for kind in kinds},
        **{(206, kind): part for kind in kinds},
        412: OpenApiResponse(description="The file is not the one that If-Match names."),
        416: OpenApiResponse(description="The range begins behind the end of the file."),
    }
