"""What some tests need from outside: is it there, and if not, why not."""

import os
import shutil
from functools import cache
from pathlib import Path

import psycopg
import pytest
import redis
from playwright.sync_api import sync_playwright

from quorum.metrics.meteor.tables import available_tables
from scripts.checks import chromium_on_path

REQUIRED = os.environ.get("QUORUM_REQUIRE_SERVICES") == "1"
# The marker of the tests that need it -> what people call it. `make test-services` runs tests of the first ones,
# `make test` all others.
SERVICES = {
    "postgresql": "PostgreSQL",
    "redis": "Redis",
    "rabbitmq": "RabbitMQ",
    "proxy": "nginx",
    "shell": "a shell with curl and jq",
    "shared": "shared data",
}
TITLES = SERVICES | {"browser": "a browser", "meteor": "METEOR's tables"}
FIXTURES = {"postgres_url": "postgresql", "redis_url": "redis", "meteor_tables": "meteor"}  # else named alike


RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


class Current:
    """The test that runs."""

    item: pytest.Item | None = None


@cache
def missing(service: str) -> str | None:
    """Why `service` cannot be used and what to do, in a few words; None when it can."""
    return {
        "postgresql": _missing_postgres,
        "redis": _missing_redis,
        "rabbitmq": _missing_rabbitmq,
        "browser": _missing_browser,
        "shared": _missing_shared,
        "meteor": _missing_meteor,
        "shell": _missing_shell,
        "proxy": _missing_proxy,
    }[service]()


def demand(service: str) -> None:
    """Fail the test that runs if `service` is missing, or if its marker is."""
    require_marker(service)
    why = missing(service)
    if why:
        pytest.fail(f"{TITLES[service]} is not here: {why}", pytrace=False)


def require_marker(service: str) -> None:
    """Fail the test that runs if it is not marked: it would pass by accident, where `service` happens to be."""
    if Current.item is not None and service not in needs(Current.item):
        pytest.fail(
            f"The test uses {TITLES[service]}; expected the marker @pytest.mark.{service}, as other machines lack it.",
            pytrace=False,
        )


def mark(item: pytest.Item) -> None:
    """Mark a collected test with the services of which it names a fixture, or PostgreSQL as its database."""
    for fixture in getattr(item, "fixturenames", ()):
        service = FIXTURES.get(fixture, fixture)
        if service in TITLES:
            item.add_marker(service)
    callspec = getattr(item, "callspec", None)
    if callspec and callspec.params.get("database") == "postgresql":
        item.add_marker("postgresql")


def needs(item: pytest.Item) -> set[str]:
    """The services that a collected test is marked with."""
    return {marker.name for marker in item.iter_markers()} & set(TITLES)


@cache
def chromium_path() -> str | None:
    """The Chromium that CHROMIUM names, else one on the PATH, else the one Playwright installed, else None."""
    path = chromium_on_path()
    if path is not None:
        return path or None
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if own and Path(own).exists() else None


def _missing_browser() -> str | None:
    return None if chromium_path() else "install Chromium (Debian: apt-get install chromium-headless-shell)"


def _missing_postgres() -> str | None:
    url = os.environ.get("TEST_DATABASE_URL", "")
    if not url:
        return "TEST_DATABASE_URL names no server; `make test-services` starts one (Debian: apt-get install postgresql)"
    try:
        with psycopg.connect(url, connect_timeout=3):
            return None
    except psycopg.OperationalError:
        return "no server answers at TEST_DATABASE_URL"


def _missing_redis() -> str | None:
    url = os.environ.get("TEST_REDIS_URL", "")
    if not url:
        return "TEST_REDIS_URL names no server; `make test-services` starts one (Debian: apt-get install redis-server)"
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=3) as server:
            server.ping()
    except redis.RedisError:
        return "no server answers at TEST_REDIS_URL"
    return None


def _missing_rabbitmq() -> str | None:
    return None if RABBITMQ.exists() else "install it (Debian: apt-get install rabbitmq-server)"


def _missing_shared() -> str | None:
    folder = os.environ.get("QUORUM_SHARED", "")
    if not folder:
        return "QUORUM_SHARED names no folder with it"
    return None if Path(folder).is_dir() else f"QUORUM_SHARED names {folder}, which is no folder"


def _missing_meteor() -> str | None:
    return None if available_tables().paraphrases else "install requirements-meteor.txt"


@cache
def nginx_path() -> str | None:
    """Where Debian has it, which is on the PATH of root alone."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def _missing_proxy() -> str | None:
    return (
        None
        if nginx_path() and shutil.which("openssl")
        else "install it, and openssl (Debian: apt-get install nginx-light openssl)"
    )


def _missing_shell() -> str | None:
    lacking = [program for program in ("bash", "curl", "jq") if not shutil.which(program)]
    return f"install {', '.join(lacking)}" if lacking else None
