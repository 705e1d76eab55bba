"""Send prompts to a model at an OpenAI-compatible endpoint. Temporary errors differ from permanent ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from common.http.addresses import THIS_MACHINE, keeps_secrets
from common.http.client import CallFailed, Client
from common.incoming.json_documents import load_json
from contrib.judges.prompts import ChatPrompt
from evaluation.errors import EvaluationError

CALL_SECONDS = 60.0  # time limit for the next byte of a response, and for the whole response
MAX_REPLY_BYTES = 1_000_000
MAX_DETAIL_LENGTH = 300  # characters of a response that an error message quotes
MAX_MODEL_LENGTH = 200  # characters of the field JudgeAnswer.answered_by


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    Attributes:
        model: the model as the endpoint names it.
        tokens_in: number of tokens of the prompt; -1 if the endpoint does not state it.
        tokens_out: number of tokens of the reply; -1 if the endpoint does not state it.
    """

    text: str
    model: str
    tokens_in: int
    tokens_out: int


def is_on_this_machine() -> bool:
    """Return whether the endpoint is on this machine, so that calls are free."""
    return urlsplit(_endpoint_address()).hostname in THIS_MACHINE


def _endpoint_address() -> str:
    return str(getattr(settings, "JUDGE_API_URL", ""))


class AskLater(Exception):
    """Raised if the endpoint is busy or broken. The message is a clause about it, such as "it answers 503".

    Attributes:
        may_have_charged: whether the model may have replied, and charged for it.
        wait_seconds: the time to wait before another call, as the endpoint demands; 0 if it demands none.
    """

    def __init__(self, message: str, *, may_have_charged: bool, wait_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.may_have_charged = may_have_charged
        self.wait_seconds = wait_seconds


class Endpoint(Client):
    """A client of the endpoint. The API key is stored only in this object, and sent in request headers.

    The address and the key are those of the settings JUDGE_API_URL and JUDGE_API_KEY, unless others are given.
    """

    def __init__(self, *, url: str = "", key: str | None = None, seconds: float = CALL_SECONDS) -> None:
        url = url or _endpoint_address()
        key = getattr(settings, "JUDGE_API_KEY", "") if key is None else key
        parts = urlsplit(url)
        if not parts.hostname:
            raise EvaluationError(
                "No model can be asked: the setting JUDGE_API_URL is empty, expected an address such as "
                "https://api.example.org/v1."
            )
        if not keeps_secrets(url):
            raise EvaluationError(
                f"JUDGE_API_URL names {parts.scheme}://{parts.hostname}; expected an https address, since the key is "
                "sent with every call."
            )
        self.host = parts.netloc.rpartition("@")[2]  # without a user name and password
        super().__init__(
            url,
            seconds=seconds,
            credentials={"Authorization": f"Bearer {key}"} if key else {},
            secret=key,
            max_bytes=MAX_REPLY_BYTES,
            limits_whole_time=True,
        )

    def ask(self, chat_prompt: ChatPrompt, *, options: Mapping[str, Any], call_id: str) -> Reply:
        """Send one request.

        Args:
            options: the fields of the body besides the prompt: the model, and ``prompts.CALL_OPTIONS``.
            call_id: identifies the call, for endpoints that never repeat an identified call.

        Raises:
            AskLater: the call should be tried again later.
            EvaluationError: the endpoint refuses the call permanently.
        """
        body = {**options, "messages": list(chat_prompt.messages)}
        try:
            # The client does not repeat a call, since the possible cost of each call is booked before it.
            response = self.send("POST", "chat/completions", body=body, headers={"Idempotency-Key": call_id})
        except CallFailed as error:
            raise AskLater(f"it {error}", may_have_charged=error.was_sent) from None
        status = response.status
        # 409: an earlier call with this key is in progress (IETF draft of the header Idempotency-Key).
        if response.is_temporary or status == HTTPStatus.CONFLICT:
            # A gateway can send these statuses although the model has replied and charged.
            may_have_charged = status == HTTPStatus.REQUEST_TIMEOUT or (
                status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.SERVICE_UNAVAILABLE
            )
            raise AskLater(
                f"it answers {status}", may_have_charged=may_have_charged, wait_seconds=response.wait_seconds
            )
        if status != HTTPStatus.OK:
            detail = _clean_text(response.content.decode(errors="replace"))
            raise EvaluationError(f"{self.host} refuses to answer ({status}): {detail[:MAX_DETAIL_LENGTH]}")
        return _read_reply(response.content)


def _read_reply(body: bytes) -> Reply:
    """Return the reply in a response. Raise AskLater if it is no chat completion."""
    try:
        reply = load_json(body)
        text = reply["choices"][0]["message"]["content"]
        usage = reply.get("usage") or {}
        tokens_in, tokens_out = usage.get("prompt_tokens", -1), usage.get("completion_tokens", -1)
        if type(tokens_in) is not int or type(tokens_out) is not int:
            raise TypeError
    except (ValueError, LookupError, TypeError, AttributeError):
        raise AskLater("its reply is no chat completion", may_have_charged=True) from None
    model = _clean_text(str(reply.get("model") or ""))[:MAX_MODEL_LENGTH]
    return Reply(_clean_text(str(text or "")), model, tokens_in=tokens_in, tokens_out=tokens_out)


def _clean_text(text: str) -> str:
    """Remove NUL characters and replace unpaired surrogates, which the database cannot store."""
    return text.replace("\0", "").encode(errors="replace").decode()
