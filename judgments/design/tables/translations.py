"""The study-file tables with the study's texts in other languages."""

from __future__ import annotations

from typing import Annotated, Any

from django.conf import settings
from django.utils.translation import gettext
from pydantic import AfterValidator, Field

from judgments.design.tables.base import DesignTable, Listed


def _check_language(language: str) -> str:
    languages = [code for code, _ in settings.LANGUAGES]
    if language not in languages:
        raise ValueError(
            gettext("%(language)r is not a language of participants' pages; expected %(listed)s")
            % {"language": language, "listed": ", ".join(languages)}
        )
    return language


Language = Annotated[str, AfterValidator(_check_language)]


class _TranslatedTexts(DesignTable):
    """The base class of translated texts. An empty text is not translated."""

    @property
    def filled_texts(self) -> dict[str, Any]:
        return {name: text for name, text in self if text}


class ExampleTexts(_TranslatedTexts):
    """The translated texts of a worked example. The item that it shows is not translated."""

    scene: str = Field("", max_length=500)
    answer: str = Field("", max_length=500)
    why: str = Field("", max_length=1000)


class QuizQuestionTexts(_TranslatedTexts):
    """A translated question of the quiz. Its options are in the order of the design's options."""

    text: str = Field(min_length=1, max_length=1000)
    options: Listed[Annotated[str, Field(min_length=1, max_length=500)]]
    why: str = Field("", max_length=1000)


class StudyTexts(DesignTable):
    """The texts of a study in one language. A text that is left out is shown in the original language."""

    name: str = Field("", max_length=200)
    description: str = Field(
        "", max_length=2000, description="The crowd shows this text (crowd.description)."
    )
    question: str = Field("", max_length=500)
    instructions: str = Field("", max_length=20_000, json_schema_extra={"rows": 5})
    consent: str = Field("", max_length=20_000, json_schema_extra={"rows": 5})
    source_label: str = Field("", max_length=200, title="Heading above the source text")
    labels: Listed[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        (),
        title="Labels of the answers, one per line",
        description="The design and each translation need the same number of labels.",
    )
    examples: Listed[ExampleTexts] = ()
    questions: Listed[QuizQuestionTexts] = Field((), description="Those of the quiz (quiz.questions).")
