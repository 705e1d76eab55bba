"""Codes that people type."""

from __future__ import annotations

import secrets

# without letters that look alike
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
CAPITALS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def random_code(letters: str, length: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(length))
