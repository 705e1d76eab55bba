"""Functions for ``Format.why_unsuitable``: they return why a study does not suit an export format, or "" if it does."""

from __future__ import annotations

from judgments.kinds import KINDS
from judgments.models import Study


def accept_any_study(study: Study) -> str:
    return ""


def why_not_written_captions(study: Study) -> str:
    return "" if KINDS[study.protocol].writes_captions else "it holds captions that workers wrote (caption)"
