"""The size of a page of a list in the API, and the cursor with which the next page begins."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from common.incoming.json_documents import load_json

DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE = 100, 1000


def page_size_of(request: Request) -> int:
    """Return the number of rows that the request wants on a page. Raise ValidationError if it is out of bounds."""
    text = request.query_params.get("page_size", str(DEFAULT_PAGE_SIZE))
    if not re.fullmatch("[0-9]{1,6}", text) or not 1 <= int(text) <= MAX_PAGE_SIZE:
        raise ValidationError({"page_size": [f"must be a whole number from 1 to {MAX_PAGE_SIZE}."]})
    return int(text)


def read_cursor(cursor: str) -> Any:
    """Return the values of a cursor that ``link_with_cursor`` made. Raise ValueError if it is malformed."""
    return load_json(urlsafe_b64decode(cursor.encode()))


def link_with_cursor(request: Request, values: Sequence[Any]) -> str:
    """Return the address of the request with a cursor: the values as JSON, in the alphabet of Base64 for addresses."""
    cursor = urlsafe_b64encode(json.dumps(values).encode()).decode()
    return request.build_absolute_uri(
        f"{request.path}?{urlencode({**request.query_params.dict(), 'cursor': cursor})}"
    )
