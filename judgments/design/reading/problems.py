"""Convert pydantic's errors to sentences for the author of a study file."""

from __future__ import annotations

import re
from typing import Any, get_args

from django.utils.translation import gettext
from pydantic import BaseModel, ValidationError

from common.errors import DesignError
from judgments.design.study_design import StudyDesign
from quorum.numeric.names import nearest_name

# What pydantic expects, in words, by a pattern of a field or by a type of error whose own message has internals.
PLAIN_WORDS = {
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
    # a body can have a hundred thousand errors, and each is compared with all others
    problems = error.errors(include_url=False)[:MAX_PROBLEMS]
    errors: list[DesignError] = []
    reported_paths: set[tuple[str, ...]] = set()
    for problem in problems:
        path = _key_path(problem["loc"])
        if problem["type"] == "extra_forbidden":  # an unknown key may look like one of pydantic's markers
            path = [*_key_path(problem["loc"][:-1]), str(problem["loc"][-1])]
        if tuple(path) in reported_paths:
            continue  # a key that accepts 'all' or a number has an error for each of the two
        reported_paths.add(tuple(path))
        errors.append(_as_design_error(problem, path, problems))
    return errors


def sentence_error(path: list[str], sentence: str) -> DesignError:
    """Return an error about the key at ``path`` or, if it is empty, about the key at the message's beginning."""
    key = ".".join(path)
    keys = re.findall(r"^[“„]?([a-z_]+(?:\.[a-z_]+)?)", sentence)
    field = key or next((name for name in keys if name.split(".")[0] in StudyDesign.model_fields), "")
    return DesignError(f"{key}: {sentence}." if key else f"{sentence}.", field=field)


def _as_design_error(problem: Any, path: list[str], problems: list[Any]) -> DesignError:
    """Return a problem as an error with a sentence. ``problems``, those of the whole file, say what the key accepts."""
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
        PLAIN_WORDS.get(any_problem.get("ctx", {}).get("pattern"))
        or PLAIN_WORDS.get(any_problem["type"])
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
    text = repr(value)
    return text if len(text) <= MAX_QUOTATION_LENGTH else f"{text[:MAX_QUOTATION_LENGTH]}…"


def _key_path(location: tuple[int | str, ...]) -> list[str]:
    """Return the key at pydantic's location, without the names of types in it, such as "constrained-str" or "int"."""
    return [str(part) for part in location if not re.search(r"[\[\]]|^constrained-|^int$", str(part))]


def _keys_beside(path: list[str]) -> list[str]:
    """Return the keys of the table to which the key at ``path`` belongs."""
    model: type[BaseModel] = StudyDesign
    for name in path[:-1]:
        annotation = model.model_fields[name].annotation if name in model.model_fields else None
        tables = [table for table in (annotation, *get_args(annotation)) if isinstance(table, type)]
        model = next((table for table in tables if issubclass(table, BaseModel)), model)
    return list(model.model_fields)
