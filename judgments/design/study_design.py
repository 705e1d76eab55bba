"""The design of a study: a frozen, validated value with the keys of the study file (docs/study-files.md).

A field has a label for the form (``title``), a help text (``description``) and, under ``words``, labels of its choices.
A study stores its complete design (without ``omitted`` fields that have their default), so no preset changes it later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, NamedTuple

from django.utils.translation import gettext, gettext_noop
from pydantic import BeforeValidator, Field

from judgments.design.crowds import CROWDS
from judgments.design.panels import PANEL_PRESETS
from judgments.design.quiz import Quiz
from judgments.design.requirements import Workers
from judgments.design.scale import Scale
from judgments.design.tables.base import DesignTable, Listed, Slug
from judgments.design.tables.controls import Controls, RuleSetting, Stopping, Writing
from judgments.design.tables.crowd import Crowd
from judgments.design.tables.panel import Panel
from judgments.design.tables.participants import Access, Erasing, Ethics, Retention
from judgments.design.tables.plan import RegistrationPlan
from judgments.design.tables.questions import (
    AnswerOptions,
    Example,
    KeywordsPage,
    Source,
    Spans,
    Template,
    check_text_type,
)
from judgments.design.tables.sampling import Arena, Filter, HandChange, ItemSampling, ItemSelection
from judgments.design.tables.translations import Language, StudyTexts
from judgments.design.wordings import CAPTION

# lists in a table such as [translations.de], each with as many entries as the list that it translates
TRANSLATED_LISTS = ("labels", "examples", "questions")
USUAL_CURRENCY = "USD"


class Purpose(NamedTuple):
    """A purpose of a study, and the numbers of judgments and check questions that it needs."""

    title: str
    judgments_per_unit: int
    checks_per_hit: int


PURPOSES = {
    "systems": Purpose(gettext_noop("Find the best of several systems"), 3, 2),
    "metrics": Purpose(gettext_noop("Find the metric that agrees best with people"), 5, 2),
    "labels": Purpose(gettext_noop("Label a dataset: find the right answer for each item"), 5, 3),
    "ranking": Purpose(gettext_noop("Keep a live ranking of systems (arena)"), 1, 2),
}


def currency_named_by(crowd: Crowd, panel: Panel) -> str:
    """Return the currency that the crowd requires, or else the study's, or else the panel's usual one; "" if none."""
    panel_currency = PANEL_PRESETS[panel.preset].currency if crowd.backend == "external" else ""
    return CROWDS[crowd.backend].currency or crowd.currency or panel_currency


class StudyDesign(DesignTable):
    """The settings that decide which HITs a study gets and how their answers are used."""

    omitted = frozenset(
        {
            "purpose", "scale", "answers", "arena", "writing", "erasure", "retention", "ethics", "translations",
            "registration", "chosen", "by_hand",
        }
    )  # fmt: skip

    name: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        title="Name", description="Participants see this name on the study’s page."
    )
    slug: Slug = Field(
        title="Short name", description="Part of the study's link. Empty: it is made from the study's name."
    )
    dataset: Slug = Field(title="Dataset")
    protocol: str
    preset: str = ""
    purpose: Literal["", "systems", "metrics", "labels", "ranking"] = Field(
        "",
        title="Aim",
        description="Determines which results are shown first.",
        json_schema_extra={
            "words": {"": "Not specified", **{name: purpose.title for name, purpose in PURPOSES.items()}}
        },
    )
    # larger whole numbers than 2**53 are not exact in all JSON readers
    seed: Annotated[int, Field(ge=0, le=2**53)] = Field(
        0, title="Seed", description="The same dataset, design and seed give the same pages of work."
    )
    judgments_per_unit: Annotated[int, Field(ge=1, le=1000)] = Field(
        3,
        title="Participants for each item",
        description="Number of judgments of each item, each by a different participant.",
    )
    # a grouped kind, whose items have several texts each, uses images_per_hit; other kinds use units_per_hit
    units_per_hit: Annotated[int, Field(ge=1, le=200)] = Field(
        20, title="Items on a page of work", description="Number of items on a page of work."
    )
    images_per_hit: Annotated[int, Field(ge=1, le=50)] = Field(
        6, title="Items on a page of work", description="Number of items on a page of work."
    )
    captions_per_image: Annotated[int, Field(ge=1, le=50)] = Field(10, title="Texts for each item")
    seconds_per_unit: Annotated[float, Field(gt=0, le=3600)] = Field(
        6.0,
        title="Seconds for an item",
        description="Expected time for one item. Durations and hourly wages are computed from it.",
    )
    question: Annotated[str, Field(max_length=500)] = Field(
        "", title="Question", description="This text is shown above the answers."
    )
    instructions: Annotated[str, Field(max_length=20_000)] = Field(
        "",
        title="Instructions",
        description="This text is shown before and during the work.",
        json_schema_extra={"rows": 7},
    )
    consent: Annotated[str, Field(max_length=20_000)] = Field(
        "",
        title="Consent",
        description="If there is a consent text, participants agree to it before they join.",
        json_schema_extra={"rows": 7},
    )
    contact: Annotated[str, Field(max_length=300)] = Field(
        "", title="Contact", description="Whom participants can contact: a name and an address."
    )
    language: Annotated[str, Field(max_length=20, pattern=r"^[A-Za-z0-9-]*$")] = Field(
        "",
        title="Language of the judged texts",
        description="A code such as en, de or ar. Empty: not specified.",
    )
    judged: Annotated[
        Literal["caption", "summary", "translation", "text"], BeforeValidator(check_text_type)
    ] = Field(
        CAPTION,
        title="Item content",
        description="Determines the wording of the page of work.",
        json_schema_extra={
            "words": {
                "caption": "Captions of images",
                "summary": "Summaries",
                "translation": "Translations",
                "text": "Other texts",
            }
        },
    )
    labels: Listed[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        (),
        title="Labels of the answers",
        description="One per line. Empty: built-in labels.",
        json_schema_extra={"rows": 4},
    )
    examples: Listed[Example] = Field(
        (), title="Worked examples", description="Participants see the examples with the instructions."
    )
    scale: Scale | None = None
    source: Source = Source()
    answers: AnswerOptions = AnswerOptions()
    arena: Arena = Arena()
    sampling: ItemSampling = ItemSampling()
    controls: Controls = Controls()
    filter: Filter = Filter()
    access: Access = Access()
    quiz: Quiz = Quiz()
    workers: Workers = Workers()
    rules: Listed[RuleSetting] = Field(
        (), title="Detectors", description="If the list is empty, no detector checks the answers."
    )
    writing: Writing = Writing()
    stopping: Stopping = Stopping()
    keywords: KeywordsPage = KeywordsPage()
    spans: Spans = Spans()
    template: Template = Template()
    crowd: Crowd = Crowd()
    panel: Panel = Panel()
    erasure: Erasing = Erasing()
    retention: Retention = Retention()
    ethics: Ethics = Ethics()
    translations: dict[Language, StudyTexts] = Field(
        default_factory=dict,
        title="Translations of the texts",
        description="Participants see the texts in the language of their page.",
    )
    registration: RegistrationPlan | None = None
    chosen: ItemSelection | None = None  # the rule that selected ``sampling.only``, if any
    by_hand: Listed[HandChange] = ()  # manual changes of drawn items

    @property
    def about_pictures(self) -> bool:
        """Whether the judged texts are captions of pictures, and no source text is shown instead of the picture."""
        return self.judged == CAPTION and not self.source.show

    @property
    def crowd_name(self) -> str:
        """The name of the study's crowd: the panel's name if the panel has an API, else the backend's."""
        return self.panel.preset if self.panel.api else self.crowd.backend

    @property
    def requirements_checked_here(self) -> Workers:
        """The requirements that Quorum itself checks: all or, if a panel's API checks the others, the limit on HITs."""
        if not self.panel.api:
            return self.workers
        return Workers(hits_at_most=self.workers.hits_at_most, show_accuracy=self.workers.show_accuracy)

    @property
    def currency(self) -> str:
        """The currency of amounts that researchers see; ``USUAL_CURRENCY`` if nothing names one."""
        return self.named_currency or USUAL_CURRENCY

    @property
    def named_currency(self) -> str:
        """The currency that the crowd, the study or the panel names; "" if none does.

        Workers see this currency, and not ``currency``, which may be a guess.
        """
        return currency_named_by(self.crowd, self.panel)


def contradictions_of_translations(design: StudyDesign) -> Iterator[str]:
    """Yield a clause about each translation that does not match the original texts."""
    labels = tuple(design.scale.labels) if design.scale else design.labels
    originals = {"labels": labels, "examples": design.examples, "questions": design.quiz.questions}
    for language, texts in design.translations.items():
        for name in TRANSLATED_LISTS:
            count, expected_count = len(getattr(texts, name)), len(originals[name])
            if count not in (0, expected_count):
                yield gettext(
                    "translations.%(language)s.%(name)s (entries: %(given)s): expected %(wanted)s, as in the design"
                ) % {"language": language, "name": name, "given": count, "wanted": expected_count}
        # a different number of questions is reported above
        for number, (translation, question) in enumerate(
            zip(texts.questions, design.quiz.questions, strict=False), start=1
        ):
            if len(translation.options) != len(question.options):
                yield (
                    gettext(
                        "translations.%(language)s.questions: the number of options of question %(number)s is %(n)s; "
                        "expected %(n2)s, as in the design"
                    )
                    % {
                        "language": language,
                        "number": number,
                        "n": len(translation.options),
                        "n2": len(question.options),
                    }
                )
        if len(set(texts.labels)) < len(texts.labels):
            yield gettext(
                "translations.%(language)s.labels has the same text twice, so two answers could not be distinguished"
            ) % {"language": language}
        if texts.consent and not design.consent:
            yield gettext(
                "translations.%(language)s.consent is given, but consent is empty; expected both or neither"
            ) % {"language": language}


def translate_design(design: StudyDesign, language: str | None) -> StudyDesign:
    """Return the design with its texts in ``language``, as far as they are translated."""
    texts: StudyTexts | None = design.translations.get(language or "")
    if texts is None:
        return design
    changed_fields: Mapping[str, object] = {
        name: text
        for name in ("name", "question", "instructions", "consent", "labels")
        if (text := getattr(texts, name))
    }
    # if no example is translated, the list is empty, and the original examples are kept
    examples = [
        example.model_copy(update=translation.filled_texts)
        for example, translation in zip(design.examples, texts.examples, strict=False)
    ]
    return design.model_copy(
        update={
            **changed_fields,
            "examples": tuple(examples) or design.examples,
            "crowd": design.crowd.model_copy(
                update={"description": texts.description or design.crowd.description}
            ),
            "source": design.source.model_copy(update={"label": texts.source_label or design.source.label}),
        }
    )
