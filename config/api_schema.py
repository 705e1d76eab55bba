"""How the schema describes what the framework cannot see by itself."""

from __future__ import annotations

from typing import Any

from csp.constants import UNSAFE_INLINE
from csp.decorators import csp_update
from django.http import JsonResponse
from django.utils.decorators import method_decorator
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.negotiation import DefaultContentNegotiation

from config.api import PROBLEM_TYPE, TokenAuthentication


class TokenScheme(OpenApiAuthenticationExtension):
    """How the schema describes the header."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """An API key in a header."""
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token <token>`: a worker's from joining, or a staff member's.",
        }


class ProblemsAsElsewhere:
    """These two views render YAML and HTML; their errors are problem documents all the same."""

    def handle_exception(self, exc: Exception) -> Any:
        """The document of the exception handler."""
        response = super().handle_exception(exc)  # type: ignore[misc]  # of the view this is mixed into
        headers = {name: value for name, value in response.headers.items() if name != "Content-Type"}
        return JsonResponse(
            response.data, status=response.status_code, headers=headers, content_type=PROBLEM_TYPE
        )


class SchemaView(ProblemsAsElsewhere, SpectacularAPIView):
    """/api/schema/"""

    content_negotiation_class = DefaultContentNegotiation


@method_decorator(csp_update({"style-src": [UNSAFE_INLINE]}), name="dispatch")
class DocsView(ProblemsAsElsewhere, SpectacularSwaggerSplitView):
    """/api/docs/: Swagger UI from our own static files. Its script is a file; it writes style elements."""

    url_name = "api:schema"


def problems_everywhere(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """A last step over the schema: errors have their own media type, and any call may answer with one."""
    content = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path in result["paths"].values():
        for operation in path.values():
            responses = operation["responses"]
            for status, response in responses.items():
                if status >= "400":
                    response["content"] = content
            responses["default"] = {"description": "A problem document (RFC 9457).", "content": content}
    return result
