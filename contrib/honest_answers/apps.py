"""Declare what the feature “honest_answers” adds to the platform."""

from config.features import Feature


class HonestAnswersConfig(Feature):
    name = "contrib.honest_answers"
    detectors = (
        "contrib.honest_answers.detectors.PastedText",
        "contrib.honest_answers.detectors.Typing",
        "contrib.honest_answers.detectors.Phrasing",
        "contrib.honest_answers.detectors.HiddenLine",
    )
