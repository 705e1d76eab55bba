"""The design of a study: one frozen, validated value, read from and written to TOML (docs/study-files.md).

The model below and its tables (``design_tables``) are the study file key for key. A preset's values are defaults under
the file's own; what is stored on the study is always the complete design, so a preset that changes later changes no
existing study.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from judgments.design.panels import Panel
from judgments.design.parts import Listed, Part, Slug
from judgments.design.plans import Plan
from judgments.design.quizzes import Quiz
from judgments.design.requirements import Workers
from judgments.design.tables import (
    Access,
    Controls,
    Crowd,
    Example,
    Filter,
    Keywords,
    RuleSetting,
    Sampling,
    Source,
    Stopping,
    Template,
    checked_judged,
)
from judgments.design.wordings import CAPTION


class StudyDesign(Part):
    """Everything that decides which HITs a study gets and how their answers are used."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    slug: Slug
    dataset: Slug
    protocol: str
    preset: str = ""
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    judgments_per_unit: Annotated[int, Field(ge=1, le=1000)] = 3
    units_per_hit: Annotated[int, Field(ge=1, le=200)] = 20
    images_per_hit: Annotated[int, Field(ge=1, le=50)] = 6
    captions_per_image: Annotated[int, Field(ge=1, le=50)] = 10
    seconds_per_unit: Annotated[float, Field(gt=0, le=3600)] = 6.0
    question: Annotated[str, Field(max_length=500)] = ""
    instructions: Annotated[str, Field(max_length=20_000)] = ""
    consent: Annotated[str, Field(max_length=20_000)] = ""
    contact: Annotated[str, Field(max_length=300)] = ""
    language: Annotated[str, Field(max_length=20, pattern=r"^[A-Za-z0-9-]*$")] = Field(
        "", description="Of the captions, as a BCP 47 tag; screen readers and fonts go by it."
    )
    judged: Annotated[
        Literal["caption", "summary", "translation", "text"], BeforeValidator(checked_judged)
    ] = Field(CAPTION, description="What the texts are; the page's own words go by it.")
    labels: Listed[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        (),
        description="graded: four texts, from 4 down to 1; slider: two, for 0 and 100; empty: built-in ones.",
    )
    examples: Listed[Example] = ()
    source: Source = Source()
    sampling: Sampling = Sampling()
    controls: Controls = Controls()
    filter: Filter = Filter()
    access: Access = Access()
    quiz: Quiz = Quiz()
    workers: Workers = Workers()
    rules: Listed[RuleSetting] = ()
    stopping: Stopping = Stopping()
    keywords: Keywords = Keywords()
    template: Template = Template()
    crowd: Crowd = Crowd()
    panel: Panel = Panel()
    registration: Plan | None = None

    @property
    def about_pictures(self) -> bool:
        """Whether nobody could judge without the picture: captions, with nothing but the picture beside them."""
        return self.judged == CAPTION and not self.source.show

    @model_serializer(mode="wrap")
    def _without_a_plan_that_is_not_there(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """TOML has no word for nothing, and a design without a plan is written as it always was."""
        values: dict[str, Any] = handler(self)
        if values.get("registration", ...) is None:
            del values["registration"]
        return values
