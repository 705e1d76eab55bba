"""Detectors, which examine how a worker answers.

A detector needs no database. It gets settings and a worker's history, and returns a finding or None. To add a
detector, write a class and add it to ``RULES``, or let a feature declare it (``config.features.Feature``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from pydantic import ValidationError

from annotation.quality.detectors.base import Rule
from annotation.quality.detectors.correctness import ControlAccuracy, Disagreement, RepeatConsistency
from annotation.quality.detectors.haste import TooFast
from annotation.quality.detectors.patterns import Alternation, SideBias, StraightLining
from common.features import lazy_registry, of_apps, of_features

# in the order in which pages list them
RULES: dict[str, type[Rule]] = lazy_registry(
    lambda: {
        rule.name: rule
        for rule in (
            TooFast,
            StraightLining,
            SideBias,
            Alternation,
            Disagreement,
            *of_features("detectors"),
            ControlAccuracy,
            RepeatConsistency,
        )
    }
)


def make_rule(name: str, settings: Mapping[str, Any]) -> Rule:
    """Return the detector with this name. ``settings`` replace its default settings.

    Raises:
        ValueError: the detector or a setting is unknown, the detector's feature is off, or a setting is out of bounds.
    """
    rule = RULES.get(name)
    if rule is None and name in of_apps("detectors"):
        feature, _rule = of_apps("detectors")[name]
        raise ValueError(
            _("the detector %(name)r is off; turn on %(feature)s in CONTRIB_APPS")
            % {"name": name, "feature": feature}
        )
    if rule is None:
        rule_names = ", ".join(RULES)
        raise ValueError(
            _("there is no detector %(name)r; expected one of %(known)s")
            % {"name": name, "known": rule_names}
        )
    try:
        return rule.model_validate(dict(settings))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            setting_names = ", ".join(rule.model_fields)
            sentence = _("%(name)s has no setting %(key)r; its settings are %(known)s")
            raise ValueError(sentence % {"name": name, "key": key, "known": setting_names}) from None
        # pydantic's message without its beginning, such as "less than or equal to 1"
        expected = problem["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        sentence = _("%(key)s of %(name)s is %(value)r; expected %(said)s")
        value = problem["input"]
        raise ValueError(sentence % {"key": key, "name": name, "value": value, "said": expected}) from None


def installed_rule(name: str) -> type[Rule] | None:
    """Return the detector with this name, even if its feature is off: its stored flags are still shown.

    Return None if there is no such detector.
    """
    _feature, rule = of_apps("detectors").get(name, ("", None))
    return rule or RULES.get(name)


def describe_evidence(name: str, evidence: Mapping[str, Any]) -> str:
    """Return stored evidence (``flags.evidence_of``) as a sentence in the reader's language.

    The stored sentence is returned if the detector or its settings are of another version.
    """
    rule = installed_rule(name)
    stored_sentence = str(evidence.get("words", ""))
    if rule is None:
        return stored_sentence
    try:
        return rule.model_validate(evidence["settings"]).describe(evidence["numbers"])
    except (KeyError, ValueError):
        return stored_sentence
