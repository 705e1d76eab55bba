"""Extensions of the OpenAPI schema."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.http import JsonResponse
from django.utils.translation import get_language
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView
from rest_framework.negotiation import DefaultContentNegotiation

from common.errors import PROBLEM_TYPE
from config.api.framework import TokenAuthentication

DESCRIPTIONS = {
    "304": "Nothing changed since the answer with this ETag.",
    "400": "Not of the documented shape, or of no use here; the problem names what.",
    "401": "Without a token, or with one that is not known.",
    "403": "Not for this person, or not within the token's scopes.",
    "404": "Nothing there, or nothing for this person.",
    "409": "Not possible now; nothing was changed.",
    "413": "The body is too large.",
    "415": "The body is of another media type.",
    "429": "Tried too often from this address; Retry-After says when it is worth trying again.",
}


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token <token>`: a worker's from joining, or a staff member's.",
        }


class ProblemsAsElsewhere:
    """Return errors of views that render YAML or HTML as problem documents."""

    def handle_exception(self, exc: Exception) -> Any:
        response = super().handle_exception(exc)  # type: ignore[misc]  # of the view this is mixed into
        headers = {name: value for name, value in response.headers.items() if name != "Content-Type"}
        return JsonResponse(
            response.data, status=response.status_code, headers=headers, content_type=PROBLEM_TYPE
        )


class KeepingGenerator(SchemaGenerator):
    """Generate the document once for each language in a process, as that takes seconds."""

    _kept: ClassVar[dict[str, dict[str, Any]]] = {}

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        language = get_language()
        # Version and language may be anything that an address says.
        if not public or self.api_version is not None or language not in dict(settings.LANGUAGES):
            return super().get_schema(request, public)
        if language not in self._kept:
            self._kept[language] = super().get_schema(request, public)
        return self._kept[language]


class SchemaView(ProblemsAsElsewhere, SpectacularAPIView):
    """/api/schema/"""

    generator_class = KeepingGenerator
    content_negotiation_class = DefaultContentNegotiation


def problems_everywhere(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Add the general errors to every operation."""
    content = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            responses = operation["responses"]
            expected = ["400", "401", "403", "429"]
            if method == "get":
                expected.append("304")
            if "{" in path:
                expected.append("404")
            if "requestBody" in operation:
                expected += ["413", "415"]
            for status in expected:
                responses.setdefault(status, {"description": DESCRIPTIONS[status]})
            responses["429"]["headers"] = {
                "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}
            }
            for status, response in responses.items():
                if status >= "400":
                    response["content"] = content
                    response["description"] = response.get("description") or DESCRIPTIONS.get(status, "")
            operation["responses"] = dict(sorted(responses.items()))
    return result
