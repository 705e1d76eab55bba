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


def file_responses(content_type: str) -> dict[Any, Any]:
    """The file, a range of it, or why not."""
    return {
        (200, content_type): OpenApiTypes.BINARY,
        (206, content_type): OpenApiResponse(
            OpenApiTypes.BINARY, description="The range that was asked for."
        ),
        412: OpenApiResponse(description="The file is not the one that If-Match names."),
        416: OpenApiResponse(description="The range begins behind the end of the file."),
    }
