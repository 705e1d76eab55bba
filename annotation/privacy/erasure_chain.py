"""The records of erasures, which form a chain of hashes over the whole installation.

The digest of a row covers the digest of the row before it, so no row can be changed or removed unnoticed. A row names
nobody; it has the person's mark, a keyed hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Erasure
from annotation.privacy.receipts import canonical_json
from common.errors import ServiceBusy
from judgments.models import Study


@contextmanager
def transaction_on_chain() -> Iterator[None]:
    """Open a transaction. Raise ServiceBusy if another transaction adds to the chain of erasures at the same time."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        if "previous" in str(error):  # this column is unique: only one row can follow another
            raise ServiceBusy(
                _("Nothing was changed: another participant is being erased. Try again later.")
            ) from None
        raise


def append_erasure(*, study: Study, row: Mapping[str, Any]) -> Erasure:
    """Append a row to the chain of erasures.

    Args:
        row: the fields ``mark`` (of the person), ``way`` (how much was erased) and ``content`` (what was removed) of
            ``Erasure``. To repeat an erasure in an older backup, also its time ``at``; by default, the time is now.
    """
    # the lock of the first row stands for the whole chain; without a row to lock, the unique ``previous`` is the guard
    Erasure.objects.select_for_update().order_by("pk").first()
    last_erasure = Erasure.objects.order_by("-pk").first()
    erased_at = datetime.fromisoformat(row["at"]) if "at" in row else timezone.now()
    erasure = Erasure(
        study=study,
        mark=row["mark"],
        way=row["way"],
        content=row["content"],
        previous=last_erasure.digest if last_erasure else "",
        at=erased_at,
    )
    erasure.digest = digest_of(erasure)
    erasure.save()
    return erasure


def digest_of(row: Erasure) -> str:
    """Return the digest of a row of the chain, which covers the digest of the row before it."""
    content = [row.study.slug, row.mark, row.way, row.content, row.previous, row.at.isoformat()]
    return hashlib.sha256(canonical_json(content)).hexdigest()
