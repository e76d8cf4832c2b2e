"""The OpenID providers, spoken to by Authlib; their answers become our Claims or one of two errors.

There is one for customers and, where the installation names an operator issuer, one for operators.
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlsplit

import requests
import structlog
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import OAuth
from authlib.integrations.requests_client import OAuth2Session
from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from joserfc.errors import JoseError

from portal.lib.errors import BadInput, TemporaryError
from portal.lib.http import is_loopback
from tenants.signin.claims import Claims, claims_from

log = structlog.get_logger(__name__)

LEEWAY = 60  # seconds between the provider's clock and ours
KEEP_FOR = 600.0  # seconds until the provider's metadata and keys are read again
LARGEST = 1024 * 1024  # bytes of one answer
MOST_ATTEMPTS = 10  # sign-ins that one browser may have open at once, in tabs
# Never "none", and no shared secret: a token must be signed by a key that only the provider has.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
CUSTOMERS, OPERATORS = "customers", "operators"


class ProviderDown(TemporaryError):
    """The provider did not answer, or not as a provider does."""

    title = gettext_lazy("Sign-in is not available just now")


class SignInFailed(BadInput):
    """This attempt cannot be finished; a new one can. `reason` is for the log and the tests."""

    title = gettext_lazy("This sign-in could not be finished")

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class BoundedSession(OAuth2Session):  # type: ignore[misc]  # Authlib has no types
    """Requests with a deadline, a size limit, no redirects and no proxy of the environment."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.trust_env = False

    def request(self, method: str, url: str, **kwargs: Any) -> requests.Response:
        """As requests', read to its end here."""
        parts = urlsplit(url)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise requests.exceptions.InvalidURL("The provider is reached by https only.")
        kwargs |= {"timeout": (5, 10), "allow_redirects": False, "stream": True}
        response: requests.Response = super().request(method, url, **kwargs)
        with response:
            body, ends = b"", time.monotonic() + 15
            for chunk in response.iter_content(64 * 1024):
                body += chunk
                if len(body) > LARGEST or time.monotonic() > ends:
                    raise requests.exceptions.ReadTimeout("The provider's answer is too large or too slow.")
            response._content = body  # noqa: SLF001  # how requests itself keeps a body that was read
        if 300 <= response.status_code < 400:
            raise requests.exceptions.TooManyRedirects("The provider redirects where it must answer.")
        return response


_kept: dict[tuple[str, str], tuple[float, Any]] = {}  # with metadata and keys, until a moment


def client(name: str = CUSTOMERS) -> Any:
    """The Authlib application with the provider's metadata loaded. Raises ProviderDown."""
    config = settings.OPERATOR_OIDC if name == OPERATORS else settings.OIDC
    until, app = _kept.get((name, config["issuer"]), (0.0, None))
    if time.monotonic() < until:
        return app
    app = _registered(name, config)
    try:
        metadata = app.load_server_metadata()
    except (requests.RequestException, ValueError) as error:
        raise _down(error) from error
    if metadata.get("issuer") != config["issuer"]:
        raise _down(ValueError(f"The provider calls itself {metadata.get('issuer')!r}."))
    metadata["id_token_signing_alg_values_supported"] = ALGORITHMS
    _kept[name, config["issuer"]] = (time.monotonic() + KEEP_FOR, app)
    return app


def _registered(name: str, config: dict[str, str]) -> Any:
    oauth = OAuth()
    oauth.register(
        name,
        client_id=config["client_id"],
        client_secret=config["client_secret"] or None,
        server_metadata_url=f"{config['issuer'].rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": config["scopes"],
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": "client_secret_basic" if config["client_secret"] else "none",
        },
    )
    app = oauth.create_client(name)
    app.client_cls = BoundedSession
    return app


def forget() -> None:
    """Read the provider's metadata and keys again next time."""
    _kept.clear()


def start(request: HttpRequest, *, redirect_uri: str, then: str, name: str = CUSTOMERS) -> str:
    """Where to send the browser. State, nonce and PKCE verifier wait in the session, per attempt."""
    app = client(name)
    made = app.create_authorization_url(redirect_uri)
    _drop_old_attempts(request)
    app.save_authorize_data(request, redirect_uri=redirect_uri, then=then, **made)
    return str(made["url"])


def finish(request: HttpRequest) -> tuple[Claims, str]:
    """Claims of the person who came back, and where they wanted to go.

    Raises SignInFailed for anything wrong with this attempt, ProviderDown when the provider is.
    """
    state = request.GET.get("state", "")
    name = next((one for one in (CUSTOMERS, OPERATORS) if _key(one, state) in request.session), None)
    if name is None:
        raise SignInFailed("UnknownState", _("This sign-in was begun elsewhere, or too long ago."))
    app = client(name)
    waiting = app.framework.get_state_data(request.session, state) or {}
    if request.GET.get("error"):
        app.framework.clear_state_data(request.session, state)
        raise SignInFailed("Refused", _("The identity provider did not sign you in."))
    expected = {
        "iss": {"essential": True, "value": app.server_metadata["issuer"]},
        "aud": {"essential": True, "value": app.client_id},
        "sub": {"essential": True},
    }
    try:
        token = app.authorize_access_token(request, claims_options=expected, leeway=LEEWAY)
        told = token.get("userinfo")
        if told is None:
            raise SignInFailed("NoIdToken", _("The identity provider sent no proof of who you are."))
        claims = claims_from(told, _userinfo(app, token, told), id_token=str(token["id_token"]))
    except requests.RequestException as error:
        raise _down(error) from error
    except (AuthlibBaseError, JoseError, ValueError, KeyError, TypeError) as error:
        log.warning("sign-in refused", error=type(error).__name__, reason=str(error)[:200])
        raise SignInFailed(
            type(error).__name__, _("The answer of the identity provider does not fit.")
        ) from error
    return claims, str(waiting.get("then") or "/")


def end_session_url(id_token: str, *, issuer: str, back_to: str) -> str | None:
    """Where the provider's own session ends (RP-initiated logout); None where it has no such place."""
    try:
        app = client(OPERATORS if issuer == settings.OPERATOR_ISSUER else CUSTOMERS)
    except ProviderDown:
        return None
    if not app.server_metadata.get("end_session_endpoint"):
        return None
    made = app.create_logout_url(
        id_token_hint=id_token, post_logout_redirect_uri=back_to, client_id=app.client_id
    )
    return str(made["url"])


def _userinfo(app: Any, token: Any, told: dict[str, Any]) -> dict[str, Any]:
    """The provider's userinfo, asked only where the token leaves something open."""
    if {"email", "email_verified", "name"} <= told.keys() or "userinfo_endpoint" not in app.server_metadata:
        return {}
    more = dict(app.userinfo(token=token))
    if more.get("sub") != told["sub"]:
        raise ValueError("userinfo is about someone else")
    return more


def _drop_old_attempts(request: HttpRequest) -> None:
    """Keep the newest few: an anonymous session must not grow for ever."""
    waiting = [key for key in request.session.keys() if key.startswith("_state_")]  # noqa: SIM118
    waiting.sort(key=lambda key: request.session[key]["exp"])
    for key in waiting[: -(MOST_ATTEMPTS - 1)]:
        del request.session[key]


def _key(name: str, state: str) -> str:
    """Where Authlib keeps an attempt in the session."""
    return f"_state_{name}_{state}"


def _down(error: Exception) -> ProviderDown:
    log.warning("identity provider not usable", error=type(error).__name__, reason=str(error)[:200])
    forget()
    return ProviderDown(
        "ProviderDown", _("The identity provider does not answer. Nothing was lost; try again in a minute.")
    )
