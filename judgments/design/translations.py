"""Show the design of a study in another language (``[translations.de]``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.utils.translation import gettext

from judgments.design.study_design import StudyDesign
from judgments.design.tables import Texts

# a list of these tables has as many rows as the design's own
LISTS = ("labels", "examples", "questions")


def contradictions_of_translations(design: StudyDesign) -> Iterator[str]:
    own = {"labels": design.labels, "examples": design.examples, "questions": design.quiz.questions}
    for language, texts in design.translations.items():
        for name in LISTS:
            given, wanted = len(getattr(texts, name)), len(own[name])
            if given not in (0, wanted):
                yield gettext(
                    "translations.%(language)s.%(name)s has %(given)s entries; expected %(wanted)s, as "
                    "the design has"
                ) % {"language": language, "name": name, "given": given, "wanted": wanted}
        for number, (one, question) in enumerate(
            zip(texts.questions, design.quiz.questions, strict=False), start=1
        ):
            if len(one.options) != len(question.options):
                yield (
                    gettext(
                        "translations.%(language)s.questions: number %(number)s has %(n)s options; expected "
                        "%(n2)s, as the design has"
                    )
                    % {
                        "language": language,
                        "number": number,
                        "n": len(one.options),
                        "n2": len(question.options),
                    }
                )
        if len(set(texts.labels)) < len(texts.labels):
            yield gettext(
                "translations.%(language)s.labels has the same text twice, so that two answers could "
                "not be told apart"
            ) % {"language": language}
        if texts.consent and not design.consent:
            yield gettext(
                "translations.%(language)s.consent is given, but consent is empty; expected both or neither"
            ) % {"language": language}


def design_in(design: StudyDesign, language: str | None) -> StudyDesign:
    """Return the design with its texts in ``language``, if it has them."""
    texts: Texts | None = design.translations.get(language or "")
    if texts is None:
        return design
    changed: Mapping[str, object] = {
        name: given
        for name in ("name", "question", "instructions", "consent", "labels")
        if (given := getattr(texts, name))
    }
    examples = [
        example.model_copy(update=words.given)
        for example, words in zip(design.examples, texts.examples, strict=False)
    ]
    return design.model_copy(
        update={
            **changed,
            "examples": tuple(examples) or design.examples,
            "crowd": design.crowd.model_copy(
                update={"description": texts.description or design.crowd.description}
            ),
            "source": design.source.model_copy(update={"label": texts.source_label or design.source.label}),
        }
    )
