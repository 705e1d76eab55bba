"""Check the values of a design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from common.errors import DesignError
from judgments.design.reading.access_codes import refuse_guessable_code
from judgments.design.reading.completing import complete_values, with_pairs_from
from judgments.design.reading.contradictions import contradictions_of
from judgments.design.reading.presets import NO_PRESETS, Preset
from judgments.design.reading.problems import design_errors, sentence_error
from judgments.design.study_design import StudyDesign


def make_design(values: dict[str, Any], *, saved_presets: Mapping[str, Preset] = NO_PRESETS) -> StudyDesign:
    """Return the design of ``values``, a study file as nested dicts. Complete them from their preset and protocol.

    Raises:
        DesignError: a value is invalid; ``field`` is its dotted key.
    """
    try:
        design = StudyDesign.model_validate(complete_values(values, saved_presets))
    except ValidationError as error:
        raise design_errors(error)[0] from None
    first_contradiction = next(contradictions_of(design), None)
    if first_contradiction is not None:
        raise sentence_error([], first_contradiction)  # []: the sentence begins with the key
    return design


def problems_in(values: dict[str, Any]) -> list[DesignError]:
    """Return the errors of a design: one for each invalid key or, if there is none, one for each contradiction.

    ``make_design`` raises only the first of them, and does not check the access code: older studies keep their codes.
    """
    try:
        design = StudyDesign.model_validate(complete_values(values, NO_PRESETS))  # a form fills presets in
    except ValidationError as error:
        return design_errors(error)
    except DesignError as error:
        return [error]
    problems = [sentence_error([], sentence) for sentence in contradictions_of(design)]
    try:
        refuse_guessable_code(design.access)
    except DesignError as error:
        problems.append(error)
    return problems


def stored_design(values: dict[str, Any]) -> StudyDesign:
    """Return a design from its stored values, of which old ones lack ``pairs_from``. Do not look for contradictions."""
    return StudyDesign.model_validate(with_pairs_from(values))
