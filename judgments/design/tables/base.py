"""The base class and the field types of the tables of a study file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from django.utils.translation import gettext
from pydantic import BaseModel, ConfigDict, Field, field_validator

Slug = Annotated[str, Field(pattern=r"^[-a-zA-Z0-9_]+$", min_length=1, max_length=80)]

Count = Annotated[int, Field(ge=0, le=10_000_000)]

T = TypeVar("T")

Listed = Annotated[tuple[T, ...], Field(strict=False)]  # files have lists instead of tuples

AllOrCount = Literal["all"] | Annotated[int, Field(ge=1, le=10_000_000)]
Paragraph = Annotated[str, Field(max_length=2000)]


class Part(BaseModel):
    """Base class of the tables of a study file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, str_strip_whitespace=True)

    @field_validator("*")
    @classmethod
    def _check_storable(cls, value: Any) -> Any:
        if isinstance(value, str) and "\x00" in value:
            raise ValueError(gettext("a text contains the character U+0000, which cannot be stored"))
        return value
