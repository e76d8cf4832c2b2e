"""Which pages are pictured, as whom and of which things: the table of `make shots`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

Facts = Mapping[str, str]  # what was furnished: tenant, cluster, order, job, ... as text for an address
Arguments = Callable[[Facts], Mapping[str, str]]


def in_tenant(**names: str) -> Arguments:
    """Arguments of a page below /t/<slug>/: the tenant and, for each other one, the fact of that name."""
    return lambda facts: {"tenant": facts["tenant"], **{arg: facts[name] for arg, name in names.items()}}


def bare(facts: Facts) -> Mapping[str, str]:
    """No arguments."""
    return {}


@dataclass(frozen=True, slots=True)
class Page:
    """One picture: who looks, the arguments of the address, what follows it, and a name of its own."""

    who: str = "ada"
    arguments: Arguments = field(default=bare)
    tail: str = ""  # "?state=FAILED" or "#steps"
    label: str = ""  # where one address is pictured twice


HERE = in_tenant()
BUILT_IN: Arguments = lambda facts: {"tenant": facts["tenant"], "key": "torchrun"}  # noqa: E731
CLUSTER, JOB, ORDER = in_tenant(pk="cluster"), in_tenant(pk="job"), in_tenant(pk="order")

PAGES: dict[str, list[Page]] = {
    "home": [Page(who="nobody")],
    "styleguide": [Page()],
    "admin:index": [Page(who="otto")],
    # tenants
    "welcome": [Page(who="rui")],
    "invitation-open": [
        Page(who="mira", arguments=lambda facts: {"token": facts["token"]}),
        Page(who="nobody", arguments=lambda facts: {"token": facts["token"]}, label="signed out"),
    ],
    "members": [Page(arguments=HERE), Page(who="rui", arguments=HERE, label="as member")],
    "invite": [Page(arguments=HERE)],
    "leave": [Page(arguments=HERE)],
    "member": [Page(arguments=in_tenant(pk="membership"))],
    "invitation-link": [Page(arguments=in_tenant(pk="invitation"))],
    "tenant-settings": [Page(arguments=HERE)],
    "audit": [Page(arguments=HERE)],
    "tokens": [Page(arguments=HERE), Page(who="rui", arguments=HERE, label="empty")],
    "token-new": [Page(arguments=HERE)],
    "token-revoke": [Page(arguments=in_tenant(pk="api token"))],
    "ssh-keys": [Page(arguments=HERE)],
    "api-docs": [Page(who="nobody")],
    # what joins the apps
    "overview": [
        Page(arguments=HERE),
        Page(who="rui", arguments=HERE, label="as member"),
        Page(arguments=lambda facts: {"tenant": "lab-south"}, label="empty"),
    ],
    "search": [
        Page(arguments=HERE, tail="?q=gpu"),
        Page(arguments=HERE, tail="?q=nothing-like-it", label="nothing"),
    ],
    # clusters
    "orders": [Page(arguments=HERE)],
    "order-new": [Page(arguments=HERE)],
    "order": [
        Page(arguments=ORDER),
        Page(arguments=in_tenant(pk="order building"), label="building"),
        Page(arguments=in_tenant(pk="order rejected"), label="rejected"),
        Page(arguments=in_tenant(pk="order shrinking"), label="shrinking"),
    ],
    "order-cancel": [Page(arguments=ORDER)],
    "clusters": [Page(arguments=HERE)],
    "cluster": [Page(arguments=CLUSTER), Page(arguments=in_tenant(pk="building"), label="building")],
    "cluster-nodes": [Page(arguments=CLUSTER)],
    "cluster-steps": [Page(arguments=in_tenant(pk="building"))],
    "cluster-events": [Page(arguments=CLUSTER)],
    "cluster-volcano": [Page(arguments=in_tenant(pk="volcano"))],
    "cluster-isolation": [Page(arguments=CLUSTER)],
    "cluster-access": [Page(arguments=CLUSTER)],
    "cluster-settings": [Page(arguments=CLUSTER)],
    "resize": [Page(arguments=CLUSTER)],
    "terminate": [Page(arguments=CLUSTER)],
    # jobs
    "jobs": [
        Page(arguments=HERE),
        Page(arguments=HERE, tail="?who=everyone", label="everyone"),
        Page(arguments=lambda facts: {"tenant": "lab-south"}, label="empty"),
    ],
    "queue": [Page(arguments=CLUSTER)],
    "views": [Page(arguments=HERE), Page(who="rui", arguments=HERE, label="empty")],
    "job-start": [Page(arguments=HERE)],
    "job-new": [Page(arguments=CLUSTER)],
    "job": [Page(arguments=JOB), Page(who="rui", arguments=in_tenant(pk="job failed"), label="failed")],
    "job-tasks": [
        Page(arguments=in_tenant(pk="array")),
        Page(arguments=in_tenant(pk="array large"), label="large"),
    ],
    "node": [Page(arguments=in_tenant(pk="cluster", name="node"))],
    "partitions": [Page(arguments=CLUSTER)],
    "reservations": [Page(arguments=CLUSTER)],
    "qos": [Page(arguments=CLUSTER)],
    "partition": [Page(arguments=in_tenant(pk="cluster", name="partition"))],
    "job-cancel": [Page(arguments=JOB)],
    "job-act": [
        Page(arguments=lambda facts: {**JOB(facts), "act": "cancel"}),
        Page(arguments=lambda facts: {**JOB(facts), "act": "change"}, label="change"),
    ],
    "limits": [Page(arguments=CLUSTER)],
    "limit": [Page(arguments=in_tenant(pk="cluster", member="membership"))],
    "usage": [
        Page(arguments=HERE),
        Page(arguments=lambda facts: {"tenant": "lab-south"}, label="empty"),
    ],
    "usage-worst": [Page(arguments=HERE)],
    "job-notify": [Page(arguments=JOB)],
    "notifications": [Page(arguments=HERE), Page(who="rui", arguments=HERE, label="empty")],
    "job-output": [Page(arguments=JOB)],
    "templates": [Page(arguments=HERE)],
    "template-new": [Page(arguments=HERE)],
    "template": [
        Page(arguments=in_tenant(key="template")),
        Page(arguments=BUILT_IN, label="built in"),
    ],
    "template-edit": [Page(arguments=in_tenant(key="template"))],
    "template-delete": [Page(arguments=in_tenant(key="template"))],
    "submission": [Page(arguments=in_tenant(pk="submission"))],
}
# Addresses that show no page of their own, by the shell's pattern, and why.
NOT_PAGES: dict[str, str] = {
    "health": "answers machines",
    "signin": "goes on to the provider",
    "callback": "comes back from the provider",
    "signout": "is a POST",
    "notifications-read": "is a POST",
    "template-use": "is a POST",
    "jobs-act": "is a POST",
    "usage-file": "is a file",
    "kubeconfig-revoke": "needs a cluster with an API server; tests/e2e/test_kubeconfig.py opens it",
    "notifications-bell": "answers with a piece of every page",
    "language": "is a POST",
    "live": "answers with a region of a page",
    "invitation": "is where invitation-open leads",
    "invited": "is where invitation-open leads first",
    "invitation-revoke": "is a POST",
    "member-remove": "is a POST",
    "kubeconfig-issue": "is a file",
    "member-suspend": "is a POST",
    "member-resume": "is a POST",
    "mailbox": "is the demo's alone",
    "demo-terms": "is the demo's alone",
    "admin:*_export": "is a file",
    "api-[!d]*": "answers programs",
    "audit-export": "is a file",
    "cluster-utilisation": "is a region of cluster",
    "order-summary": "is a region of order-new",
    "resize-summary": "is a region of resize",
    "job-output-file": "is a file",
    "submission-again": "is a POST",
    "job-quick": "is a POST",
    "view-rename": "is a POST",
    "view-delete": "is a POST",
    "admin:log*": "signing in and out is the portal's",
    "admin:password_change*": "nobody has a password",
    "admin:jsi18n": "is a script",
    "admin:autocomplete": "answers machines",
    "admin:view_on_site": "is a redirect",
    "admin:app_list": "is a part of admin:index",
    "admin:*_do": "is a POST",
    "admin:*_add": "is refused: nothing is made in the admin",
    "admin:*_delete": "is refused: nothing is deleted in the admin",
    "admin:*_history": "the audit trail tells it",
}


def names(patterns: list[Any] | None = None, prefix: str = "") -> Iterator[str]:
    """Every named address of the URLconf, with its namespaces: "jobs", "admin:index"."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            space = f"{prefix}{pattern.namespace}:" if pattern.namespace else prefix
            yield from names(pattern.url_patterns, space)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield f"{prefix}{pattern.name}"


def is_page(name: str) -> bool:
    """Whether an address shows a page that a picture could be taken of."""
    return not any(fnmatchcase(name, pattern) for pattern in NOT_PAGES)


def builders_for(name: str) -> list[Page]:
    """The pictures of one address; lists and single rows of the admin need no entry of their own."""
    if name in PAGES:
        return PAGES[name]
    if fnmatchcase(name, "admin:*_changelist"):
        return [Page(who="otto")]
    if fnmatchcase(name, "admin:*_change"):
        model = name.removeprefix("admin:").removesuffix("_change")
        return [Page(who="otto", arguments=lambda facts: {"object_id": facts[f"first {model}"]})]
    return []


def missing() -> list[str]:
    """Addresses of pages for which the table has no builder; `make shots` fails on the first."""
    return sorted({name for name in names() if is_page(name) and not builders_for(name)})


def unknown() -> list[str]:
    """Entries of the table for which there is no address any more."""
    return sorted(set(PAGES) - set(names()))
