"""Which texts a worker agreed to and worked by: short hashes that are stored with the work."""

from __future__ import annotations

from judgments.design import StudyDesign
from judgments.draws import content_key


def consent_version(design: StudyDesign) -> str:
    """Which consent text this is: a hash of it, '' where the study has none."""
    return content_key(design.consent)[:16] if design.consent else ""


def instructions_version(design: StudyDesign) -> str:
    """Which question, instructions and worked examples these are."""
    examples = [example.model_dump(mode="json") for example in design.examples]
    return content_key(design.question, design.instructions, examples)[:16]
