"""API tokens: scopes, creation, lookup and revocation."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import CharField, DateTimeField
from django.utils import timezone
from django.utils.translation import gettext

from common.errors import DesignError, ObjectNotFound
from common.features import declared_by_features
from common.rows.prepared import PreparedQuery, query_parameter
from judgments.models import ApiToken, Study

# The scopes that tokens of accounts without staff rights can have.
PARTICIPANT_SCOPES: dict[str, str] = declared_by_features("participant_scopes")
SCOPES: dict[str, str] = {
    "studies:read": "studies, designs, datasets, items, pages of work, jobs, the log, rehearsals, presets",
    "studies:write": "create studies, change designs and detectors, generate, open and close",
    "judgments:read": "judgments, assignments and texts of participants",
    "workers:read": "participants, invitations, detectors and their flags, exclusions, adjudications",
    "workers:write": "approve and reject work, exclude participants and lift exclusions, adjudicate",
    "reports:read": "consensus, agreement, analyses, the dashboard, plans",
    "reports:write": "compute consensus, agreement, comparisons of metrics with people, and plans",
    "exports:read": "list and download exports",
    "exports:write": "make exports",
    **PARTICIPANT_SCOPES,
    "money:read": "budgets, the ledger, publications at crowds and requests to crowds",
    "money:write": "pay bonuses and top-ups, set budgets, decide on payments that failed",
    **declared_by_features("scopes"),
}
KEY_PREFIX = "quorum_"
SHOWN_KEY_LENGTH = 12  # characters of a key that lists of tokens show
# A use is recorded only if the last recorded use is older than this, so that not every request writes to the database.
USE_INTERVAL = timedelta(minutes=1)


def scope_allows(token_scopes: Iterable[str], scope: str) -> bool:
    """Return whether one of a token's scopes includes a scope. A scope to write includes that to read."""
    area, _, verb = scope.partition(":")
    return scope in token_scopes or (verb == "read" and f"{area}:write" in token_scopes)


@transaction.atomic
def create_token(
    *,
    user: User,
    name: str,
    scopes: Sequence[str],
    studies: Sequence[Study] = (),
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Return a new token and its key, which is not stored. Without ``studies``, it covers all that the account may see.

    Raise DesignError if the name, the scopes, the account or the expiry are not acceptable.
    """
    if not name.strip() or len(name) > 100:
        raise DesignError(
            gettext("A token needs a name of 1 to 100 characters that describes its purpose."), field="name"
        )
    unknown_scopes = [scope for scope in scopes if scope not in SCOPES]
    if unknown_scopes or not scopes:
        problem = (
            gettext("There is no scope %(scope)r") % {"scope": unknown_scopes[0]}
            if unknown_scopes
            else gettext("A token needs a scope")
        )
        raise DesignError(
            gettext("%(problem)s; expected one or more of %(listed)s.")
            % {"problem": problem, "listed": ", ".join(SCOPES)},
            field="scopes",
        )
    may_have_scopes = user.is_staff or set(scopes) <= PARTICIPANT_SCOPES.keys()
    if not user.is_active or not may_have_scopes:
        raise DesignError(
            gettext("The account %(name)r is not an active staff account.") % {"name": user.get_username()},
            field="user",
        )
    if expires_at is not None and expires_at <= timezone.now():
        raise DesignError(
            gettext("The token would have expired already; choose a later date."), field="expires_at"
        )
    key = KEY_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name.strip(),
        prefix=key[:SHOWN_KEY_LENGTH],
        digest=_digest(key),
        scopes=[scope for scope in SCOPES if scope in scopes],
        limited=bool(studies),  # remains if these studies are deleted; then the token covers no study
        expires_at=expires_at,
    )
    token.studies.set(studies)
    return token, key


# Prepared once, since every HTTP call with a token begins with this query.
_USABLE_TOKEN = PreparedQuery(
    lambda: (
        ApiToken.objects.usable_at(query_parameter("now", DateTimeField()))
        .select_related("user")
        .filter(digest=query_parameter("digest", CharField()))
    )
)


def authenticate_key(key: str) -> ApiToken | None:
    """Return the token of a key, and record its use. Return None if there is no valid token."""
    now = timezone.now()
    token = _USABLE_TOKEN.first(now=now, digest=_digest(key))
    if token is not None and (token.last_used_at is None or now - token.last_used_at > USE_INTERVAL):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def revoke_token(*, token: ApiToken) -> None:
    """Revoke a token. Raise ObjectNotFound if it was deleted together with its account."""
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    if not ApiToken.objects.filter(pk=token.pk).exists():
        raise ObjectNotFound(gettext("This token no longer exists."))


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()
