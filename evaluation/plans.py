"""What is registered before a study opens: hypotheses, rules, planned analyses. Pure (docs/registration.md)."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluation.errors import RegistrationError

CLAIM = re.compile(r"\s*(?P<better>\S+)\s*>\s*(?P<worse>\S+)(?:\s+on\s+(?P<kind>HC|HI|HM|MM|all))?\s*")
Words = Annotated[str, Field(max_length=2000)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Hypothesis(_Table):
    """What is expected, in words, and where it can be checked by itself, as ``cider-d > rouge-l on HC``."""

    text: Annotated[str, Field(min_length=1, max_length=2000)]
    claim: Words = ""


class Plan(_Table):
    """The table ``[registration]`` of a plan file.

    Attributes:
        exclude_by: rules of behaviour, by name, that may exclude people; others are deviations.
        metrics: those that the planned analyses hold against people.
        level: of the family of checked hypotheses, after Holm.
    """

    hypotheses: Annotated[list[Hypothesis], Field(min_length=1, max_length=100)]
    exclusions: Words = ""
    exclude_by: Annotated[list[Words], Field(max_length=50)] = []
    stopping: Words = ""
    analyses: Annotated[list[Words], Field(max_length=100)] = []
    metrics: Annotated[list[Words], Field(max_length=100)] = []
    level: Annotated[float, Field(gt=0, lt=1)] = 0.05


@dataclass(frozen=True, slots=True)
class Claim:
    """One metric is right more often than another, on pairs of a kind or on all."""

    better: str
    worse: str
    kind: str


def read_plan(text: str, *, source: str) -> Plan:
    """A plan from TOML.

    Raises:
        RegistrationError: not TOML, an unknown key, or a claim that cannot be read.
    """
    try:
        values = tomllib.loads(text).get("registration", {})
    except tomllib.TOMLDecodeError as error:
        raise RegistrationError(f"{source} is not TOML: {error}.") from None
    return make_plan(values, source=f"{source}: ")


def make_plan(values: Any, *, source: str = "") -> Plan:
    """A plan from what the table ``[registration]`` holds.

    Raises:
        RegistrationError: an unknown key, or a claim that cannot be read; ``source`` begins the sentence.
    """
    try:
        plan = Plan.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, ("registration", *problem["loc"])))
        raise RegistrationError(f"{source}{where}: {problem['msg']}.") from None
    for hypothesis in plan.hypotheses:
        if hypothesis.claim:
            read_claim(hypothesis.claim)
    return plan


def read_claim(text: str) -> Claim:
    """What a checkable hypothesis claims.

    Raises:
        RegistrationError: it has another form.
    """
    found = CLAIM.fullmatch(text)
    if found is None:
        raise RegistrationError(
            f"The claim {text!r} cannot be checked; expected a form such as 'cider-d > rouge-l on HC'."
        )
    return Claim(found["better"], found["worse"], found["kind"] or "all")


def plan_hash(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content as canonical JSON: sorted keys, no blanks, UTF-8."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
