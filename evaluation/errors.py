"""Named errors of analysis and export; one sentence each: what, where, what was expected."""

from __future__ import annotations

from judgments.errors import QuorumError


class EvaluationError(QuorumError):
    """Something that cannot be computed from what the study holds, or a name that is not known."""

    title = "Not possible to compute"


class ExportError(QuorumError):
    """A format that does not exist, or that cannot hold the study."""

    title = "The export is not possible"
