"""Runs oidc-provider-mock with the people of the demo: `python -m portal.run.demo_oidc PORT`."""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path

from flask import g, request
from jinja2 import FileSystemLoader
from werkzeug.serving import make_server
from werkzeug.wrappers import Response

from portal.run.people import PEOPLE
from portal.run.ports import HOST

PAGES = Path(__file__).with_name("demo_pages")
LIKE_AN_ADDRESS = re.compile(r"[\w.+-]{1,64}(@[\w.-]{1,180})?", re.ASCII)


def main(port: int) -> None:
    """Serve on loopback. Refuses outside the demo: this provider asks for no password."""
    if os.environ.get("FREEHOLD_MODE") != "demo":
        sys.exit("The demo provider lets anyone in. It starts only with FREEHOLD_MODE=demo.")
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # loopback without TLS
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    logging.captureWarnings(capture=True)
    logging.getLogger("py.warnings").setLevel(logging.ERROR)  # deprecations of others, said at import
    from oidc_provider_mock import User, app  # noqa: PLC0415  (only now, for the line above)

    users = [User(sub=person.subject, claims=_without_subject(person.claims())) for person in PEOPLE]
    provider = app(require_nonce=True, user_claims=users)
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # not a line for each request
    provider.debug = False  # no debugger pages
    provider.jinja_loader = FileSystemLoader(PAGES)  # its own are written for developers
    provider.jinja_env.globals["people"] = PEOPLE
    provider.after_request(_keep_on_this_machine)
    provider.before_request(_know_new_people)
    make_server(HOST, port, provider, threaded=True).serve_forever()


def _keep_on_this_machine(response: Response) -> Response:
    """Nothing is loaded from elsewhere, whatever a page says."""
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return response


def _know_new_people() -> None:
    """Give a name that was typed a verified address, without which nobody new could accept an invitation."""
    from oidc_provider_mock import User  # noqa: PLC0415  (as above)

    subject = request.form.get("sub", "").strip()
    storage = g.oidc_provider_mock_storage
    if storage.get_user(subject) is None and LIKE_AN_ADDRESS.fullmatch(subject):
        email = subject if "@" in subject else f"{subject}@example.org"
        claims: dict[str, object] = {"name": subject, "email": email, "email_verified": True}
        storage.store_user(User(sub=subject, claims=claims))


def _without_subject(claims: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in claims.items() if name != "sub"}


if __name__ == "__main__":
    main(int(sys.argv[1]))
