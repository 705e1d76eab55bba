"""Pseudonyms, tokens and marks of the people whom crowds send.

All are HMACs under the installation's key: equal input gives an equal pseudonym, which reveals nothing without the key.
The crowds' own ids ("raw ids") are stored separately.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection

from django.conf import settings

from annotation.models import CrowdSession, Erasure
from judgments.models import Study

PUBLIC_LINK_PLATFORMS = ("", "local")  # of studies that were not opened yet, or by a public link
# Stands for the platform of people in result files of Mechanical Turk: studies that are imported have no platform.
MTURK_FILES = "mturk-files"
AMAZON_ID = re.compile(r"A[0-9A-Z]{9,20}")
EMAIL = re.compile(r"[^@\s]+@[^@\s]+")  # some platforms identify people by e-mail address


def pseudonym(platform: str, crowd_id: str) -> str:
    """Return the pseudonym of a person, such as "p-3f2a90c1d4e5b687".

    ``platform`` is a value of ``Study.platform``, such as "mturk-sandbox".
    """
    return f"p-{_digest('person', platform, crowd_id)[:16]}"


def worker_name(name: str) -> str:
    """Return a pseudonym if a name in a result file is an Amazon id or an e-mail address; else return the name."""
    identifies_person = AMAZON_ID.fullmatch(name) or EMAIL.fullmatch(name)
    return pseudonym(MTURK_FILES, name) if identifies_person else name


def session_pseudonym(platform: str, crowd_id: str) -> str:
    """Return the pseudonym of a submission, whose id at the crowd is ``crowd_id``."""
    return f"s-{_digest('session', platform, crowd_id)[:24]}"


def installation_id() -> str:
    """Return a word that distinguishes this installation from others that use the same crowd account."""
    return _digest("installation")[:12]


def worker_token(platform: str, name: str) -> str:
    """Return the token by which the browsers of a person sent by a panel are recognised.

    It depends only on the person, so that the panel's link works in every browser.
    """
    return _digest("token", platform, name)


def keyed_hash(*parts: str) -> str:
    """Return 64 hexadecimal digits that only this installation can derive from the parts."""
    return _digest("mark", *parts)


def erasure_mark(source: str, platform: str, name: str) -> str:
    """Return the mark that is stored when a worker is erased, whose ``Worker.source`` and pseudonym are given."""
    return keyed_hash("erased", source, platform, name)


def erasure_marks(study: Study) -> frozenset[str]:
    """Return the marks of people erased from a study, by which they are recognised in later lists of the crowd."""
    return frozenset(Erasure.objects.filter(study=study).values_list("mark", flat=True))


def is_session_of(session: CrowdSession, name: str, marks: Collection[str]) -> bool:
    """Return whether a session belongs to a person, who may have been erased.

    Args:
        name: the person's pseudonym.
        marks: ``erasure_marks`` of the session's study.
    """
    if session.worker.erased:
        return erasure_mark(session.worker.source, session.platform, name) in marks
    return session.worker.name == name


def uses_public_link(platform: str) -> bool:
    return platform in PUBLIC_LINK_PLATFORMS


def _digest(*parts: str) -> str:
    """Return the HMAC of the parts, in 64 hexadecimal digits."""
    # the separator cannot occur in a part, so no other parts give the same text
    text = "\x1f".join(parts).encode()
    return hmac.new(settings.PSEUDONYM_KEY.encode(), text, hashlib.sha256).hexdigest()
