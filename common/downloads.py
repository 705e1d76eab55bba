"""Responses with downloads that can be resumed (RFC 9110).

The strong ETag of a file consists of its size and its modification time in nanoseconds, which is enough because files
are replaced as a whole (common.files.atomic_write). A request for several ranges gets the whole file, as the RFC
allows.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import content_disposition_header, http_date, parse_http_date_safe

from common.errors import PROBLEM_TYPE, problem_document

# 19 digits are enough for any file size
ONE_RANGE = re.compile(r"bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})\s*", re.IGNORECASE | re.ASCII)


class RangeNotSatisfiable(Exception):
    """The requested range begins after the end of the file."""


class FileSlice:
    """A part of a file: ``byte_count`` bytes from the byte ``start`` on."""

    def __init__(self, file: BinaryIO, start: int, byte_count: int) -> None:
        file.seek(start)
        self._file = file
        self._bytes_left = byte_count

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._bytes_left if size < 0 else min(size, self._bytes_left))
        self._bytes_left -= len(data)
        return data

    def close(self) -> None:
        self._file.close()


def file_download(request: HttpRequest, path: Path, *, name: str, content_type: str) -> HttpResponseBase:
    """Return the file as an attachment: whole (200), a range (206), or not modified (304).

    Return a problem document with status 412 if ``If-Match`` or ``If-Unmodified-Since`` fails, and with status 416 if
    the range is beyond the end. If ``If-Range`` has another validator, return the whole file.
    """
    file = path.open("rb")
    status_of_file = os.fstat(file.fileno())
    size = status_of_file.st_size
    modified = int(status_of_file.st_mtime)
    etag = f'"{size:x}-{status_of_file.st_mtime_ns:x}"'

    def send(start: int, byte_count: int, status: int) -> HttpResponseBase:
        part: Any = file if byte_count == size else FileSlice(file, start, byte_count)
        return FileResponse(part, as_attachment=True, filename=name, content_type=content_type, status=status)

    response = _download_response(request, size, etag, modified, send)
    if not isinstance(response, FileResponse):
        file.close()
    return response


def bytes_download(
    request: HttpRequest, content: bytes, *, modified: float, name: str, content_type: str
) -> HttpResponseBase:
    """Return ``content`` as an attachment, with the same statuses as ``file_download``.

    Args:
        modified: the time of the content's last change, in seconds since 1970.
    """
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    def send(start: int, byte_count: int, status: int) -> HttpResponseBase:
        headers = {"Content-Disposition": content_disposition_header(True, name) or "attachment"}
        part = content[start : start + byte_count]
        return HttpResponse(part, content_type=content_type, status=status, headers=headers)

    return _download_response(request, len(content), etag, int(modified), send)


def _download_response(
    request: HttpRequest,
    size: int,
    etag: str,
    modified: int,
    send: Callable[[int, int, int], HttpResponseBase],
) -> HttpResponseBase:
    """Return the response to a request for a file of ``size`` bytes.

    Args:
        modified: the time of the file's last change, in seconds since 1970.
        send: a function that returns the response with a part of the file. It gets the first byte, the number of bytes
            and the HTTP status.
    """
    response = _not_modified_response(request, etag, modified)
    if response is None:
        try:
            byte_range = _range_of(request, size, etag, modified)
        except RangeNotSatisfiable:
            response = problem_page(416, f"The file has {size} bytes.", title="That range is not in the file")
            response.headers["Content-Range"] = f"bytes */{size}"
        else:
            start, end = byte_range or (0, size - 1)
            response = send(start, end - start + 1, 206 if byte_range else 200)
            response.headers["Content-Length"] = str(end - start + 1)
            if byte_range:
                response.headers["Content-Range"] = f"bytes {start}-{end}/{size}"
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["ETag"] = etag
    response.headers["Last-Modified"] = http_date(modified)
    # The browser may cache the file, but must ask each time, since the file or the person's right may be removed.
    patch_cache_control(cast(HttpResponse, response), private=True, no_cache=True)
    return response


def _not_modified_response(request: HttpRequest, etag: str, modified: int) -> HttpResponseBase | None:
    """Return the response with status 304 or 412 if a condition in the request's headers demands it, else None."""
    response = get_conditional_response(request, etag=etag, last_modified=modified)
    if response is not None and response.status_code == 412:
        return problem_page(
            412, "It is not the file that was asked for; download it anew.", title="The file was written anew"
        )
    return response


def _range_of(request: HttpRequest, size: int, etag: str, modified: int) -> tuple[int, int] | None:
    """Return the numbers of the first and the last requested byte, from 0; None for the whole file."""
    range_match = ONE_RANGE.fullmatch(request.headers.get("Range", "").strip())
    if request.method != "GET" or range_match is None or not _matches_if_range(request, etag, modified):
        return None
    first, last = range_match.groups()
    if not first and not last:
        return None
    if not first:  # the header asks for the last bytes, such as bytes=-500
        start, end = max(0, size - int(last)), size - 1
    elif last and int(last) < int(first):
        return None  # the header is invalid; ignore it
    else:
        start, end = int(first), min(int(last or size), size - 1)  # without ``last``, to the end of the file
    if start >= size:
        raise RangeNotSatisfiable
    return start, end


def _matches_if_range(request: HttpRequest, etag: str, modified: int) -> bool:
    """Return whether If-Range matches this file. A date matches only after the end of its second.

    Within this second, the file could have changed twice.
    """
    validator = request.headers.get("If-Range", "").strip()
    if not validator:
        return True
    if validator.startswith(('"', "W/")):
        return validator == etag  # a weak ETag never matches
    return parse_http_date_safe(validator) == modified < int(time.time())


def problem_page(
    status: int, detail: str, *, title: str = "", headers: dict[str, str] | None = None
) -> JsonResponse:
    """Return an RFC 9457 problem document as a response, for views outside the API."""
    body = problem_document(status, detail, title=title)
    return JsonResponse(body, status=status, headers=headers, content_type=PROBLEM_TYPE)
