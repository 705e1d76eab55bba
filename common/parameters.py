"""Parameters of operations. A serializer declares them once for the API, forms and commands.

A JSON body is checked strictly: neither ``"2"`` nor ``true`` is a number. Forms and command lines have texts, which the
same fields parse. The API, forms and commands report a mistake with the same sentence (``sentence_of``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from django.utils.translation import gettext, gettext_lazy
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.utils.html import is_html_input

from common.rows.ids import MAX_BIGINT

MAX_REASON_LENGTH = 500  # characters
MAX_FILE_LENGTH = 20_000_000  # characters of a file that is given as text

# JSON types by class of field. They are checked, since the REST framework accepts "2" for 2, and 1 for true.
JSON_TYPES: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], type | tuple[type, ...]], ...] = (
    (serializers.BooleanField, bool),
    (serializers.IntegerField, int),
    (serializers.FloatField, (int, float)),
    (serializers.CharField, str),
    (serializers.ChoiceField, str),
    (serializers.UUIDField, str),
)


class PlainNumberField(serializers.FloatField):
    """A number that is an int if it is whole, such as 3 instead of 3.0."""

    def to_internal_value(self, data: Any) -> Any:
        number = super().to_internal_value(data)
        return int(number) if number.is_integer() else number

    def to_representation(self, value: Any) -> Any:
        return value


class Parameters(serializers.Serializer[Any]):
    """Parameters of an operation: fields with bounds, ``label``, ``help_text`` and ``initial``.

    Attributes:
        one_of: groups of optional parameters. Exactly one parameter of each group is required.
        exclusive_pairs: pairs of optional parameters that cannot be given together.
    """

    one_of: ClassVar[tuple[tuple[str, ...], ...]] = ()
    exclusive_pairs: ClassVar[tuple[tuple[str, str], ...]] = ()
    default_error_messages = {"invalid": "The body must be a JSON object."}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and not is_html_input(data):
            optional_names = {name for name, field in self.fields.items() if not field.required}
            # treat null as a missing optional parameter
            data = {
                name: value for name, value in data.items() if value is not None or name not in optional_names
            }
            problems: dict[str, list[str]] = {}
            for name, field in self.fields.items():
                problem = _type_problem(field, data[name]) if name in data else ""
                if problem:
                    problems[name] = [problem]
            if problems:
                raise serializers.ValidationError(problems)
        return super().to_internal_value(data)

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for field in fields.values():
            value_field = getattr(field, "child", field)
            if isinstance(value_field, serializers.ChoiceField):
                # the REST framework formats the message with ``input``, so braces of choices are doubled
                choices = ", ".join(map(str, value_field.choices)).replace("{", "{{").replace("}", "}}")
                message = gettext("{input!r} is unknown; expected one of %(known)s.") % {"known": choices}
                value_field.error_messages["invalid_choice"] = message
            elif isinstance(value_field, serializers.BooleanField):
                value_field.error_messages["invalid"] = gettext("Expected true or false.")
        return fields

    @classmethod
    def read(cls, data: Any, *, needed: Collection[str] = ()) -> dict[str, Any]:
        """Return the checked parameters in a parsed JSON body, or in a QueryDict of texts.

        Args:
            needed: names of optional parameters that are required in this call.

        Raises:
            rest_framework.exceptions.ValidationError: a parameter is missing or wrong.
        """
        serializer = cls(data={} if data is None else data)  # the body null has no parameters
        for name in needed:
            serializer.fields[name].required = True
        serializer.is_valid(raise_exception=True)
        values: dict[str, Any] = serializer.validated_data
        return values

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for group in self.one_of:
            given_names = [name for name in group if name in attrs]
            if len(given_names) != 1:
                if given_names:
                    message = gettext("Expected exactly one of %(names)s and %(last)s; %(given)s were given.")
                else:
                    message = gettext("Expected exactly one of %(names)s and %(last)s; none was given.")
                names = {
                    "names": ", ".join(group[:-1]),
                    "last": group[-1],
                    "given": gettext(" and ").join(given_names),
                }
                name_with_problem = given_names[0] if given_names else group[0]
                raise serializers.ValidationError({name_with_problem: [message % names]})
        for first, second in self.exclusive_pairs:
            if first in attrs and second in attrs:
                message = gettext("%(first)s and %(second)s cannot be given together; leave one of them out.")
                raise serializers.ValidationError({first: [message % {"first": first, "second": second}]})
        return attrs


def _type_problem(field: Any, value: Any) -> str:
    """Return the field's message if a JSON value has the wrong type; "" otherwise."""
    if value is None:
        return ""  # the field checks null itself
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        problems = (_type_problem(field.child, member) for member in value)
        return next(filter(None, problems), "")
    if isinstance(field, serializers.DictField) and isinstance(value, Mapping):
        for name, member in value.items():
            if problem := _type_problem(field.child, member):
                return f"{name[:80]}: {problem}"
        return ""
    for field_class, expected_type in JSON_TYPES:
        if isinstance(field, field_class):
            # in Python, True and False are integers, too
            if isinstance(value, expected_type) and (expected_type is bool or not isinstance(value, bool)):
                return ""
            key = "invalid_choice" if isinstance(field, serializers.ChoiceField) else "invalid"
            return str(field.error_messages[key]).format(input=value)
    return ""


class KeysField(serializers.ListField):
    """Keys of rows. In text, commas, spaces or line breaks separate them."""

    child: serializers.Field[Any, Any, Any, Any] = serializers.CharField()

    def get_value(self, dictionary: Any) -> Any:
        if not is_html_input(dictionary):
            return super().get_value(dictionary)
        text = " ".join(dictionary.getlist(self.field_name))
        return text.replace(",", " ").split() or empty  # ``empty``: the parameter is not given


class FileText(serializers.CharField):
    """The unchanged text of a file."""

    def __init__(self, **kwargs: Any) -> None:
        style = {"base_template": "textarea.html"}
        super().__init__(trim_whitespace=False, max_length=MAX_FILE_LENGTH, style=style, **kwargs)


class RowId(serializers.IntegerField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=1, max_value=MAX_BIGINT, **kwargs)


class Reason(Parameters):
    """The reason, for the study's log."""

    why = serializers.CharField(
        max_length=MAX_REASON_LENGTH,
        label="Reason",
        help_text="The reason is shown in the study's log.",
        error_messages=dict.fromkeys(
            ("required", "null", "blank"),
            gettext_lazy("Enter a reason. It will be shown in the study's log."),
        ),
    )
