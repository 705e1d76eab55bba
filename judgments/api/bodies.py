"""Read the bodies of API requests (JSON objects and TOML), and declare responses that are files."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.exceptions import ParseError, UnsupportedMediaType, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from common.parameters import Parameters

RANGE_HEADERS = [
    OpenApiParameter(
        "Range", str, OpenApiParameter.HEADER,
        description="Part of the file, such as `bytes=1000-` for the rest of an interrupted download.",
    ),
    OpenApiParameter(
        "If-Range", str, OpenApiParameter.HEADER,
        description="ETag of the part that was downloaded. If the file has changed since, all of it is sent.",
    ),
]  # fmt: skip


def body_of(request: Request) -> dict[str, Any]:
    """Return the body of a request. Raise ValidationError if it is not a JSON object."""
    data = request.data
    if not isinstance(data, dict):
        raise ValidationError("The body must be a JSON object.")
    return data


class TOMLBody(Parameters):
    """A study file as text."""

    toml = serializers.CharField(trim_whitespace=False)


def toml_of(body: dict[str, Any]) -> str | None:
    """Return the study file's text if the body is ``{"toml": text}``; None if the body is the design itself."""
    return TOMLBody.read(body)["toml"] if set(body) == {"toml"} else None


def refuse_compressed(parser_context: Any) -> None:
    """Raise UnsupportedMediaType for a compressed body, which could become very large."""
    coding = parser_context["request"].headers.get("Content-Encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise UnsupportedMediaType(
            coding, f"The body is {coding[:20]!r}; expected one that is not compressed."
        )


class TOMLParser(BaseParser):
    media_type = "application/toml"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        refuse_compressed(parser_context)
        body: bytes = (parser_context or {})["request"].body  # not the stream, whose size is not limited
        try:
            return {"toml": body.decode("utf-8-sig")}
        except UnicodeDecodeError as error:
            raise ParseError(f"The TOML is not UTF-8 at byte {error.start}.") from None


def file_responses(*content_types: str) -> dict[Any, Any]:
    """Return the responses of a download, for the API schema."""
    media_types = sorted({content_type.partition(";")[0] for content_type in content_types})
    partial_content = OpenApiResponse(OpenApiTypes.BINARY, description="The part that `Range` names.")
    return {
        **{(200, media_type): OpenApiTypes.BINARY for media_type in media_types},
        **{(206, media_type): partial_content for media_type in media_types},
        412: OpenApiResponse(description="The file is not the one that If-Match names."),
        416: OpenApiResponse(description="The part begins behind the end of the file."),
    }
