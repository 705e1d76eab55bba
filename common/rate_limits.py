"""Limits on the number of attempts by one network address (docs/install.md).

Failed attempts count, such as wrong codes. Successful attempts count if they use a scarce resource, such as joining a
study. All API calls and large bodies count, too, with limits far above the needs of a school class behind one address.

A middleware sets the visitor's address (``visiting_from``). Commands and jobs have no address and no limit. An IPv6
address counts with its /64 network, which is that of a household, and with its /48 network, which may be that of a
provider's customer.

Counts are stored in the installation's Redis, which all web processes share. If there is no Redis, or if it does not
respond, each process has its own counts.
"""

from __future__ import annotations

import functools
import ipaddress
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from django.conf import settings
from django.utils.crypto import salted_hmac
from django.utils.translation import ngettext
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, Storage, storage_from_string
from limits.strategies import MovingWindowRateLimiter, RateLimiter, SlidingWindowCounterRateLimiter

from common.errors import QuorumError

logger = logging.getLogger(__name__)

# Up to this limit, the time of each use is stored. For higher limits, only the uses in two windows of time are counted.
MAX_STORED_USES = 1_000
SWEEP_SECONDS = 60.0  # seconds after which expired counts are removed from memory
REDIS_SECONDS = 2.0  # seconds without response after which Redis counts as unavailable
OUTAGE_SECONDS = 10.0  # seconds for which Redis is not asked again after it was unavailable
GLOBAL_LIMITS = {"account"}  # limits that count the attempts from all addresses together
BROWSER_LIMITS = {"code", "resume"}  # limits for each browser, since many people may share an address
# The limit of a /48 network is this multiple, since it may belong to several customers with a /52 or /56 network each.
SITE_SHARES = 4

Result = TypeVar("Result")
_redis_down_until: dict[str, float] = {}  # the monotonic time until which Redis is not asked, by its address


class _Visitor(NamedTuple):
    """The networks of a visitor's address, and a text that distinguishes their browser from others."""

    networks: tuple[str, ...]
    browser: str


NO_VISITOR = _Visitor(networks=(), browser="")  # in commands and jobs
_visitor: ContextVar[_Visitor] = ContextVar("visitor", default=NO_VISITOR)


class TooManyAttempts(QuorumError):
    """A limit is reached. ``wait`` is the number of seconds until another attempt is possible."""

    status = 429
    title = "Too many requests"

    def __init__(self, message: str, *, wait: int) -> None:
        super().__init__(message)
        self.wait = wait


@contextmanager
def visiting_from(address: str, browser: str = "") -> Iterator[None]:
    """Count attempts in the block for a network address, and those of ``BROWSER_LIMITS`` for a browser there."""
    token = _visitor.set(_Visitor(_networks(address) if address else (), browser[:64]))
    try:
        yield
    finally:
        _visitor.reset(token)


def visitor_networks() -> tuple[str, ...]:
    """Return the visitor's address or, for IPv6, the /64 and /48 networks; () in commands and jobs."""
    return _visitor.get().networks


def _networks(address: str) -> tuple[str, ...]:
    """Return the /64 and /48 networks of an IPv6 address. Return another address unchanged.

    A text that a proxy writes instead of an address, such as "unknown", counts as an address.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return (address,)
    if isinstance(ip, ipaddress.IPv4Address):
        return (str(ip),)
    if ip.ipv4_mapped is not None:  # an IPv4 address in the form of IPv6, such as ::ffff:192.0.2.1
        return (str(ip.ipv4_mapped),)
    return tuple(str(ipaddress.IPv6Network((ip, length), strict=False)) for length in (64, 48))


def check(name: str, *target: str) -> None:
    """Raise TooManyAttempts if the visitor has reached the limit ``name``. Do not count a use.

    Args:
        target: the target, such as a study or an account. Each target has its own count.
    """
    _check_limit(name, target, counts_use=False)


def count_use(name: str, *target: str) -> None:
    """Count a use of the limit ``name`` by the visitor. Raise TooManyAttempts if the limit was already reached."""
    _check_limit(name, target, counts_use=True)


def limit_failed_attempts(attempt: Callable[[], Result | None], *limits: tuple[str, ...]) -> Result | None:
    """Return the result of ``attempt``. If it is None, the attempt failed and counts for each of ``limits``.

    Args:
        limits: the name of each limit, followed by the target, such as ``("login", "anna")``.

    Raises:
        TooManyAttempts: a limit is reached. ``attempt`` is not called then, unless simultaneous attempts reached it.
    """
    for name, *target in limits:
        check(name, *target)
    result = attempt()
    if result is None:  # counting raises the error, too, if simultaneous attempts have reached the limit
        for name, *target in limits:
            count_use(name, *target)
    return result


def _check_limit(name: str, target: tuple[str, ...], *, counts_use: bool) -> None:
    """Raise TooManyAttempts if the visitor has reached a limit. If ``counts_use``, count a use otherwise."""
    networks, browser = _visitor.get()
    limit = _read_limit(name)
    if not networks or limit is None:
        return
    if name in GLOBAL_LIMITS:
        networks = ("",)
    # an IPv6 address has a second, larger network, with a higher limit
    for network, factor in zip(networks, (1, SITE_SHARES), strict=False):
        network_limit = type(limit)(limit.amount * factor, limit.multiples)
        parts = [name, network, *target]
        if name in BROWSER_LIMITS:
            parts.append(browser)
        # quote the parts, since users may have typed them, and the library joins them with slashes
        key = tuple(quote(part, safe=":", errors="replace") for part in parts)
        next_use_time = _time_of_next_use(network_limit, key, counts_use)
        if next_use_time is not None:
            wait = max(1, math.ceil(next_use_time - time.time()))
            # log a hash, since people sometimes type passwords in place of names
            digest = salted_hmac("limit", "/".join(target)).hexdigest()[:12] if target else "all"
            logger.warning(
                "The limit %s (%s) is reached by %s, of %s.", name, network_limit, network or "all", digest
            )
            raise TooManyAttempts(_waiting_sentence(wait), wait=wait)


def _time_of_next_use(limit: RateLimitItem, key: tuple[str, ...], counts_use: bool) -> float | None:
    """Return the time, in seconds since 1970, from which another use is allowed; None if this use is allowed.

    Args:
        key: what is counted, such as ``("code", "192.0.2.1", "my-study")``.
        counts_use: whether to count this use, if it is allowed.
    """
    redis = settings.REDIS_URL
    is_high = limit.amount > MAX_STORED_USES
    if redis and _redis_down_until.get(redis, 0.0) < time.monotonic():
        try:
            return _try_limit(_limiter(redis, is_high), limit, key, counts_use)
        except StorageError as error:
            _redis_down_until[redis] = time.monotonic() + OUTAGE_SECONDS
            logger.warning(
                "The Redis does not answer (%s): this process counts alone for %g seconds.",
                error.storage_error,
                OUTAGE_SECONDS,
            )
    return _try_limit(_limiter("", is_high), limit, key, counts_use)


def _try_limit(
    limiter: RateLimiter, limit: RateLimitItem, key: tuple[str, ...], counts_use: bool
) -> float | None:
    """Do what ``_time_of_next_use`` describes, with the counts of a limiter."""
    is_allowed = limiter.hit(limit, *key) if counts_use else limiter.test(limit, *key)
    return None if is_allowed else limiter.get_window_stats(limit, *key).reset_time


def _waiting_sentence(wait: int) -> str:
    minutes = math.ceil(wait / 60)
    return ngettext(
        "Too many attempts. Please try again in %(n)d minute.",
        "Too many attempts. Please try again in %(n)d minutes.",
        minutes,
    ) % {"n": minutes}


@functools.cache
def _limiter(redis: str, is_high: bool) -> RateLimiter:
    """Return a limiter that counts in Redis at this address or, if it is "", in the memory of the process.

    Args:
        is_high: whether the limit is above ``MAX_STORED_USES``.
    """
    if redis:  # import redis first, since the library fails while another thread is importing redis
        import_module("redis")
    strategy = SlidingWindowCounterRateLimiter if is_high else MovingWindowRateLimiter
    if not redis:
        return strategy(_memory_storage())
    timeouts = {"socket_connect_timeout": REDIS_SECONDS, "socket_timeout": REDIS_SECONDS}
    return strategy(storage_from_string(redis, wrap_exceptions=True, **timeouts))


class _Sweeper(threading.Timer):
    """A timer that calls its function repeatedly."""

    def run(self) -> None:
        while not self.finished.wait(self.interval):
            self.function()


def _memory_storage() -> Storage:
    """Return a storage in memory that is cleaned regularly. The library's own cleaning starts threads very often."""
    storage = MemoryStorage()
    storage.timer = _Sweeper(SWEEP_SECONDS, storage.timer.function)
    storage.timer.daemon = True
    storage.timer.start()
    return storage


def _read_limit(name: str) -> RateLimitItem | None:
    """Return the limit in the settings, such as "10/15 minutes"; None if there is none."""
    text = settings.LIMITS[name]
    return _parse_limit(text) if text else None


@functools.cache
def _parse_limit(text: str) -> RateLimitItem:
    return parse(text)
