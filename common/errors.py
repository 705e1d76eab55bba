"""Named errors of the platform.

Each carries one sentence for the person who caused it, and the HTTP status it becomes at the edge. A command
prints the sentence and exits with 1; a page shows it; the API wraps it in an RFC 9457 problem document.
"""

from __future__ import annotations


class QuorumError(Exception):
    """Something a user can put right. ``str()`` is one sentence: what, where, what was expected."""

    status = 400
    title = "Bad request"


class DesignError(QuorumError):
    """A study design that cannot be used; ``field`` is the dotted key of the study file, or ''."""

    title = "The design is not valid"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class DataConflict(QuorumError):
    """The rows are there already with other content, or contradict what is stored."""

    status = 409
    title = "Conflicts with stored data"


class NotThere(QuorumError):
    """A dataset, system, study or assignment that does not exist, or not for this person."""

    status = 404
    title = "Not found"


class WrongState(QuorumError):
    """The step is not possible in the current state."""

    status = 409
    title = "Not possible now"


class Changed(QuorumError):
    """Somebody else changed what this change was made from."""

    status = 412
    title = "Changed meanwhile"
