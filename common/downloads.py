"""Files handed out so that a download that broke off can go on (RFC 9110: ranges and conditional requests).

A file has a strong ETag of its size and time of writing, to the nanosecond: written files are replaced as a whole and
never written further (common.files.whole_file); what is held in memory has one of its bytes. One range of bytes is
given; a request for several gets the whole file, as the RFC allows.
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

# 19 digits name more bytes than a file can have
ONE_RANGE = re.compile(r"bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})\s*", re.IGNORECASE | re.ASCII)
PROBLEM_TYPE = "application/problem+json"


class NotWithin(Exception):
    """A range that begins behind the end of the file."""


class Slice:
    """Some bytes of an open file, read once from front to back."""

    def __init__(self, file: BinaryIO, start: int, count: int) -> None:
        file.seek(start)
        self._file, self._left = file, count

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes; b"" at the end."""
        held = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(held)
        return held

    def close(self) -> None:
        """The file as well."""
        self._file.close()


def file_download(request: HttpRequest, path: Path, *, name: str, content_type: str) -> HttpResponseBase:
    """The file as an attachment: whole (200), the range that is asked for (206), or that nothing changed (304).

    412 where it is another file than ``If-Match`` or ``If-Unmodified-Since`` say, 416 for a range behind its end, both
    with a problem document. ``If-Range`` with another validator gets the whole file.

    Raises:
        FileNotFoundError: it is not there.
    """
    file = path.open("rb")
    found = os.fstat(file.fileno())
    size, modified = found.st_size, int(found.st_mtime)
    etag = f'"{size:x}-{found.st_mtime_ns:x}"'

    def send(start: int, count: int, status: int) -> HttpResponseBase:
        part: Any = file if count == size else Slice(file, start, count)
        return FileResponse(part, as_attachment=True, filename=name, content_type=content_type, status=status)

    answer = _download(request, size, etag, modified, send)
    if not isinstance(answer, FileResponse):
        file.close()
    return answer


def bytes_download(
    request: HttpRequest, content: bytes, *, modified: float, name: str, content_type: str
) -> HttpResponseBase:
    """The same for ``content``, such as a file of an archive; ``modified`` in seconds since 1970."""
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    def send(start: int, count: int, status: int) -> HttpResponseBase:
        headers = {"Content-Disposition": content_disposition_header(True, name) or "attachment"}
        part = content[start : start + count]
        return HttpResponse(part, content_type=content_type, status=status, headers=headers)

    return _download(request, len(content), etag, int(modified), send)


def _download(
    request: HttpRequest,
    size: int,
    etag: str,
    modified: int,
    send: Callable[[int, int, int], HttpResponseBase],
) -> HttpResponseBase:
    """``send``: (first byte, how many, status) -> the answer with them."""
    answer = _unchanged(request, etag, modified)
    if answer is None:
        try:
            part = _range_of(request, size, etag, modified)
        except NotWithin:
            answer = _problem(416, "That range is not in the file", f"The file has {size} bytes.")
            answer.headers["Content-Range"] = f"bytes */{size}"
        else:
            start, end = part or (0, size - 1)
            answer = send(start, end - start + 1, 206 if part else 200)
            answer.headers["Content-Length"] = str(end - start + 1)
            if part:
                answer.headers["Content-Range"] = f"bytes {start}-{end}/{size}"
    answer.headers["Accept-Ranges"] = "bytes"
    answer.headers["ETag"] = etag
    answer.headers["Last-Modified"] = http_date(modified)
    # kept by whoever may read it, and asked for again each time: it may be removed, or a person's right to it
    patch_cache_control(cast(HttpResponse, answer), private=True, no_cache=True)
    return answer


def _unchanged(request: HttpRequest, etag: str, modified: int) -> HttpResponseBase | None:
    """304 or 412; None where the file is to be sent."""
    found = get_conditional_response(request, etag=etag, last_modified=modified)
    if found is not None and found.status_code == 412:
        return _problem(
            412, "The file was written anew", "It is not the file that was asked for; download it anew."
        )
    return found


def _range_of(request: HttpRequest, size: int, etag: str, modified: int) -> tuple[int, int] | None:
    """First and last byte, from 0, that are asked for; None for the whole file.

    Raises:
        NotWithin: none of them is there.
    """
    asked = ONE_RANGE.fullmatch(request.headers.get("Range", "").strip())
    if request.method != "GET" or asked is None or not _same(request, etag, modified):
        return None
    first, last = asked.groups()
    if not first and not last:
        return None
    if not first:  # the last so many bytes
        start, end = max(0, size - int(last)), size - 1
    else:
        start, end = int(first), min(int(last), size - 1) if last else size - 1
        if last and int(last) < start:
            return None  # no range at all: such a header is not heeded
    if start >= size:
        raise NotWithin
    return start, end


def _same(request: HttpRequest, etag: str, modified: int) -> bool:
    """Whether If-Range, where it is there, names this very file. A date can do so when no second file can have been
    written within its second."""
    asked = request.headers.get("If-Range", "").strip()
    if not asked:
        return True
    if asked.startswith(('"', "W/")):
        return asked == etag  # a weak one never does
    return parse_http_date_safe(asked) == modified < int(time.time())


def _problem(status: int, title: str, detail: str) -> HttpResponse:
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return JsonResponse(problem, status=status, content_type=PROBLEM_TYPE)
