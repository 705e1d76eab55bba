"""How the schema describes what the framework cannot see by itself."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from config.api import TokenAuthentication


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
