"""Read plans from files, and hash them. Pure (docs/registration.md)."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from evaluation.errors import RegistrationError
from judgments.design.plans import Plan


def read_plan(text: str, *, source: str) -> Plan:
    """Read a plan from the TOML table ``[registration]``, ignoring other tables.

    Raises:
        RegistrationError: not TOML, an unknown key, or a malformed claim.
    """
    try:
        values = tomllib.loads(text).get("registration", {})
    except tomllib.TOMLDecodeError as error:
        raise RegistrationError(f"{source} is not TOML: {error}.") from None
    return make_plan(values, source=f"{source}: ")


def make_plan(values: Any, *, source: str = "") -> Plan:
    """Build a plan; ``source`` begins the message of a RegistrationError."""
    try:
        return Plan.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, ("registration", *problem["loc"])))
        said = problem["msg"].removeprefix("Value error, ")
        raise RegistrationError(f"{source}{where}: {said}.") from None


def plan_hash(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of canonical JSON: sorted keys, no blanks, UTF-8."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
