"""Every address of the project, with the ids of one study's rows filled in; nothing here names a page."""

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern

from annotation.models import Assignment
from config.api.urls import router
from judgments.datasets.operations import OPERATIONS
from judgments.models import Caption, Study, System
from judgments.studies.study_page import STEPS

OURS = ("judgments", "annotation", "evaluation", *settings.FEATURES)


def addresses(study: Study) -> list[str]:
    """All of them: where a part of an address is a key, once with each row it can be the key of."""
    found: set[str] = set()
    for parts, pattern in walk(get_resolver(), ()):
        names = {name for part in parts for name in getattr(part, "converters", {})}
        names |= {name for part in parts for name in part.regex.groupindex if name != "format"}
        choices = {name: _values(name, parts, pattern, study) for name in sorted(names)}
        for values in product(*choices.values()):
            found.add("/" + _filled(parts, dict(zip(choices, values, strict=True))))
    return sorted(found)


def registered_resources() -> list[tuple[str, Any, str]]:
    """The API's resources, of the platform and of features: prefix, view, and start of the names of addresses."""
    calls = [import_module(feature.calls) for feature in settings.FEATURES.values() if feature.calls]
    routers = [router, *(module.router for module in calls if hasattr(module, "router"))]
    return [one for found in routers for one in found.registry]


def walk(resolver: URLResolver, before: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], URLPattern]]:
    for one in resolver.url_patterns:
        parts = (*before, one.pattern)
        if isinstance(one, URLResolver):
            yield from walk(one, parts)
        else:
            yield parts, one


def _filled(parts: tuple[Any, ...], values: dict[str, str]) -> str:
    text = ""
    for part in parts:
        shape = str(part)
        if isinstance(part, RegexPattern):  # routers and the admin write patterns so
            shape = re.sub(r"\(\?P<(\w+)>(?:\[[^]]*\]|[^()[])*\)", r"<\1>", shape)
            shape = re.sub(r"\\?\.<format>.*|\^|\$|\?$|\\Z", "", shape).replace("\\", "")
        text += shape
    for name, value in values.items():
        text = re.sub(rf"<(\w+:)?{name}>", value, text)
    return text


def _values(name: str, parts: tuple[Any, ...], pattern: URLPattern, study: Study) -> list[str]:
    """What can stand there."""
    address = "".join(str(part) for part in parts)
    if name == "name":
        steps = OPERATIONS if "judgments/dataset/" in address else STEPS
        return [*steps] if "/do/" in address else [study.dataset.name]
    known: dict[str, Any] = {
        "slug": study.slug,
        "assignment_id": Assignment.objects.filter(study=study)[0].pk,
        "item_id": study.dataset.items.all()[0].pk,
        "position": 1,
        "number": 1,
        "app_label": "judgments",
        "content_type_id": ContentType.objects.get_for_model(Study).pk,
    }
    if "/assignments/" in f"/{address}" and name == "id":
        return [str(known["assignment_id"])]
    if name in known:
        return [str(known[name])]
    row = _first_row(address, pattern)
    if row is not None:
        return [str(row)]
    return [study.slug if name == "key" else str(study.pk)]


def _first_row(address: str, pattern: URLPattern) -> Any:
    """The key of the first row of the model that an address, or a resource, is about."""
    meta = getattr(getattr(getattr(pattern.callback, "cls", None), "serializer_class", None), "Meta", None)
    for model in apps.get_models():
        named = f"{model._meta.app_label}/{model._meta.model_name}/" in address
        if named or model is getattr(meta, "model", None):
            return model._default_manager.order_by("pk").values_list("pk", flat=True).first()
    return None


def rows() -> dict[str, list[Any]]:
    """Everything that is stored, table by table."""
    return {
        model._meta.label: sorted(map(str, model._default_manager.values_list()))
        for model in apps.get_models()
        if model._meta.app_label in OURS
    }


def telling(study: Study) -> list[str]:
    """Words that are nowhere but in this study and its dataset."""
    texts = Caption.objects.filter(dataset=study.dataset).values_list("text", flat=True)[:5]
    systems = System.objects.filter(dataset=study.dataset).values_list("name", flat=True)
    return [study.slug, study.name, study.dataset.name, *systems, *texts]
