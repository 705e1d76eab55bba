"""Call POST /chat/completions of an OpenAI-compatible endpoint, once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from common.incoming import load_json
from common.incoming.services import THIS_MACHINE, Caller, open_http, seconds_to_wait
from evaluation.errors import EvaluationError
from evaluation.results.judges.prompts import Question

SECONDS = 60.0  # for a whole call
LARGEST_REPLY = 1_000_000  # bytes
LONGEST_DETAIL = 300
_LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    model: str
    tokens_in: int
    tokens_out: int


def is_own_host() -> bool:
    """Return whether the endpoint is this machine, so that calls are free."""
    return urlsplit(settings.JUDGE_API_URL).hostname in THIS_MACHINE


class AskLater(Exception):
    """The endpoint is busy or broken. If `served`, it may have answered and charged."""

    def __init__(self, message: str, *, served: bool, after: float = 0.0) -> None:
        super().__init__(message)
        self.served, self.after = served, after


class Endpoint(Caller):
    """A client that keeps its key in this object and the headers only."""

    def __init__(self, *, url: str = "", key: str | None = None, seconds: float = SECONDS) -> None:
        url, self._key = url or settings.JUDGE_API_URL, settings.JUDGE_API_KEY if key is None else key
        parts = urlsplit(url)
        if not parts.hostname:
            raise EvaluationError(
                "No model can be asked: the setting JUDGE_API_URL is empty, expected an address such as "
                "https://api.example.org/v1."
            )
        if parts.scheme != "https" and parts.hostname not in THIS_MACHINE:
            raise EvaluationError(
                f"JUDGE_API_URL names {parts.scheme}://{parts.hostname}; expected an https address, since the key is "
                "sent with every call."
            )
        self.host = parts.netloc.rpartition("@")[2]
        self._seconds = seconds
        sent = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._http = open_http(url, seconds=seconds, headers=sent)

    def ask(self, question: Question, *, options: Mapping[str, Any], once: str) -> Reply:
        """Ask once. `once` names the call, for endpoints that never repeat a named call.

        Raises:
            AskLater: try again, after its seconds.
            EvaluationError: the endpoint refuses for good.
        """
        import httpx

        body = {**options, "messages": list(question.messages)}
        ends = time.monotonic() + self._seconds
        try:
            with self._http.stream(
                "POST", "chat/completions", json=body, headers={"Idempotency-Key": once}
            ) as response:
                written = bytearray()
                for part in response.iter_bytes():
                    written += part
                    if len(written) > LARGEST_REPLY or time.monotonic() > ends:
                        raise AskLater("its reply does not end", served=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise AskLater(f"it cannot be reached ({type(error).__name__})", served=False) from None
        except httpx.HTTPError as error:
            raise AskLater(f"the call broke off ({type(error).__name__})", served=True) from None
        status = response.status_code
        if status in _LATER or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            # A gateway says these where the model behind it may have answered, and charges.
            served = status == HTTPStatus.REQUEST_TIMEOUT or (
                status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.SERVICE_UNAVAILABLE
            )
            raise AskLater(f"it answers {status}", served=served, after=seconds_to_wait(response.headers))
        if status != HTTPStatus.OK:
            detail = _clean(bytes(written).decode(errors="replace"))
            if self._key:
                detail = detail.replace(self._key, "***")
            raise EvaluationError(f"{self.host} refuses to answer ({status}): {detail[:LONGEST_DETAIL]}")
        return _read(bytes(written))


def _read(body: bytes) -> Reply:
    try:
        reply = load_json(body)
        text = reply["choices"][0]["message"]["content"]
        usage = reply.get("usage") or {}
        counts = [usage.get("prompt_tokens", -1), usage.get("completion_tokens", -1)]
        if not all(type(count) is int for count in counts):
            raise TypeError
    except (ValueError, LookupError, TypeError, AttributeError):
        raise AskLater("its reply is no chat completion", served=True) from None
    return Reply(_clean(str(text or "")), _clean(str(reply.get("model") or ""))[:200], counts[0], counts[1])


def _clean(text: str) -> str:
    return text.replace("\0", "").encode(errors="replace").decode()
