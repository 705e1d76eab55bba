"""Results carry a signature of their call: the statistic, its input where there are several, and every option.

`krippendorff-alpha|input:table|level:ordinal|confidence:0.95|resamples:2000|seed:0|v:1.0`
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from evaluation.signatures import GIVEN, Signature, Value
from evaluation.statistics.clustering import NAIVE

VERSION = "1.0"

Options = ParamSpec("Options")
Result = TypeVar("Result")


class Statistic(NamedTuple):
    """A signed function's name, and the fields that distinguish functions of one name."""

    name: str
    fixed: Mapping[str, str]


def statistic_of(thing: object) -> Statistic | None:
    found = getattr(thing, "statistic", None)
    return found if isinstance(found, Statistic) else None


def signed(
    name: str, *, data: tuple[str, ...] = (), **fixed: str
) -> Callable[[Callable[Options, Result]], Callable[Options, Result]]:
    """Add a signature to a function's result: a dataclass with a field `signature`, or a mapping of such.

    Parameters with a default are part of the signature, except those named in `data`. `fixed` fields distinguish
    functions of one name (`input="rows"`).
    """

    def decorate(function: Callable[Options, Result]) -> Callable[Options, Result]:
        parameters = inspect.signature(function)
        options = [
            key
            for key, parameter in parameters.parameters.items()
            if parameter.default is not parameter.empty and key not in data
        ]

        @functools.wraps(function)
        def wrapper(*args: Options.args, **kwargs: Options.kwargs) -> Result:
            result = function(*args, **kwargs)
            bound = parameters.bind(*args, **kwargs)
            bound.apply_defaults()
            values = {key: _value(bound.arguments[key]) for key in options}
            if values.get("clusters") == NAIVE:  # as before there were others
                del values["clusters"]
            return _with_signature(result, str(Signature(name, {**fixed, **values}, VERSION)))

        vars(wrapper)["statistic"] = Statistic(name, fixed)
        return wrapper

    return decorate


def _with_signature(result: Any, signature: str) -> Any:
    if isinstance(result, Mapping):
        return {key: replace(one, signature=signature) for key, one in result.items()}
    return replace(result, signature=signature)


def _value(value: Any) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_value(item) for item in value)
    if isinstance(value, Mapping):
        return "-".join([GIVEN, *map(str, value)])
    return GIVEN
