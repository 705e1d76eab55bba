"""The pages /api/docs/ and /api/docs/<tag>/: the calls of the OpenAPI schema, in English as all documentation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import override
from rest_framework.views import APIView

from common.markup import render_inline, render_markdown
from config.api.schema import DESCRIPTIONS, KeepingGenerator, ProblemsAsElsewhere
from judgments.access.roles import NoWorker

Json = Mapping[str, Any]
REFERENCE = "#/components/schemas/"
REFERENCES = re.compile(r'"#/components/schemas/(\w+)"')
LIMITS = {"minimum": "from", "maximum": "to", "maxLength": "characters: up to", "maxItems": "entries: up to"}


class DocsView(ProblemsAsElsewhere, APIView):
    permission_classes = (NoWorker,)
    schema = None

    def get(self, request: HttpRequest, tag: str = "") -> HttpResponse:
        with override("en"):
            document = KeepingGenerator().get_schema(public=True)
            objects = document["components"]["schemas"]
            groups: dict[str, list[Json]] = {}
            for path, calls in document["paths"].items():
                for method, call in calls.items():
                    about = render_inline(call.get("summary") or call["description"])
                    entry = {"path": path, "method": method, "about": about, **call}
                    groups.setdefault(call["tags"][0], []).append(entry)
            if not tag:
                every = {"groups": sorted(groups.items()), "errors": DESCRIPTIONS}
                return render(request, "api_docs/index.html", every)
            if tag not in groups:
                raise Http404
            context = {
                "tag": tag,
                "calls": [_call(call, objects) for call in groups[tag]],
                "objects": [
                    {
                        "name": name,
                        "description": render_markdown(objects[name].get("description", "")),
                        "members": list(_members(objects[name], objects)),
                    }
                    for name in _named_in(groups[tag], objects)
                ],
            }
            return render(request, "api_docs/calls.html", context)


def _call(call: Json, objects: Json) -> dict[str, Any]:
    bodies = call.get("requestBody", {}).get("content", {})
    replies = call["responses"].items()
    return {
        "id": call["operationId"],
        "method": call["method"],
        "path": call["path"],
        "description": render_markdown(call["description"]),
        "parameters": [
            _value(one["name"], one["schema"], objects, needed=one.get("required", False))
            | {"description": _described(one), "place": one["in"]}
            for one in call.get("parameters", [])
        ],
        "bodies": [(kind, _type(body["schema"], objects)) for kind, body in bodies.items()],
        "replies": [
            (status, render_inline(reply.get("description", "")), _contents(reply, objects))
            for status, reply in replies
            if status < "400"
        ],
        "errors": [
            (status, render_inline(reply.get("description", "")))
            for status, reply in replies
            if status >= "400" and reply.get("description") != DESCRIPTIONS.get(status)
        ],
        "usual": [
            status
            for status, reply in replies
            if status >= "400" and reply.get("description") == DESCRIPTIONS.get(status)
        ],
    }


def _contents(reply: Json, objects: Json) -> list[tuple[str, SafeString]]:
    return [(kind, _type(one["schema"], objects)) for kind, one in reply.get("content", {}).items()]


def _members(schema: Json, objects: Json) -> Iterator[dict[str, Any]]:
    for name, member in schema.get("properties", {}).items():
        yield _value(name, member, objects, needed=name in schema.get("required", ()))


def _value(name: str, schema: Json, objects: Json, *, needed: bool) -> dict[str, Any]:
    limits = [f"{words} {schema[key]:,}" for key, words in LIMITS.items() if key in schema]
    if "default" in schema:
        limits.append(f"default {json.dumps(schema['default'])}")
    return {
        "name": name,
        "type": _type(schema, objects),
        "needed": needed,
        "limits": ", ".join(limits),
        "description": _described(schema),
    }


def _described(schema: Json) -> SafeString:
    """Return the description without the generated list of an enumeration's values, which the type names."""
    return render_inline(re.sub(r"(^|\n+)\* `[\s\S]*", "", schema.get("description", "")))


def _type(schema: Json, objects: Json) -> SafeString:
    """Return a type in words: an object leads to its members, an enumeration names its values."""
    name = schema.get("$ref", "").removeprefix(REFERENCE)
    if name and "enum" not in objects[name]:
        return format_html('<a href="#{0}">{0}</a>', name)
    if name:
        return _type(objects[name], objects)
    if found := schema.get("allOf") or schema.get("oneOf"):
        words = format_html_join(" or ", "{}", ((_type(one, objects),) for one in found))
    elif "enum" in schema:
        words = format_html_join(" | ", "<code>{}</code>", ((json.dumps(one),) for one in schema["enum"]))
    elif schema.get("type") == "array":
        words = format_html("list of {}", _type(schema["items"], objects))
    else:
        words = format_html("{}", schema.get("format") or schema.get("type") or "any value")
    return format_html("{} or null", words) if schema.get("nullable") else words


def _named_in(calls: Iterable[Json], objects: Json) -> list[str]:
    """Return the objects that ``calls`` name, and those that these name."""
    found: set[str] = set()
    waiting = REFERENCES.findall(json.dumps(list(calls)))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += REFERENCES.findall(json.dumps(objects[name]))
    return sorted(name for name in found if "enum" not in objects[name])
