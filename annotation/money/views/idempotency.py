"""HTTP requests with an idempotency key: repeating one returns the first response and changes nothing.

See draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from annotation.crowds.sync.schedule import queue_sync_if_calls_wait
from annotation.models import MoneyRequest
from common.errors import QuorumError
from judgments.drawing.keys import content_key
from judgments.models import Study


class KeyUsed(QuorumError):
    """Raised if the key was used for another request; nothing was done."""

    status = 422
    title = "The key was used for something else"


def run_once(
    *, key: str, study: Study, step: str, request: Mapping[str, Any], by: User, carry_out: Callable[[], Any]
) -> tuple[dict[str, Any], bool]:
    """Call ``carry_out``, unless an earlier request of the account had the same key.

    Return the body of the response, and whether it is that of an earlier request. The body is stored in the transaction
    of the operation. A failure stores nothing, so the request may then be repeated with the same key.

    Args:
        step: the name of the operation.
        request: the arguments of the operation. A repeated request must have equal ones.
        carry_out: a function that carries out the operation, and returns the body as JSON.

    Raises:
        KeyUsed: the key was used for another request.
    """
    digest = content_key(study.slug, step, dict(request))
    with transaction.atomic():
        try:
            with transaction.atomic():  # a concurrent request with the same key waits here
                row = MoneyRequest.objects.create(by=by, key=key, study=study, step=step, digest=digest)
        except IntegrityError:
            row = MoneyRequest.objects.get(by=by, key=key)
            if row.digest != digest:
                raise KeyUsed(
                    f"Nothing was done: the Idempotency-Key {key[:80]!r} came before with another request; expected a "
                    "new key for every new request."
                ) from None
            return dict(row.answer), True
        row.answer = carry_out()
        row.save(update_fields=["answer"])
    queue_sync_if_calls_wait(study, by)
    return dict(row.answer), False
