"""Dangerous settings, caught by `manage.py check` (with --deploy: what a public server needs as well)."""

from collections.abc import Sequence

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.db import connection

LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]", "testserver"}


def check_sqlite_keeps_its_word(
    app_configs: Sequence[AppConfig] | None, **_: object
) -> list[checks.CheckMessage]:
    """SQLite must wait for the write lock and write through to the disk."""
    if connection.vendor != "sqlite":
        return []
    options = connection.settings_dict["OPTIONS"]
    found: list[checks.CheckMessage] = []
    if options.get("transaction_mode") != "IMMEDIATE" or options.get("timeout", 0) < 30:
        found.append(
            checks.Error(
                "SQLite transactions must be IMMEDIATE and wait 30 seconds or more for the write lock.",
                hint="Leave DATABASES to config/settings.py.",
                id="quorum.E001",
            )
        )
    if "synchronous=FULL" not in options.get("init_command", ""):
        found.append(
            checks.Error(
                "SQLite must run with synchronous=FULL: an acknowledged judgment has to be on the disk.",
                id="quorum.E002",
            )
        )
    return found


def check_uploads_are_private(
    app_configs: Sequence[AppConfig] | None, **_: object
) -> list[checks.CheckMessage]:
    """Uploaded pictures leave through a view only."""
    media, static = settings.MEDIA_ROOT.resolve(), settings.STATIC_ROOT.resolve()
    if media.is_relative_to(static) or static.is_relative_to(media):
        return [
            checks.Error(
                f"Uploads ({media}) lie within the public static files ({static}) or around them.",
                hint="Set DATA_DIR and STATIC_ROOT to folders apart from each other.",
                id="quorum.E003",
            )
        ]
    return []


def check_public_server(app_configs: Sequence[AppConfig] | None, **_: object) -> list[checks.CheckMessage]:
    """What `--deploy` asks of an installation that strangers reach."""
    found: list[checks.CheckMessage] = []
    if set(settings.ALLOWED_HOSTS) <= LOCAL_HOSTS or "*" in settings.ALLOWED_HOSTS:
        found.append(
            checks.Warning(
                "ALLOWED_HOSTS does not name the host under which people reach this server.",
                hint="Set ALLOWED_HOSTS, for example to quorum.example.org.",
                id="quorum.W001",
            )
        )
    if not settings.HTTPS:
        found.append(
            checks.Warning(
                "HTTPS is off: passwords and judgments cross the network in the clear.",
                hint="Put a proxy that speaks https in front and set HTTPS=true.",
                id="quorum.W002",
            )
        )
    return found


def register_all() -> None:
    """Called once when Django starts."""
    checks.register(check_sqlite_keeps_its_word, checks.Tags.database)
    checks.register(check_uploads_are_private, checks.Tags.security)
    checks.register(check_public_server, checks.Tags.security, deploy=True)
