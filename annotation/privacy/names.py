"""Replace people's names, and other words that identify them, in JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

# matches the keys of JSON objects whose values are workers; "left_out" are those whose top-ups were not paid
WORKER_FIELDS = re.compile("worker|left_out")


def replace_worker_names(value: Any, replacements: Mapping[str, str]) -> Any:
    """Return a JSON value in which names of workers are replaced, but not names within longer texts.

    ``name_replacer`` explains which strings are names of workers.
    """
    return name_replacer(replacements, in_texts=False)(value)


def name_replacer(replacements: Mapping[str, str], *, in_texts: bool = True) -> Callable[[Any], Any]:
    """Return a function that replaces names in a JSON value.

    People choose their names, so a name may equal the name of a system or of a state, or a key of the JSON. Therefore a
    string that equals a name is replaced only in a field for workers, such as "worker" or "workers", or outside
    objects.

    Args:
        replacements: the new word for each name.
        in_texts: whether names within longer texts are replaced, too, in every field.
    """
    names = sorted((name for name in replacements if name), key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])") if names else None

    def replace_in_string(text: str, *, is_worker: bool) -> str:
        if text in replacements:
            return replacements[text] if is_worker else text
        if pattern is None or not in_texts:
            return text
        return pattern.sub(lambda match: replacements[match.group()], text)

    def replace_in_value(value: Any, key: str = "") -> Any:
        """Return ``value``, which stands under ``key`` in the nearest object, with replaced names."""
        is_about_worker = bool(WORKER_FIELDS.search(key))
        if isinstance(value, str):
            return replace_in_string(value, is_worker=is_about_worker or not key)
        if isinstance(value, list):
            return [replace_in_value(member, key) for member in value]
        if not isinstance(value, dict):
            return value
        if is_about_worker:  # the keys are names, such as in {"workers": {"Anna": {"judgments": 20}}}
            return {
                replacements.get(name, name): replace_in_value(member, key) for name, member in value.items()
            }
        return {name: replace_in_value(member, name) for name, member in value.items()}

    return replace_in_value
