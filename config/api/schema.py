"""The OpenAPI document, and the English pages /api/docs/ and /api/docs/<tag>/ that show it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, override
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.views import APIView

from common.errors import PROBLEM_TYPE
from common.markup import render_inline, render_markdown
from config.api.framework import TokenAuthentication
from judgments.access.permissions import NoWorker

SchemaPart = Mapping[str, Any]  # a part of the document, such as a call, a type, or the types by their name
REFERENCE_PREFIX = "#/components/schemas/"
REFERENCE_PATTERN = re.compile(r'"#/components/schemas/(\w+)"')
BOUND_LABELS = {
    "minimum": "from",
    "maximum": "to",
    "maxLength": "characters: up to",
    "maxItems": "entries: up to",
}
STATUS_TEXTS = {
    "304": "Nothing has changed since the response with this ETag.",
    "400": "The request is not valid; the problem document says why.",
    "401": "The request has no token, or one that is not valid.",
    "403": "The person, or the scopes of the token, do not allow this.",
    "404": "There is nothing at this address, or nothing that this person may see.",
    "409": "Not possible now; nothing was changed.",
    "413": "The body is too large.",
    "415": "The body has a media type that the call does not accept.",
    "429": "There were too many requests; try again after the time in Retry-After.",
}


class TokenScheme(OpenApiAuthenticationExtension):
    """Describes the tokens of ``TokenAuthentication`` in the document."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token <token>`: a participant's from joining, or a staff member's.",
        }


class ProblemErrors:
    """A mixin for views that render YAML or HTML. It returns errors as problem documents."""

    def handle_exception(self, exc: Exception) -> Any:
        response = super().handle_exception(exc)  # type: ignore[misc]  # a method of the view
        headers = {name: value for name, value in response.headers.items() if name != "Content-Type"}
        return JsonResponse(
            response.data, status=response.status_code, headers=headers, content_type=PROBLEM_TYPE
        )


class CachingGenerator(SchemaGenerator):
    """A generator that makes the document only once for each language and process, since this takes seconds."""

    _documents: ClassVar[dict[str, dict[str, Any]]] = {}

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        language = get_language()
        # Do not cache documents for versions or languages that exist only in a request.
        if not public or self.api_version is not None or language not in dict(settings.LANGUAGES):
            return super().get_schema(request, public)
        if language not in self._documents:
            self._documents[language] = super().get_schema(request, public)
        return self._documents[language]


class SchemaView(ProblemErrors, SpectacularAPIView):
    """The OpenAPI document as JSON or YAML, at /api/schema/."""

    generator_class = CachingGenerator
    content_negotiation_class = DefaultContentNegotiation  # other views always answer in JSON


def add_problem_responses(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Add the usual error responses to every call of the document, and return it. drf-spectacular calls this."""
    content = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            responses = operation["responses"]
            statuses = ["400", "401", "403", "429"]
            if method == "get":
                statuses.append("304")
            if "{" in path:
                statuses.append("404")
            if "requestBody" in operation:
                statuses += ["413", "415"]
            for status in statuses:
                responses.setdefault(status, {"description": STATUS_TEXTS[status]})
            responses["429"]["headers"] = {
                "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}
            }
            for status, response in responses.items():
                if status >= "400":
                    response["content"] = content
                    response["description"] = response.get("description") or STATUS_TEXTS.get(status, "")
            operation["responses"] = dict(sorted(responses.items()))
    return result


class DocsView(ProblemErrors, APIView):
    """The pages about the API: the overview, or the calls of a tag."""

    permission_classes = (NoWorker,)
    schema = None  # the document does not describe this view

    def get(self, request: HttpRequest, tag: str = "") -> HttpResponse:
        with override("en"):
            document = CachingGenerator().get_schema(public=True)
            types = document["components"]["schemas"]
            groups = _calls_by_tag(document)
            if not tag:
                overview = {"groups": sorted(groups.items()), "status_texts": STATUS_TEXTS}
                return render(request, "api_docs/index.html", overview)
            if tag not in groups:
                raise Http404
            context = {
                "tag": tag,
                "calls": [_describe_call(call, types) for call in groups[tag]],
                "objects": [
                    {
                        "name": name,
                        "description": render_markdown(types[name].get("description", "")),
                        "member_rows": list(_member_rows(types[name], types)),
                    }
                    for name in _names_of_objects(groups[tag], types)
                ],
            }
            return render(request, "api_docs/calls.html", context)


def _calls_by_tag(document: SchemaPart) -> dict[str, list[SchemaPart]]:
    """Return the calls of the document by their first tag, each with its path, method and summary."""
    groups: dict[str, list[SchemaPart]] = {}
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            summary_html = render_inline(call.get("summary") or call["description"])
            entry = {"path": path, "method": method, "summary_html": summary_html, **call}
            groups.setdefault(call["tags"][0], []).append(entry)
    return groups


def _describe_call(call: SchemaPart, types: SchemaPart) -> dict[str, Any]:
    """Return the context of a call for ``api_docs/calls.html``. ``types`` are the named types of the document.

    Errors with the usual description are listed by their status only ("usual_statuses").
    """
    bodies = call.get("requestBody", {}).get("content", {})
    responses = call["responses"].items()
    return {
        "id": call["operationId"],
        "method": call["method"],
        "path": call["path"],
        "description": render_markdown(call["description"]),
        "parameters": [
            _value_row(
                parameter["name"], parameter["schema"], types, is_required=parameter.get("required", False)
            )
            | {"description": _description_html(parameter), "location": parameter["in"]}
            for parameter in call.get("parameters", [])
        ],
        "bodies": [(kind, _type_html(body["schema"], types)) for kind, body in bodies.items()],
        "responses": [
            (status, render_inline(response.get("description", "")), _response_types(response, types))
            for status, response in responses
            if status < "400"
        ],
        "errors": [
            (status, render_inline(response.get("description", "")))
            for status, response in responses
            if status >= "400" and response.get("description") != STATUS_TEXTS.get(status)
        ],
        "usual_statuses": [
            status
            for status, response in responses
            if status >= "400" and response.get("description") == STATUS_TEXTS.get(status)
        ],
    }


def _response_types(response: SchemaPart, types: SchemaPart) -> list[tuple[str, SafeString]]:
    contents = response.get("content", {}).items()
    return [(kind, _type_html(content["schema"], types)) for kind, content in contents]


def _member_rows(schema: SchemaPart, types: SchemaPart) -> Iterator[dict[str, Any]]:
    """Yield the row of the table for each member of an object type."""
    for name, member in schema.get("properties", {}).items():
        yield _value_row(name, member, types, is_required=name in schema.get("required", ()))


def _value_row(name: str, schema: SchemaPart, types: SchemaPart, *, is_required: bool) -> dict[str, Any]:
    """Return the row of a table that describes a member or a parameter."""
    limits = [f"{limit_label} {schema[key]:,}" for key, limit_label in BOUND_LABELS.items() if key in schema]
    if "default" in schema:
        limits.append(f"default {json.dumps(schema['default'])}")
    return {
        "name": name,
        "type": _type_html(schema, types),
        "is_required": is_required,
        "limits": ", ".join(limits),
        "description": _description_html(schema),
    }


def _description_html(schema: SchemaPart) -> SafeString:
    """Return the description without the list of values that drf-spectacular appends, since the type shows these."""
    return render_inline(re.sub(r"(^|\n+)\* `[\s\S]*", "", schema.get("description", "")))


def _type_html(schema: SchemaPart, types: SchemaPart) -> SafeString:
    """Return a type as HTML: a link to the members of an object, the values of an enumeration, or a word."""
    name = schema.get("$ref", "").removeprefix(REFERENCE_PREFIX)
    if name and "enum" not in types[name]:
        return format_html('<a href="#{0}">{0}</a>', name)
    if name:
        return _type_html(types[name], types)
    if options := schema.get("allOf") or schema.get("oneOf"):
        text = format_html_join(" or ", "{}", ((_type_html(option, types),) for option in options))
    elif "enum" in schema:
        text = format_html_join(" | ", "<code>{}</code>", ((json.dumps(value),) for value in schema["enum"]))
    elif schema.get("type") == "array":
        text = format_html("list of {}", _type_html(schema["items"], types))
    else:
        text = format_html("{}", schema.get("format") or schema.get("type") or "any value")
    return format_html("{} or null", text) if schema.get("nullable") else text


def _names_of_objects(calls: Iterable[SchemaPart], types: SchemaPart) -> list[str]:
    """Return the names of the objects to which ``calls`` refer, directly or through other objects."""
    names: set[str] = set()
    unread_names = REFERENCE_PATTERN.findall(json.dumps(list(calls)))
    while unread_names:
        name = unread_names.pop()
        if name not in names:
            names.add(name)
            unread_names += REFERENCE_PATTERN.findall(json.dumps(types[name]))
    return sorted(name for name in names if "enum" not in types[name])
