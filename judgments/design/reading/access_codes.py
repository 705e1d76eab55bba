"""Refuse access codes of studies that people could guess."""

from __future__ import annotations

from functools import cache

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.design.tables.participants import MIN_CODE_LENGTH, Access


def refuse_guessable_code(access: Access) -> None:
    """Raise DesignError if the access code of a new design can be guessed. Older studies keep their codes."""
    code = access.code.strip()
    if code and access.is_guessable:  # by its length
        raise DesignError(
            gettext(
                "access.code is too short (number of characters: %(n)s); expected at least %(shortest_code)s. If it "
                "is empty, a code is generated."
            )
            % {"n": len(code), "shortest_code": MIN_CODE_LENGTH},
            field="access.code",
        )
    if access.join == "code" and (code.isdecimal() or code.lower() in _common_passwords()):
        raise DesignError(
            gettext(
                "access.code is a common password or has only digits; expected a code that is hard to guess. If "
                "it is empty, a code is generated."
            ),
            field="access.code",
        )


@cache
def _common_passwords() -> set[str]:
    return CommonPasswordValidator().passwords
