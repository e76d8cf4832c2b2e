"""Every page in a pseudo language: what stands outside its brackets was not marked for translation.

    python -m pytest tests/portal/test_pseudo_language.py -k clusters

says, file by file, what pages of that app show as it stands in the source.
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module

import pytest
from django.db import transaction
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import reverse
from django.utils import translation

from portal.lib.errors import FreeholdError
from portal.lib.types import JSONDict
from tenants.operations import operations
from tests.architecture.routes import Route, World
from tests.portal import pseudo

pytestmark = pytest.mark.matrix
APPS = ("tenants", "portal", "clusters", "jobs")
# What is the same in every language.
ALLOWED = {
    r"^(?:Search|True|False|None)$": "alternative texts of pictures in Django's own pages",
    r"Freehold": "the product's name",
    r"UTC|[A-Z][a-z]+/[A-Z]\w+": "time zones",
    r"\d[\d.,:]*\s?(?:d|h|min|s|GiB|MiB|TiB|KiB|GB|kB|MB)\b": "symbols of units behind a number",
    r"\b(?:GiB|MiB|GPU-h|GPUs?|CPUs?|EUR|USD|CSV|JSON|API|URL|TLS|IP)\b": "units and abbreviations",
    r"\b(?:Slurm|slurm\w+|munge|Kubernetes|kube\w+|vCluster|Metal3|Netris|curl|bash)\b": "programs",
    r"#SBATCH|#!/\S+|--?[a-z][\w-]*": "options and lines of scripts",
    r"\b[A-Z][A-Z_]{3,}\b": "Slurm's own words for states",
    r"\b(?:HUP|INT)\b": "signals",
    r"\{\{?[a-z]+\}\}?": "the place of a parameter in a script",
    r"\b(?:stdout|stderr)\b|\bafter(?:ok|any):?": "Slurm's own words for streams and dependencies",
    r"\b(?:[A-Z][a-z]+){2,}\b": "reasons as Slurm and the engine name them: InvalidAccount",
    r"\b[a-z]+\.[a-z_]+\b": "verbs and kinds of mails as programs know them: order.approved",
    r"\S+@\S+|https?://\S+|/[\w/.<>-]+": "addresses",
    r"\b[0-9a-f]{6,}\b|\b[\w-]*\d[\w-]*\b": "ids and names with numbers",
}
EXCEPT = re.compile("|".join(ALLOWED))
# Pages that are not for customers or operators.
NOT_TRANSLATED = {"styleguide": "for developers; not served in production"}


def routes_of(app: str) -> dict[str, Route]:
    with contextlib.suppress(ModuleNotFoundError):
        routes: dict[str, Route] = getattr(import_module(f"tests.{app}.routes"), "ROUTES", {})
        return routes
    return {}


def browser(world: World, who: str) -> Client:
    """One of the pseudo language."""
    client = world.client(who)
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = pseudo.LANGUAGE
    return client


def pages_of(app: str) -> Iterator[tuple[str, HttpResponseBase]]:
    """Each address of an app as its owner sees it, and forms as they come back when nothing was entered.

    Each in a world of its own, which is gone when the next one is asked for.
    """
    for name, route in routes_of(app).items():
        with transaction.atomic(), route_ready(route) as (world, kwargs, data):
            url = reverse(name, kwargs={"tenant": world.tenant.slug} | kwargs)
            asked = {} if route.method == "post" else data
            client = browser(world, "owner")
            yield name, client.get(url, {key: value for key, value in asked.items() if not callable(value)})
            if route.method == "post" and data:
                yield f"{name}, sent empty", client.post(url, {})
            transaction.set_rollback(True)


@contextlib.contextmanager
def route_ready(route: Route) -> Iterator[tuple[World, JSONDict, JSONDict]]:
    """A world with what the address needs, made in English as the portal's workers do."""
    with translation.override("en"):
        world = World()
        kwargs, data = route.kwargs(world), route.data(world)
    with route.around(world) if route.around else contextlib.nullcontext(), translation.override("en"):
        yield world, kwargs, data


def assert_translated(pages: Iterator[tuple[str, HttpResponseBase]]) -> None:
    """Fails with a line for each text, by the file in which it stands."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    seen = 0
    for name, answer in pages:
        if not answer.get("Content-Type", "").startswith("text/html") or answer.status_code in {302, 405}:
            continue
        seen += 1
        html = answer.getvalue().decode()
        asked = set(answer.wsgi_request.GET.values())  # type: ignore[attr-defined]
        for text in pseudo.strays(html, pseudo.data_of_rows() | asked, EXCEPT):
            found[pseudo.where(text)].setdefault(text[:160], name)
    assert seen
    lines = [
        f"{file}\n" + "".join(f"    {text}   ({name})\n" for text, name in texts.items())
        for file, texts in sorted(found.items())
    ]
    if lines:
        pytest.fail("Shown, and not marked for translation:\n" + "".join(lines), pytrace=False)


@pytest.mark.django_db
@pytest.mark.parametrize("app", APPS)
def test_pages_of_an_app_show_only_translated_words(app: str) -> None:
    with pseudo.speaking():
        assert_translated(pages_of(app))


@pytest.mark.django_db
def test_operators_pages_show_only_translated_words() -> None:
    world = World()
    for app in APPS:
        for route in routes_of(app).values():
            with contextlib.suppress(FreeholdError):  # the site has not machines enough for all of them
                route.kwargs(world)

    def pages() -> Iterator[tuple[str, HttpResponseBase]]:
        client = browser(world, "operator")
        yield "index", client.get(reverse("admin:index"))
        for model in operations._registry:
            name = f"{model._meta.app_label}_{model._meta.model_name}"
            yield name, client.get(reverse(f"admin:{name}_changelist"))
            if (row := model._base_manager.first()) is not None:
                yield f"one {name}", client.get(reverse(f"admin:{name}_change", args=[row.pk]))

    with pseudo.speaking():
        assert_translated(pages())


@pytest.mark.django_db
def test_pages_outside_a_tenant_show_only_translated_words() -> None:
    world = World()

    def pages() -> Iterator[tuple[str, HttpResponseBase]]:
        nobody, owner, newcomer = (browser(world, who) for who in ("anonymous", "owner", "operator"))
        yield "home", nobody.get("/")
        yield "sign-in that fails", nobody.get(reverse("callback"), {"state": "x"})
        yield "session ended", nobody.post(f"/t/{world.tenant.slug}/members/invite/", {})
        yield "unknown", owner.get("/nothing/")
        yield "welcome", owner.get(reverse("welcome"))
        yield "welcome, sent empty", newcomer.post(reverse("welcome"), {})
        yield "no invitation", owner.get(reverse("invitation"))
        yield "refused", browser(world, "viewer").get(f"/t/{world.tenant.slug}/audit/")

    with pseudo.speaking():
        assert_translated(pages())


def test_a_text_that_was_not_marked_is_found() -> None:
    html = '<p title="Not marked">⟦Marked⟧ Ada <b>Bare words</b> 12 min <code>make run</code></p>'
    assert pseudo.strays(html, {"Ada"}, EXCEPT) == ["Not marked", "Bare words"]
