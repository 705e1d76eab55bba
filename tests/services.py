"""What some tests need from outside: is it there, and if not, why not."""

import os
import shutil
from functools import cache
from pathlib import Path

import psycopg
import pytest
import redis
from playwright.sync_api import sync_playwright

from evaluation.metrics.meteor.tables import tables_there
from scripts.checks import CHROMIUM_NAMES

REQUIRED = os.environ.get("QUORUM_REQUIRE_SERVICES") == "1"
TITLES = {
    "postgresql": "PostgreSQL",
    "redis": "Redis",
    "browser": "browser",
    "shared": "shared data",
    "meteor": "METEOR's tables",
    "shell": "bash, curl and jq",
    "proxy": "nginx and openssl",
}


@cache
def missing(service: str) -> str | None:
    """Why `service` cannot be used, in a few words; None when it can."""
    return {
        "postgresql": _missing_postgres,
        "redis": _missing_redis,
        "browser": _missing_browser,
        "shared": _missing_shared,
        "meteor": _missing_meteor,
        "shell": _missing_shell,
        "proxy": _missing_proxy,
    }[service]()


def demand(service: str) -> None:
    """Fails the test when `service` is missing; only reached where a missing one is a failure."""
    why = missing(service)
    if why:
        pytest.fail(f"{TITLES[service]}: {why}", pytrace=False)


def needs(item: pytest.Item) -> set[str]:
    """The services that a collected test asks for by its fixtures and their parameters."""
    asked = set(getattr(item, "fixturenames", ()))
    found = {
        service
        for service, fixture in (
            ("shared", "shared"),
            ("meteor", "meteor_tables"),
            ("browser", "browser"),
            ("postgresql", "postgres_url"),
            ("redis", "redis_url"),
            ("shell", "shell"),
            ("proxy", "proxy"),
        )
        if fixture in asked
    }
    callspec = getattr(item, "callspec", None)
    if callspec and callspec.params.get("database") == "postgresql":
        found.add("postgresql")
    return found


@cache
def chromium_path() -> str | None:
    """A Chromium on the PATH, else the one Playwright installed, else None."""
    for name in CHROMIUM_NAMES:
        found = shutil.which(name)
        if found:
            return found
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if own and Path(own).exists() else None


def _missing_browser() -> str | None:
    return None if chromium_path() else "no Chromium on the PATH and none installed by Playwright"


def _missing_postgres() -> str | None:
    url = os.environ.get("TEST_DATABASE_URL", "")
    if not url:
        return "TEST_DATABASE_URL names no server"
    try:
        with psycopg.connect(url, connect_timeout=3):
            return None
    except psycopg.OperationalError:
        return "no server answers at TEST_DATABASE_URL"


def _missing_redis() -> str | None:
    url = os.environ.get("TEST_REDIS_URL", "")
    if not url:
        return "TEST_REDIS_URL names no server"
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=3) as server:
            server.ping()
    except redis.RedisError:
        return "no server answers at TEST_REDIS_URL"
    return None


def _missing_shared() -> str | None:
    folder = os.environ.get("QUORUM_SHARED", "")
    if not folder:
        return "QUORUM_SHARED names no folder"
    return None if Path(folder).is_dir() else f"QUORUM_SHARED names {folder}, which is no folder"


def _missing_meteor() -> str | None:
    return None if tables_there().paraphrases else "requirements-meteor.txt is not installed"


@cache
def nginx_path() -> str | None:
    """Where Debian has it, which is on the PATH of root alone."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def _missing_proxy() -> str | None:
    return None if nginx_path() and shutil.which("openssl") else "no nginx, or no openssl to sign for it"


def _missing_shell() -> str | None:
    lacking = [program for program in ("bash", "curl", "jq") if not shutil.which(program)]
    return f"no {', '.join(lacking)} on the PATH" if lacking else None
