"""Make the codes that people type to join a study."""

from __future__ import annotations

import secrets
from typing import Any

from judgments.design.reading.access_codes import refuse_guessable_code
from judgments.design.study_design import StudyDesign
from judgments.design.tables.participants import MIN_CODE_LENGTH, Access

# Characters of codes that people type. They lack characters that look alike, such as 0 and o.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
CAPITALS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 10  # length of a generated code, which has 49 bits


def random_code(letters: str, length: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(length))


def with_access_code(design: StudyDesign, *, before: Access | None = None) -> StudyDesign:
    """Return the design with an access code if it needs one: its own, the previous one, or else a new one.

    Args:
        before: the previous settings of access; None for a new study.

    Raises:
        DesignError: the design has a new code that can be guessed.
    """
    access = design.access
    if before is None or access.code != before.code:
        refuse_guessable_code(access)
    if access.join != "code" or access.code.strip():
        return design
    code = before.code if before is not None else ""  # before version 0.6, it could be shorter
    if len(code.strip()) < MIN_CODE_LENGTH:
        code = random_code(LETTERS, CODE_LENGTH)
    return design.model_copy(update={"access": access.model_copy(update={"code": code})})


def without_guessable_code(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a design. Replace a code that can be guessed, as some before version 0.6, by ""."""
    if Access.model_validate(values["access"]).is_guessable:
        return values | {"access": values["access"] | {"code": ""}}
    return values
