"""The address of a visitor, behind the installation's proxies."""

from __future__ import annotations

import re

from django.conf import settings
from django.http import HttpRequest

ADDRESS_WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([\d.]+):\d+")  # some proxies write brackets or a port


def visitor_address(request: HttpRequest) -> str:
    """Return the address from which the outermost of the installation's proxies was called."""
    address: str = request.META.get("REMOTE_ADDR", "")
    if settings.PROXIES:
        # entries further to the left were in the visitor's own header
        addresses = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")[-settings.PROXIES :]
        forwarded_address: str = addresses[0].strip() or address
        port_match = ADDRESS_WITH_PORT.fullmatch(forwarded_address)
        if port_match is None:
            return forwarded_address
        ipv6_address, ipv4_address = port_match.groups()
        return ipv6_address or ipv4_address
    return address
