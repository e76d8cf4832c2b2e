"""Slurm by Slinky: every step, as each site profile installs it, under the contract of Kubernetes drivers."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from clusters.drivers.slinky.base import AccountingStep, HomeStep, KeysStep, OperatorsStep
from clusters.drivers.slinky.identity import IdentityStep
from clusters.drivers.slinky.settings import SlinkySettings
from clusters.drivers.slinky.slurm import SlurmStep
from clusters.kube import kinds, objects, tenant
from clusters.kube.gitops.installer import Installer
from clusters.kube.gitops.register import KEPT_AS, RegisterStep, Token
from clusters.kube.gitops.settings import GitOps
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, PoolSpec, StepContext
from tests.contract.kube.driven import FLAVOR, Driven
from tests.kube import roles
from tests.kube.charts import deployment
from tests.kube.fake_slurm import FakeSlurm
from tests.kube.server import KubeServer
from tests.kube.slinky_vendors import claims, gitops
from tests.kube.tidy import clear_installed, clear_namespace
from tests.kube.vendor_kinds import slurm_operator
from tests.kube.vendors import Controller

SITE: dict[str, Any] = {
    "slinky": {
        "home": {"storage_class": "shared-nfs", "size": "10Ti"},
        "database": {"host": "mariadb.provider.example", "user": "freehold"},
        "login": {"replicas": 2, "root_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA break-glass"]},
        "images": {"registry": "registry.example/slinky", "pull_secrets": ["registry"]},
        "vnode": True,
        "rest_replicas": 2,
    },
}
PLAIN: dict[str, Any] = {"slinky": {"install": "direct", "login": {"replicas": 0}, "identity": "sssd"}}
SECRETS = {
    "slurm-jwt-key": b"k3y-of-the-contract-tests-0123456789abcdef",
    "site.slurm-db-password": b"pa55word-of-slurmdbd",
    "site.sssd-conf": b"[sssd]\ndomains = example\n# b1nd-pa55word\n",
    KEPT_AS: Token(
        "t0ken-of-argo-cd", dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2036, 1, 1, tzinfo=dt.UTC)
    ).pack(),
}
RUNTIME = objects.manifest(kinds.RUNTIME_CLASS, "vnode", {"handler": "vnode"})  # the site's template has it
FIXED = Access(
    "https://c-example.tenants.example:6443", b"-----BEGIN CERTIFICATE-----\n", token="t0ken-of-the-portal"
)


def before(server: KubeServer | None, ctx: StepContext, *, space: str = "slurm") -> StepContext:
    """The portal's way into the tenant's cluster, secrets that can be kept, and the namespace."""
    access = FIXED if server is None else roles.access(server, "tenant")
    secrets = {**SECRETS, tenant.KEPT_AS: tenant.pack(access)}
    if server is not None:
        clear_installed(server)
    if server is not None and space:
        server.ensure_namespace(space)
        server.ensure_namespace("argocd")
        server.client.apply(RUNTIME, kinds.RUNTIME_CLASS)
    return dataclasses.replace(
        ctx, secrets=secrets, keep=lambda name, value, _: secrets.update({name: value})
    )


def nothing_there(server: KubeServer | None, ctx: StepContext) -> StepContext:
    """For the step that makes the namespace."""
    if server is not None:
        clear_namespace(server, "slurm")
    return before(server, ctx, space="")


def with_accounting(server: KubeServer | None, ctx: StepContext) -> StepContext:
    """For Slurm with slurmdbd, which an earlier step has brought."""
    ctx = before(server, ctx)
    if server is not None:
        kind, made = deployment("slurm-accounting", "slurm", kind=kinds.STATEFUL_SET)
        server.client.apply(made, kind)
    return ctx


def fresh_token(server: KubeServer | None, ctx: StepContext) -> StepContext:
    """For the step that asks for the controller's token: it has none yet, but for golden files."""
    ctx = before(server, ctx, space="freehold")
    if server is not None:
        ctx.secrets.pop(KEPT_AS)  # type: ignore[attr-defined]  # a dict, as `before` makes it
    return ctx


def settings(site: Mapping[str, Any]) -> SlinkySettings:
    """As a site's worker reads them."""
    return SlinkySettings.from_site(site)


def tenants(ctx: StepContext) -> KubeClient:
    """The tenant's API server, as the control plane's step has kept the way there."""
    return KubeClient(tenant.access_of(ctx.secrets))


def how(controller: str) -> GitOps:
    """The site's GitOps, by one of the controllers."""
    return GitOps.from_site({"delivery": {"controller": controller}})


def another_pool(spec: ClusterSpec) -> ClusterSpec:
    """One with nodes without GPUs."""
    flavor = dataclasses.replace(FLAVOR, name="cpu", gpu_type="", gpu_count=0)
    machine = f"{spec.pools[0].machines[0]}-cpu"
    return dataclasses.replace(spec, pools=(*spec.pools, PoolSpec("cpu-only", flavor, (machine,))))


def another_account(spec: ClusterSpec) -> ClusterSpec:
    """One member more."""
    one = dataclasses.replace(spec.accounts[-1], name="fhmember2", uid=70003)
    return dataclasses.replace(spec, accounts=(*spec.accounts, one))


def operator(_: KubeServer) -> Iterable[Controller]:
    """slurm-operator, for objects that we send ourselves."""
    return slurm_operator()


def controllers(_: KubeServer) -> Iterable[Controller]:
    """GitOps, with the charts."""
    return gitops()


def volumes(_: KubeServer) -> Iterable[Controller]:
    """A storage class that gives volumes."""
    return [claims()]


def keys(site: Mapping[str, Any], clients: Clients) -> ObjectsStep:
    return KeysStep(settings(site), clients)


def home(clients: Clients) -> ObjectsStep:
    return HomeStep(settings(SITE), clients)


def accounting(clients: Clients, *, direct: bool) -> ObjectsStep:
    return AccountingStep(settings(SITE), clients, tenants, direct=direct)


def operators(controller: str, clients: Clients) -> ObjectsStep:
    return OperatorsStep(settings(SITE), Installer(how(controller)), clients, tenants)


def register(controller: str, clients: Clients) -> ObjectsStep:
    repos = ("oci://ghcr.io/slinkyproject/charts/*", "oci://quay.io/jetstack/charts/*")
    return RegisterStep(how(controller), repos, clients, tenants)


def slurm(site: Mapping[str, Any], controller: str, clients: Clients) -> ObjectsStep:
    installer = Installer(how(controller)) if controller else None
    return SlurmStep(settings(site), clients, tenants, FakeSlurm(), installer)


def identity(clients: Clients) -> ObjectsStep:
    return IdentityStep(settings(SITE), clients, FakeSlurm())


def named(
    name: str, step: Callable[..., ObjectsStep], *args: object, **more: object
) -> Callable[[Clients], ObjectsStep]:
    """The step, under the name of its golden file."""
    made = partial(step, *args, **more)
    made.__name__ = name  # type: ignore[attr-defined]
    return made


def by_gitops(controller: str) -> Iterable[Driven]:
    """The steps of one profile that a GitOps controller serves."""
    profile, common = f"slinky-{controller}", {"vendors": controllers, "before": before}
    yield Driven(
        profile, named("RegisterStep", register, controller), "argocd", before=fresh_token, fixed=True
    )
    yield Driven(profile, named("OperatorsStep", operators, controller), "argocd", fixed=True, **common)  # type: ignore[arg-type]
    yield Driven(profile, named("SlurmStep", slurm, SITE, controller), "argocd", **common)  # type: ignore[arg-type]


DRIVEN = (
    Driven("slinky-direct", named("KeysStep", keys, SITE), "tenant", before=nothing_there, fixed=True),
    Driven(
        "slinky-direct",
        named("HomeStep", home),
        "tenant",
        before=before,
        vendors=volumes,
        fixed=True,
        immutable=True,
    ),
    Driven(
        "slinky-direct",
        named("AccountingStep", accounting, direct=True),
        "tenant",
        before=before,
        vendors=operator,
        fixed=True,
    ),
    Driven(
        "slinky-direct",
        named("SlurmStep", slurm, {"slinky": {**SITE["slinky"], "install": "direct"}}, ""),
        "tenant",
        before=with_accounting,
        vendors=operator,
        changed=another_pool,
    ),
    Driven(
        "slinky-direct", named("IdentityStep", identity), "tenant", before=before, changed=another_account
    ),
    Driven("slinky-plain", named("KeysStep", keys, PLAIN), "tenant", before=nothing_there, fixed=True),
    Driven(
        "slinky-plain",
        named("SlurmStep", slurm, PLAIN, ""),
        "tenant",
        before=before,
        vendors=operator,
        changed=another_pool,
    ),
    *(one for controller in ("argo", "applicationset", "flux") for one in by_gitops(controller)),
    Driven(
        "slinky-argo",
        named("AccountingStep", accounting, direct=False),
        "tenant",
        before=before,
        fixed=True,
    ),
)
