"""System checks of dangerous settings. The checks for public servers run only with `check --deploy`."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.recorder import MigrationRecorder

from common.http.addresses import THIS_MACHINE
from config.features import all_features
from config.installation import exposure_warning, find_exposed_paths

LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]", "testserver"}
SANDBOX_HOST = "mturk-requester-sandbox.us-east-1.amazonaws.com"
LIVE_HOST = "mturk-requester.us-east-1.amazonaws.com"
FIRST_MIGRATION = "0001_version_0_5_0"  # the migration of each app that replaces all migrations of 0.5.0


@checks.register(checks.Tags.database)
def check_sqlite_transactions(**_: object) -> Iterator[checks.CheckMessage]:
    """Report an error if SQLite has other settings than those with which no transaction fails and none is lost."""
    if connection.vendor != "sqlite":
        return
    options = connection.settings_dict["OPTIONS"]
    if options.get("transaction_mode") != "IMMEDIATE" or options.get("timeout", 0) < 30:
        yield checks.Error(
            "SQLite transactions must be IMMEDIATE and wait 30 seconds or more for the write lock.",
            hint="Leave DATABASES to config/settings.py.",
            id="quorum.E001",
        )
    if "synchronous=FULL" not in options.get("init_command", ""):
        yield checks.Error(
            "SQLite must run with synchronous=FULL: an acknowledged judgment has to be on the disk.",
            id="quorum.E002",
        )


@checks.register(checks.Tags.database)
def check_database_is_of_0_5_0_or_newer(
    databases: Sequence[str] | None = None, **_: object
) -> Iterator[checks.CheckMessage]:
    """Report an error for a database that a release before 0.5.0 set up, by migrations that no longer exist."""
    if not databases:  # Celery runs all checks when it starts, and the database may not be available then
        return
    applied_migrations = set(MigrationRecorder(connection).applied_migrations())
    for app in ("judgments", "annotation", "evaluation"):
        replaced_migrations = set(import_module(f"{app}.migrations.{FIRST_MIGRATION}").Migration.replaces)
        # only some of them were applied: the database was set up by a release before 0.5.0, which had fewer
        if applied_migrations & replaced_migrations and replaced_migrations - applied_migrations:
            yield checks.Error(
                "This database is older than Quorum 0.5.0: upgrade it to 0.5.0 first, then to this version.",
                hint="docs/install.md, Updates.",
                id="quorum.E004",
            )
            return


@checks.register
def check_needs_of_features(**_: object) -> Iterator[checks.CheckMessage]:
    """Warn of chosen features that are off because features that they need are not chosen."""
    for name in settings.CONTRIB_APPS:
        if name not in settings.FEATURES:
            inactive_needs = [need for need in all_features()[name].needs if need not in settings.FEATURES]
            yield checks.Warning(
                f"CONTRIB_APPS names {name}, which is off: it needs {', '.join(inactive_needs)}.",
                hint=f"Add {', '.join(inactive_needs)} to CONTRIB_APPS, or leave {name} out.",
                id="quorum.W005",
            )


@checks.register(checks.Tags.security)
def check_uploads_are_private(**_: object) -> Iterator[checks.CheckMessage]:
    """Report an error if the server would publish uploads as static files."""
    media = settings.MEDIA_ROOT.resolve()
    static = settings.STATIC_ROOT.resolve()
    if media.is_relative_to(static) or static.is_relative_to(media):
        yield checks.Error(
            f"Uploads ({media}) lie within the public static files ({static}) or around them.",
            hint="Set DATA_DIR and STATIC_ROOT to folders apart from each other.",
            id="quorum.E003",
        )


# Runs in `check` and when the server starts (config/observing/logs.py), because commands do not ask for this tag.
@checks.register("privacy")
def check_data_is_private(**_: object) -> Iterator[checks.CheckMessage]:
    """Warn of data that other users of this machine can read."""
    exposed_paths = find_exposed_paths(settings.DATA_DIR, settings.SQLITE_FILE)
    if exposed_paths:
        yield checks.Warning(exposure_warning(exposed_paths), id="quorum.W003")


@checks.register(checks.Tags.security, deploy=True)
def check_public_server(**_: object) -> Iterator[checks.CheckMessage]:
    """Warn of settings that a server on the internet must not have."""
    if set(settings.ALLOWED_HOSTS) <= LOCAL_HOSTS or "*" in settings.ALLOWED_HOSTS:
        yield checks.Warning(
            "ALLOWED_HOSTS does not name the host under which people reach this server.",
            hint="Set ALLOWED_HOSTS, for example to quorum.example.org.",
            id="quorum.W001",
        )
    if not settings.HTTPS:
        yield checks.Warning(
            "HTTPS is off: passwords and judgments cross the network in the clear.",
            hint="Put a proxy that speaks https in front and set HTTPS=true.",
            id="quorum.W002",
        )
    if settings.REDIS_URL and not urlsplit(settings.REDIS_URL).password:  # from CELERY_BROKER_URL
        yield checks.Warning(
            "CELERY_BROKER_URL has no password: whoever reaches the Redis reads, delays and deletes messages.",
            hint="Set requirepass in redis.conf, and CELERY_BROKER_URL=redis://:password@host:6379/0.",
            id="quorum.W004",
        )


@checks.register(checks.Tags.security)
def check_mechanical_turk(**_: object) -> Iterator[checks.CheckMessage]:
    """Report settings that contradict each other about spending real money on Mechanical Turk."""
    host = urlsplit(settings.MTURK_ENDPOINT).hostname
    if settings.MTURK_LIVE and host == SANDBOX_HOST:
        yield checks.Error(
            "MTURK_LIVE is on, and AWS_ENDPOINT_URL_MTURK is the address of the sandbox.",
            hint="Leave AWS_ENDPOINT_URL_MTURK empty: each place has its own address.",
            id="quorum.E010",
        )
    if not settings.MTURK_LIVE and host == LIVE_HOST:
        yield checks.Error(
            "AWS_ENDPOINT_URL_MTURK is the address where real money is spent, and MTURK_LIVE is off.",
            hint="Leave AWS_ENDPOINT_URL_MTURK empty: each place has its own address.",
            id="quorum.E011",
        )
    if settings.MTURK_LIVE and settings.DEBUG:
        yield checks.Error(
            "MTURK_LIVE and DEBUG are both on: real money is never spent by a server under development.",
            hint="Set DEBUG=false, or MTURK_LIVE=false.",
            id="quorum.E012",
        )
    address = urlsplit(settings.PUBLIC_URL)
    if settings.MTURK_LIVE and (address.scheme != "https" or address.hostname in THIS_MACHINE):
        yield checks.Warning(
            f"MTURK_LIVE is on, and PUBLIC_URL is {settings.PUBLIC_URL!r}, which workers cannot reach.",
            hint="Set PUBLIC_URL to the https address of this server.",
            id="quorum.W010",
        )


@checks.register(checks.Tags.database)
def check_live_studies(databases: Sequence[str] | None = None, **_: object) -> Iterator[checks.CheckMessage]:
    """Warn of open studies on the live site while MTURK_LIVE is off, since their workers are not paid."""
    from judgments.models import Study  # models can be imported only after apps are loaded

    if settings.MTURK_LIVE or not databases:  # Django's commands pass databases only if asked for
        return
    try:
        slugs = list(
            Study.objects.filter(
                platform="mturk-live", publications__state__in=["planned", "published", "expired"]
            )
            .distinct()
            .order_by("slug")
            .values_list("slug", flat=True)
        )
    except (OperationalError, ProgrammingError):  # the tables do not exist before the first migration
        return
    for slug in slugs:
        yield checks.Warning(
            f"Study {slug!r} is up at the live Mechanical Turk, and MTURK_LIVE is off: its workers are neither "
            "approved nor paid by this server.",
            hint="Set MTURK_LIVE=true until the study is finished.",
            id="quorum.W011",
        )
