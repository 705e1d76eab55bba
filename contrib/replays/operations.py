"""The operation that runs detectors over finished work, and the settings with which a detector is tried."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.contrib.auth.models import User
from django.utils.translation import ngettext
from rest_framework import serializers

from annotation.quality.detectors import RULES
from annotation.quality.operations import SETTINGS_HELP, SettingsField
from annotation.quality.rules import make_study_rule
from common.parameters import KeysField, Parameters
from contrib.replays import rule_replays
from judgments.access.rights import Right
from judgments.models import Study
from judgments.operations import Outcome, operation


class RuleSettingsRequest(Parameters):
    """The settings with which the page "Replay" tries a detector."""

    settings = SettingsField(required=False, help_text=SETTINGS_HELP)


def settings_from_query(study: Study, rule: str, query: Mapping[str, str]) -> dict[str, float]:
    """Return the settings of a detector that the query of a URL states.

    Raises:
        ValidationError: a setting is unknown or invalid.
    """
    defaults = make_study_rule(study, rule, {}).model_dump()
    texts = {name: text for name, text in query.items() if name != "rule"}
    unknown_name = next((name for name in texts if name not in defaults), None)
    if unknown_name is not None:
        raise serializers.ValidationError(
            {unknown_name: [f"This is no setting of {rule}; it has {', '.join(defaults)}."]}
        )
    settings: dict[str, float] = SettingsField().run_validation(texts)
    return settings


class ReplayRequest(Parameters):
    """The detectors to run."""

    rules = KeysField(required=False, help_text=f"Names of detectors (default: all of {', '.join(RULES)}).")


@operation("replay", "Run detectors over finished work", parameters=ReplayRequest, right=Right.VIEW)
def replay_detectors(*, study: Study, by: User | None, rules: Collection[str] = ()) -> Outcome:
    """Run the detectors over each page of finished work as it was submitted.

    Nothing is stored, and nobody is excluded.
    """
    replays = rule_replays.replay_rules(study=study, rules=rule_replays.rules_to_replay(study, list(rules)))
    sentence = ngettext("One detector was tried.", "%(replays)s detectors were tried.", len(replays))
    return Outcome(sentence % {"replays": len(replays)}, replays)
