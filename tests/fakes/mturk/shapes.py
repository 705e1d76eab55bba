"""Requests and answers held against botocore's own model of a service.

Input is decoded, then checked by botocore's ParamValidator (types, required and unknown members) and against
the lengths, patterns and enumerations of the model, which botocore leaves to the service. Output is checked
the same way, so that the emulator never answers what the model does not know.
"""

import math
import re
from datetime import UTC, datetime
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

from tests.fakes.mturk.errors import ParameterValidationError


@cache
def service_model(name: str) -> ServiceModel:
    """The model of a service as botocore ships it."""
    return ServiceModel(botocore.session.get_session().get_service_data(name), name)


@cache
def operation_model(service: str, operation: str) -> OperationModel | None:
    """The model of one operation; None when the service has none of that name."""
    model = service_model(service)
    return model.operation_model(operation) if operation in model.operation_names else None


def decode(shape: StructureShape | None, body: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a call, checked; refused in the service's own words where they are known."""
    if shape is None:
        return {}
    given: dict[str, Any] = _decoded(shape, body)
    report = ParamValidator().validate(given, shape)
    if report.has_errors():
        raise ParameterValidationError(" ".join(report.generate_report().split()))
    _check(shape, given, "")
    return given


def encode(shape: StructureShape | None, answer: dict[str, Any]) -> dict[str, Any]:
    """The body of an answer; members that are None are left out."""
    if shape is None:
        return {}
    cleaned: dict[str, Any] = _without_nothing(answer)
    report = ParamValidator().validate(cleaned, shape)
    if report.has_errors():
        raise AssertionError(f"{shape.name}: {report.generate_report()}")
    try:
        _check(shape, cleaned, "")
    except ParameterValidationError as error:
        raise AssertionError(f"{shape.name}: {error}") from error
    encoded: dict[str, Any] = _encoded(shape, cleaned)
    return encoded


def _decoded(shape: Shape, value: Any) -> Any:
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        return {
            name: _decoded(shape.members[name], inner) if name in shape.members else inner
            for name, inner in value.items()
            if inner is not None
        }
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [_decoded(shape.member, inner) for inner in value]
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {name: _decoded(shape.value, inner) for name, inner in value.items()}
    if shape.type_name == "timestamp" and isinstance(value, int | float):
        try:
            return datetime.fromtimestamp(value, UTC)
        except (OverflowError, ValueError, OSError) as error:
            raise ParameterValidationError(f"{value} is no time.") from error
    return value


def _check(shape: Shape, value: Any, path: str) -> None:
    """Lengths, patterns and enumerations, which botocore's own validator leaves to the service."""
    if isinstance(shape, StructureShape):
        for name, inner in value.items():
            _check(shape.members[name], inner, f"{path}.{name}" if path else name)
    elif isinstance(shape, ListShape):
        for inner in value:
            _check(shape.member, inner, path)
    elif isinstance(value, str):
        _check_text(shape, value, path)
    elif shape.type_name in {"integer", "long"}:
        most = shape.metadata.get("max", math.inf)
        if value > most:
            raise ParameterValidationError(f"Value {value} at {path} is more than {most}.")


def _check_text(shape: Shape, value: str, path: str) -> None:
    longest = shape.metadata.get("max")
    if longest is not None and len(value) > longest:
        raise ParameterValidationError(f"Value at {path} is longer than {longest} characters.")
    pattern = shape.metadata.get("pattern")
    if pattern and not re.search(pattern, value):
        raise ParameterValidationError(f'Value "{value}" at {path} does not match {pattern}.')
    known = shape.metadata.get("enum")
    if known and value not in known:
        raise ParameterValidationError(f'Value "{value}" at {path} is none of {", ".join(known)}.')


def _without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nothing(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nothing(inner) for inner in value]
    return value


def _encoded(shape: Shape, value: Any) -> Any:
    if isinstance(shape, StructureShape):
        return {name: _encoded(shape.members[name], inner) for name, inner in value.items()}
    if isinstance(shape, ListShape):
        return [_encoded(shape.member, inner) for inner in value]
    if isinstance(value, datetime):
        return int(value.timestamp())  # the service counts whole seconds (?)
    return value
