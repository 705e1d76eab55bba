"""What the calls of the Prolific backend share: a client from the settings, and the meaning of what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from annotation.backends.base import OutOfFunds, Refused, TryLater
from annotation.backends.prolific_client import ProlificClient
from annotation.backends.prolific_errors import (
    ProlificNotConfigured,
    ProlificNotReached,
    ProlificRefused,
    ProlificThrottled,
    ProlificUnknown,
)
from annotation.models import CrowdCall

# The reference gives no error code for an empty account; these words stand in what people reported.
_OUT_OF_FUNDS = re.compile(r"balance|funds|top[ -]?up|wallet", re.IGNORECASE)
_TOKEN_REFUSED = (401, 403)


@contextmanager
def asking() -> Iterator[ProlificClient]:
    """A client for one call, and the client's errors in the words of ``annotation.backends.base``.

    Raises:
        Refused, TryLater, OutOfFunds.
    """
    try:
        with ProlificClient(url=settings.PROLIFIC_API_URL, token=settings.PROLIFIC_TOKEN) as client:
            yield client
    except ProlificThrottled as problem:
        raise TryLater(str(problem), after=problem.retry_after or 0.0, undone=True) from problem
    except ProlificNotReached as problem:
        raise TryLater(str(problem), undone=True) from problem
    except ProlificUnknown as problem:
        raise TryLater(str(problem)) from problem
    except ProlificNotConfigured as problem:
        raise TryLater(str(problem), after=60.0, undone=True, final=True) from problem
    except ProlificRefused as problem:
        if (
            problem.answered in _TOKEN_REFUSED
        ):  # somebody has to put the token right; the call itself is sound
            raise TryLater(
                f"{problem} Check PROLIFIC_TOKEN.", after=60.0, undone=True, final=True
            ) from problem
        if _OUT_OF_FUNDS.search(problem.said):
            raise OutOfFunds(str(problem)) from problem
        raise Refused(str(problem)) from problem


def remember(call: CrowdCall, **facts: object) -> None:
    """As ``CrowdCall.remember``; who lost the call to another runner asks nothing more.

    Raises:
        TryLater: somebody else carries it out.
    """
    if not call.remember(**facts):
        raise TryLater("Somebody else carries this call out by now.")


def refuse_dearer(client: ProlificClient, *, reward_cents: int, places: int, kept: int) -> None:
    """Before places are bought: what the account's own fee and tax make of them is within what the study kept.

    Raises:
        Refused.
    """
    cost = client.cost_cents(reward_cents=reward_cents, places=places)
    if cost > kept:
        raise Refused(
            f"Nothing was bought: Prolific asks {cost} cents for {places} places at {reward_cents} cents, and "
            f"{kept} are reserved; set PROLIFIC_FEE_PERCENT to this account's fee with its tax."
        )
