"""The base class and the field types of the tables of a study file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeVar

from django.utils.translation import gettext
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

Slug = Annotated[str, Field(pattern=r"^[-a-zA-Z0-9_]+$", min_length=1, max_length=80)]

Count = Annotated[int, Field(ge=0, le=10_000_000)]

T = TypeVar("T")

Listed = Annotated[tuple[T, ...], Field(strict=False)]  # files have lists instead of tuples

AllOrCount = Literal["all"] | Annotated[int, Field(ge=1, le=10_000_000)]
Paragraph = Annotated[str, Field(max_length=2000)]


class DesignTable(BaseModel):
    """Base class of the tables of a study file.

    Attributes:
        omitted: fields that are left out of the serialized table if they have their default. Thus a design from before
            these fields existed is still serialized in the same way, and None, which TOML cannot write, does not occur.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, str_strip_whitespace=True)
    omitted: ClassVar[frozenset[str]] = frozenset()

    @field_validator("*")
    @classmethod
    def _check_storable(cls, value: Any) -> Any:
        if isinstance(value, str) and "\x00" in value:
            raise ValueError(gettext("a text contains the character U+0000, which cannot be stored"))
        return value

    @model_serializer(mode="wrap")
    def _leave_defaults_out(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        for name in self.omitted:
            field = type(self).model_fields[name]
            if getattr(self, name) == field.get_default(call_default_factory=True):
                values.pop(name, None)
        return values
