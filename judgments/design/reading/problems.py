"""Convert pydantic's errors to sentences for the author of a study file."""

from __future__ import annotations

import re
from typing import Any, get_args

from django.utils.translation import gettext
from pydantic import BaseModel, ValidationError

from common.errors import DesignError
from judgments.design.study_design import StudyDesign
from quorum.numeric.names import nearest_name

# What a value is expected to be, by the pattern of its field or by pydantic's type of error. It replaces pydantic's own
# message, which names patterns and Python types.
PLAIN_EXPECTATIONS = {
    "^([A-Z]{3})?$": "three capital letters, such as USD",
    "^[A-Z]{2}$": "two capital letters, such as DE",
    "string_pattern_mismatch": "letters, digits, hyphens and underscores",
    "model_type": "a table",
    "dict_type": "a table",
}
MAX_PROBLEMS = 200
MAX_QUOTATION_LENGTH = 200  # characters


def design_errors(error: ValidationError) -> list[DesignError]:
    """Return the errors as sentences about keys of a study file, one for each key."""
    # a request body can cause a hundred thousand errors, and each is compared with all others
    problems = error.errors(include_url=False)[:MAX_PROBLEMS]
    errors: list[DesignError] = []
    reported_paths: set[tuple[str, ...]] = set()
    for problem in problems:
        path = _key_path(problem["loc"])
        # the last part is an unknown key, even if it looks like a type
        if problem["type"] == "extra_forbidden":
            *table, unknown_key = problem["loc"]
            path = [*_key_path(tuple(table)), str(unknown_key)]
        if tuple(path) in reported_paths:
            continue  # a key that accepts 'all' or a number has an error for each of the two
        reported_paths.add(tuple(path))
        errors.append(_as_design_error(problem, path, problems))
    return errors


def sentence_error(path: list[str], sentence: str) -> DesignError:
    """Return an error about the key at ``path`` or, if it is empty, about the key with which ``sentence`` begins.

    ``sentence`` has no full stop.
    """
    key = field = ".".join(path)
    if not key:
        # translated sentences have the quotation marks of their language
        first_key = re.match(r"[“„]?([a-z_]+(?:\.[a-z_]+)?)", sentence)
        if first_key and first_key[1].split(".")[0] in StudyDesign.model_fields:
            field = first_key[1]
    return DesignError(f"{key}: {sentence}." if key else f"{sentence}.", field=field)


def _as_design_error(problem: Any, path: list[str], problems: list[Any]) -> DesignError:
    """Return the error about one of pydantic's problems.

    Args:
        problems: all problems. Those of the same key together say which values the key accepts.
    """
    key = ".".join(path)
    if problem["type"] == "extra_forbidden":
        nearest_key = nearest_name(path[-1], _keys_beside(path), cutoff=0.0)
        return DesignError(
            gettext("%(key)s is not a key of a study file; the nearest one is %(near)r.")
            % {"key": key, "near": nearest_key},
            field=key,
        )
    if problem["type"] == "missing":
        return DesignError(
            gettext("%(key)s is missing; the keys “name”, “dataset” and “protocol” have no default value.")
            % {"key": key},
            field=key,
        )
    if problem["type"] == "value_error":
        return sentence_error(path, problem["msg"].removeprefix("Value error, "))
    allowed_values = [
        PLAIN_EXPECTATIONS.get(any_problem.get("ctx", {}).get("pattern"))
        or PLAIN_EXPECTATIONS.get(any_problem["type"])
        or re.sub(r"^(Input|String|Value) should (be|have) ", "", any_problem["msg"])
        for any_problem in problems
        if _key_path(any_problem["loc"]) == path
    ]
    return DesignError(
        gettext("%(key)s is %(problem)s; expected %(listed)s.")
        % {"key": key, "problem": quoted_value(problem["input"]), "listed": " or ".join(allowed_values)},
        field=key,
    )


def quoted_value(value: Any) -> str:
    """Return the ``repr()`` of a value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTATION_LENGTH else f"{text[:MAX_QUOTATION_LENGTH]}…"


def _key_path(location: tuple[int | str, ...]) -> list[str]:
    """Return the parts of a key from pydantic's location, without names of types such as "constrained-str" or "int"."""
    return [str(part) for part in location if not re.search(r"[\[\]]|^constrained-|^int$", str(part))]


def _keys_beside(path: list[str]) -> list[str]:
    """Return the keys of the table to which the key at ``path`` belongs."""
    model: type[BaseModel] = StudyDesign
    for name in path[:-1]:
        annotation = model.model_fields[name].annotation if name in model.model_fields else None
        tables = [table for table in (annotation, *get_args(annotation)) if isinstance(table, type)]
        model = next((table for table in tables if issubclass(table, BaseModel)), model)
    return list(model.model_fields)
