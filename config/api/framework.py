"""Authentication, parsing and errors of the API.

The REST framework imports this module with its settings, before any view exists.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from annotation.work.joining import worker_for_token
from common import rate_limits
from common.downloads import problem_page
from common.errors import PROBLEM_TYPE, QuorumError, problem_document, sentence_of, shorten_details
from common.files import NanAsNullEncoder, can_be_stored
from common.incoming.json_documents import TooDeep, load_json
from judgments.access.tokens import KEY_PREFIX, authenticate_key
from judgments.api.bodies import refuse_compressed
from judgments.cached_figures import FiguresPending

OLD_KEY_LENGTH = 40  # characters of keys from releases without scopes, which an upgrade keeps for 90 days
KEY_LENGTH = len(KEY_PREFIX) + 43  # 32 random bytes in Base64 have 43 characters, as do workers' tokens
RETRY_SECONDS = 5  # seconds after which a client may ask again for figures that a job is computing
TOO_DEEP = "The body is nested too deeply."
ERROR_MEMBERS = ("missing", "field", "quiz", "consent")  # attributes of errors that the document has, too


class APIEncoder(NanAsNullEncoder, JSONEncoder):
    """A JSON encoder that encodes floats like ``NanAsNullEncoder``, and times like the REST framework."""


class NanAsNullRenderer(JSONRenderer):
    """A renderer of JSON in which floats that are no numbers (nan) are null."""

    encoder_class = APIEncoder


class TokenAuthentication(BaseAuthentication):
    """Authenticate a worker or a staff member by ``Authorization: Token KEY``. Permissions distinguish the two."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        parts = get_authorization_header(request).split()
        if not parts or parts[0].lower() != b"token":
            return None
        token = parts[1].decode("ascii", errors="replace") if len(parts) == 2 else ""
        if not token or not token.isascii() or not token.isprintable():
            raise exceptions.AuthenticationFailed(
                "The Authorization header is not of the form 'Token <token>'."
            )
        if len(token) == OLD_KEY_LENGTH or (token.startswith(KEY_PREFIX) and len(token) == KEY_LENGTH):
            api_token = authenticate_key(token)
            if api_token is None:
                rate_limits.count_use("token")
                raise exceptions.AuthenticationFailed(
                    "The token is not known, was revoked, or is past its time."
                )
            return api_token.user, api_token
        worker = worker_for_token(token)
        if worker is None:
            rate_limits.count_use("token")
            raise exceptions.AuthenticationFailed(
                "The token is not known; join again, or with the resume code."
            )
        return worker, token

    def authenticate_header(self, request: Request) -> str:
        return "Token"


class StrictJSONParser(JSONParser):
    """A JSON parser that refuses JSON that is ambiguous, nested too deeply, or has text that databases cannot store."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        refuse_compressed(parser_context)
        body: bytes = (parser_context or {})["request"].body  # not the stream, which has no size limit
        try:
            document = load_json(
                body.decode(),
                object_pairs_hook=_distinct_members,
                parse_constant=_refuse_constant,
                parse_float=_finite_float,
            )
            # Text that cannot be stored needs an escape, and few bodies have escapes.
            has_unstorable_text = b"\\" in body and not can_be_stored(document)
        except UnicodeDecodeError as error:
            raise exceptions.ParseError(f"The body is not UTF-8 at byte {error.start}.") from None
        except TooDeep:
            raise exceptions.ParseError(TOO_DEEP) from None
        except ValueError as error:
            raise exceptions.ParseError(f"The body is no JSON: {str(error)[:200]}.") from None
        if has_unstorable_text:
            raise exceptions.ParseError("A text in the body holds U+0000 or half of a surrogate pair.")
        return document


def _distinct_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object. Raise ParseError if two have the same name."""
    members = dict(pairs)
    if len(members) < len(pairs):
        [(repeated_name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise exceptions.ParseError(f"The body names the member {repeated_name[:80]!r} twice.")
    return members


def _refuse_constant(text: str) -> Any:
    """Refuse NaN and infinities, which Python reads although JSON does not have them."""
    raise exceptions.ParseError(f"The body is no JSON: {text} is no number of it.")


def _finite_float(text: str) -> float:
    """Return a number. Raise ParseError if it is too large for a float."""
    number = float(text)
    if math.isinf(number):
        raise exceptions.ParseError(f"The body holds {text[:20]}; expected numbers of at most about 1.8e308.")
    return number


class JSONNegotiation(DefaultContentNegotiation):
    """A negotiation that always chooses JSON. Else a request whose Accept header has only ZIP would get status 406."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return a problem document (RFC 9457) for an exception of an API view; None for an unforeseen exception."""
    headers: dict[str, str] = {}
    if isinstance(error, FiguresPending):
        return Response({"state": "being counted"}, status=202, headers={"Retry-After": str(RETRY_SECONDS)})
    if isinstance(error, QuorumError):
        members = {}
        for name in ERROR_MEMBERS:
            value = getattr(error, name, None)
            if value:
                members[name] = value
        body = problem_document(error.status, str(error), title=error.title, **members)
        if isinstance(error, rate_limits.TooManyAttempts):
            headers["Retry-After"] = str(error.wait)
    elif isinstance(error, Http404 | exceptions.NotFound):
        body = problem_document(404, "There is nothing at this address for you.")
    elif isinstance(error, PermissionDenied):
        body = problem_document(403, "This is not open to you.")
    elif isinstance(error, RequestDataTooBig):
        body = problem_document(413, "The body is larger than this server takes.")
    elif isinstance(error, exceptions.APIException):
        body, headers = _problem_of_error(error)
    else:
        return None
    response = Response(body, status=body["status"], headers=headers, content_type=PROBLEM_TYPE)
    patch_vary_headers(response, ("Authorization",))
    return response


def _problem_of_error(error: exceptions.APIException) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the problem document and the headers for an error of the REST framework."""
    headers: dict[str, str] = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait))
    if isinstance(error, exceptions.ValidationError):
        errors = error.detail if isinstance(error.detail, dict) else {"": error.detail}
        members = {shorten_details(str(name)): shorten_details(problems) for name, problems in errors.items()}
        return problem_document(400, sentence_of(error.detail), errors=members), headers
    return problem_document(error.status_code, str(error.detail)), headers


@csrf_exempt  # the view changes nothing, and its response is more helpful than a page about cookies
def unknown_address(request: HttpRequest) -> HttpResponse:
    """Return a problem document (404) for an unknown address below /api/. Redirect a GET that lacks the last slash."""
    if not request.path.endswith("/") and request.method in ("GET", "HEAD"):
        return HttpResponseRedirect(f"{request.path}/{'?' if request.GET else ''}{request.GET.urlencode()}")
    hint = "" if request.path.endswith("/") else " Addresses end with a slash."
    return problem_page(404, f"There is nothing at this address.{hint}")
