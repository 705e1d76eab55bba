"""The words of a kind's page, by what the study judges: captions, summaries, translations or texts.

Questions and choices are in English and translated where they are shown, as those of a study file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

CAPTION: Final = "caption"
SUMMARY: Final = "summary"
TRANSLATION: Final = "translation"
TEXT: Final = "text"
JUDGED = (CAPTION, SUMMARY, TRANSLATION, TEXT)
LABELS: Mapping[str, Any] = {
    CAPTION: _("Caption"),
    SUMMARY: _("Summary"),
    TRANSLATION: _("Translation"),
    TEXT: _("Text"),
}


@dataclass(frozen=True, slots=True)
class Wording:
    """How a kind asks about one sort of text, in English.

    Attributes:
        title: for researchers.
        question: the default question of the study file.
        choices: labels of the kind's choices, in their order; () without choices.
        poles: what 0 and 100 mean; () without a scale.
        label: heading above a judged text.
        hint: what a worker does to go on.
        keys: what the keys of the page do.
        twice: why two answers contradict each other.
    """

    title: str
    question: str
    choices: tuple[str, ...] = ()
    poles: tuple[str, ...] = ()
    label: Any = ""
    hint: Any = ""
    keys: tuple[Any, ...] = ()
    twice: Any = ""

    @property
    def ends(self) -> list[str]:
        return [gettext(one) for one in self.poles]


QUESTIONS = {
    CAPTION: gettext_noop("How well does the caption describe the image?"),
    SUMMARY: gettext_noop("How well does the summary represent the source text?"),
    TRANSLATION: gettext_noop("How well does the translation express the meaning of the source text?"),
    TEXT: gettext_noop("How good is the text?"),
}
GRADES = {
    CAPTION: (
        gettext_noop("Describes the image without any errors"),
        gettext_noop("Describes the image with minor errors"),
        gettext_noop("Is somewhat related to the image"),
        gettext_noop("Is unrelated to the image"),
    ),
    SUMMARY: (
        gettext_noop("Represents the source text without any errors"),
        gettext_noop("Represents the source text with minor errors"),
        gettext_noop("Is somewhat related to the source text"),
        gettext_noop("Is unrelated to the source text"),
    ),
    TRANSLATION: (
        gettext_noop("Expresses the meaning of the source text without any errors"),
        gettext_noop("Expresses the meaning of the source text with minor errors"),
        gettext_noop("Expresses little of the meaning of the source text"),
        gettext_noop("Is unrelated to the source text"),
    ),
    TEXT: (
        gettext_noop("Is good, without any errors"),
        gettext_noop("Is good, with minor errors"),
        gettext_noop("Has serious errors"),
        gettext_noop("Cannot be used"),
    ),
}
POLES = {
    CAPTION: (gettext_noop("has nothing to do with the image"), gettext_noop("describes it perfectly")),
    SUMMARY: (
        gettext_noop("has nothing to do with the source text"),
        gettext_noop("represents it perfectly"),
    ),
    TRANSLATION: (
        gettext_noop("has nothing to do with the source text"),
        gettext_noop("expresses its meaning perfectly"),
    ),
    TEXT: (gettext_noop("cannot be used"), gettext_noop("is perfect")),
}

GRADED_WORDS = {
    judged: Wording(
        f"Graded: {question[0].lower()}{question[1:]}", question, GRADES[judged], label=LABELS[judged]
    )
    for judged, question in QUESTIONS.items()
}
RELEVANCE_WORDS = {
    CAPTION: Wording(
        "Relevance: which captions describe the image?",
        gettext_noop("Which of these captions describe the image?"),
        (gettext_noop("Does not describe it"), gettext_noop("Describes it")),
        label=LABELS[CAPTION],
        hint=_("Tick the captions that describe the picture, or “None of them”."),
        keys=(_("tick or untick a caption"),),
    ),
    SUMMARY: Wording(
        "Relevance: which summaries represent the source text?",
        gettext_noop("Which of these summaries represent the source text?"),
        (gettext_noop("Does not represent it"), gettext_noop("Represents it")),
        label=LABELS[SUMMARY],
        hint=_("Tick the summaries that represent the source text, or “None of them”."),
        keys=(_("tick or untick a summary"),),
    ),
    TRANSLATION: Wording(
        "Relevance: which translations express the meaning of the source text?",
        gettext_noop("Which of these translations express the meaning of the source text?"),
        (gettext_noop("Does not express it"), gettext_noop("Expresses it")),
        label=LABELS[TRANSLATION],
        hint=_("Tick the translations that express the meaning of the source text, or “None of them”."),
        keys=(_("tick or untick a translation"),),
    ),
    TEXT: Wording(
        "Relevance: which texts are good?",
        gettext_noop("Which of these texts are good?"),
        (gettext_noop("Is not good"), gettext_noop("Is good")),
        label=LABELS[TEXT],
        hint=_("Tick the texts that are good, or “None of them”."),
        keys=(_("tick or untick a text"),),
    ),
}
BEST_WORST_WORDS = {
    CAPTION: Wording(
        "Best-worst: which caption is the best, which the worst?",
        gettext_noop("Which caption describes the image best, and which worst?"),
        label=LABELS[CAPTION],
        hint=_("Choose the best caption and the worst to go on."),
        keys=(_("the best caption first, then the worst"), _("the worst caption at once")),
        twice=_("One caption cannot be both the best and the worst."),
    ),
    SUMMARY: Wording(
        "Best-worst: which summary is the best, which the worst?",
        gettext_noop("Which summary represents the source text best, and which worst?"),
        label=LABELS[SUMMARY],
        hint=_("Choose the best summary and the worst to go on."),
        keys=(_("the best summary first, then the worst"), _("the worst summary at once")),
        twice=_("One summary cannot be both the best and the worst."),
    ),
    TRANSLATION: Wording(
        "Best-worst: which translation is the best, which the worst?",
        gettext_noop("Which translation expresses the meaning of the source text best, and which worst?"),
        label=LABELS[TRANSLATION],
        hint=_("Choose the best translation and the worst to go on."),
        keys=(_("the best translation first, then the worst"), _("the worst translation at once")),
        twice=_("One translation cannot be both the best and the worst."),
    ),
    TEXT: Wording(
        "Best-worst: which text is the best, which the worst?",
        gettext_noop("Which text is the best, and which the worst?"),
        label=LABELS[TEXT],
        hint=_("Choose the best text and the worst to go on."),
        keys=(_("the best text first, then the worst"), _("the worst text at once")),
        twice=_("One text cannot be both the best and the worst."),
    ),
}
PAIRWISE_WORDS = {
    CAPTION: Wording(
        "Pairwise: which description is better?",
        gettext_noop("Which is the better description?"),
        (gettext_noop("Description B"), gettext_noop("Description C")),
    ),
    SUMMARY: Wording(
        "Pairwise: which summary is better?",
        gettext_noop("Which is the better summary?"),
        (gettext_noop("Summary B"), gettext_noop("Summary C")),
    ),
    TRANSLATION: Wording(
        "Pairwise: which translation is better?",
        gettext_noop("Which is the better translation?"),
        (gettext_noop("Translation B"), gettext_noop("Translation C")),
    ),
    TEXT: Wording(
        "Pairwise: which text is better?",
        gettext_noop("Which is the better text?"),
        (gettext_noop("Text B"), gettext_noop("Text C")),
    ),
}
