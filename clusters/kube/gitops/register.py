"""Tells a site's Argo CD or Flux how to reach a tenant's cluster, with a token that is renewed in time."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from clusters.clients.kube.models import Access
from clusters.kube import accounts, marks, objects, tenant
from clusters.kube.gitops.installer import kubeconfig_name, secret_scope
from clusters.kube.gitops.settings import FLUX, GitOps
from clusters.kube.objects import Wanted
from clusters.kube.renderers import argo
from clusters.kube.sinks import Scope
from clusters.kube.step import Clients, ObjectsStep
from clusters.provisioning.steps import ClusterSpec, Observed, StepContext
from portal.lib import clock
from portal.lib.errors import TemporaryError

STEP: Final = "gitops"
KEPT_AS: Final = "gitops-token"
ACCOUNT: Final = "freehold-gitops"
ANCHOR: Final = "freehold-gitops-token"


@dataclass(frozen=True, slots=True)
class Token:
    """The controller's token in the tenant's cluster."""

    value: str = field(repr=False)
    issued_at: dt.datetime
    expires_at: dt.datetime

    def pack(self) -> bytes:
        """For StepContext.keep."""
        told = {"token": self.value, "from": self.issued_at.isoformat(), "to": self.expires_at.isoformat()}
        return json.dumps(told).encode()

    @classmethod
    def unpack(cls, kept: bytes) -> Token:
        """What `pack` packed."""
        told = json.loads(kept)
        start, end = (dt.datetime.fromisoformat(told[name]) for name in ("from", "to"))
        return cls(told["token"], start, end)

    def is_old(self) -> bool:
        """Whether half of its life is over."""
        return clock.now() >= self.issued_at + (self.expires_at - self.issued_at) / 2


class RegisterStep(ObjectsStep):
    """Argo CD: a project that holds Applications to their cluster, and a cluster Secret. Flux: a kubeconfig.

    The account in the tenant's cluster may do all there, since charts bring kinds and roles; it ends with
    the cluster.
    """

    name = STEP
    needs: tuple[str, ...] = ("control-plane", "access")
    deadline = dt.timedelta(minutes=10)

    def __init__(self, gitops: GitOps, repos: Iterable[str], clients: Clients, tenants: Clients) -> None:
        super().__init__(clients)
        self._gitops = gitops
        self._repos = tuple(repos)
        self._tenants = tenants
        self.component = "Flux" if gitops.controller == FLUX else "Argo CD"
        self.system = f"{self.component} of the provider"

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """See Step."""
        where = f"in namespace {self._gitops.namespace}"
        if self._gitops.controller == FLUX:
            return (f"a kubeconfig of cluster {spec.name} {where}",)
        return (f"project {spec.name} {where}", f"cluster {spec.name} {where}")

    def scopes(self, ctx: StepContext) -> tuple[Scope, ...]:
        """See ObjectsStep."""
        del ctx
        mine = secret_scope(self._gitops)
        if self._gitops.controller == FLUX:
            return (mine,)
        return (Scope(argo.PROJECT, self._gitops.namespace), mine)

    def wanted(self, ctx: StepContext) -> tuple[Wanted, ...]:
        """See ObjectsStep."""
        token = self._token(ctx)
        if token is None:
            raise TemporaryError("NoTokenYet", f"{self.component} has no token for the cluster yet.")
        access = replace(tenant.access_of(ctx.secrets), token=token.value, certificate_pem=b"", key_pem=b"")
        if self._gitops.controller == FLUX:
            return (self._kubeconfig(ctx.spec, access, token),)
        target = argo.Target(
            self._gitops.namespace, ctx.spec.name, access.server + access.prefix, ctx.spec.name
        )
        description = f"What Freehold installs in cluster {ctx.spec.name} of tenant {ctx.spec.tenant}."
        return (
            argo.project(target, self._repos, description=description),
            argo.cluster_secret(target, access),
        )

    def for_plan(self, ctx: StepContext) -> StepContext:
        """See ObjectsStep."""
        now = clock.now()
        nobody = Access("https://made-with-the-cluster.invalid", b"made with the cluster")
        made = {KEPT_AS: Token("", now, now).pack(), tenant.KEPT_AS: tenant.pack(nobody)}
        return replace(ctx, secrets={**made, **ctx.secrets})

    def observe(self, ctx: StepContext) -> Observed:
        """See Step. A token in the second half of its life is not as wanted."""
        seen = super().observe(ctx)
        token = self._token(ctx)
        if seen.exists and seen.in_sync and token is not None and token.is_old():
            message = f"The token of {self.component} ends {token.expires_at:%Y-%m-%d}; it is renewed."
            return replace(seen, in_sync=False, routine=True, reason="TokenAges", message=message)
        return seen

    def apply(self, ctx: StepContext) -> None:
        """See Step."""
        token = self._token(ctx)
        if token is None or token.is_old():
            self._issue(ctx)
        super().apply(ctx)

    def _token(self, ctx: StepContext) -> Token | None:
        kept = ctx.secrets.get(KEPT_AS)
        return Token.unpack(kept) if kept else None

    def _issue(self, ctx: StepContext) -> None:
        client = self._tenants(ctx)
        labels = marks.labels(ctx.spec, STEP)
        accounts.ensure(client, name=ACCOUNT, role="cluster-admin", labels=labels)
        now = clock.now()
        issued = accounts.issue(
            client,
            name=ACCOUNT,
            secret=ANCHOR,
            seconds=self._gitops.token_minutes * 60,
            labels=labels,
        )
        token = Token(issued.token, now, issued.expires_at)
        ctx.keep(KEPT_AS, token.pack(), token.expires_at)

    def _kubeconfig(self, spec: ClusterSpec, access: Access, token: Token) -> Wanted:
        issued = accounts.Issued(token.value, token.expires_at)
        text = accounts.kubeconfig(access, cluster=spec.name, user=ACCOUNT, issued=issued)
        return objects.secret(kubeconfig_name(spec), {"config": text}, namespace=self._gitops.namespace)
