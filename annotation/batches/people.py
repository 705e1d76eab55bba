"""Whom result files name: Amazon's own ids of workers never stand in a study."""

from __future__ import annotations

import re

from annotation.crowds.people import pseudonym

PLACE = "mturk-files"  # people of files; those whom Mechanical Turk's API names are rows of their own
AMAZON_ID = re.compile(r"A[0-9A-Z]{9,20}")
ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")  # what Label Studio names people by


def worker_name(found: str) -> str:
    """A pseudonym for an id of Amazon's or a mail address, the same in every file; names that somebody gave stay."""
    return pseudonym(PLACE, found) if AMAZON_ID.fullmatch(found) or ADDRESS.fullmatch(found) else found
