"""The step that gives the portal an account of its own in a tenant's cluster, and renews its token.

The credential that a control plane comes with is used once, to make a ServiceAccount with the rights of
deploy/rbac/tenant.yaml; from then on only that account's tokens are used. They last a day and are renewed
at half of it, by the account itself.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access
from clusters.kube import marks, rights, tenant
from clusters.kube.drift import differences
from clusters.kube.objects import Wanted
from clusters.kube.servers import client_for
from clusters.kube.text import to_yaml
from clusters.provisioning.steps import Change, ClusterSpec, Difference, Observed, StepContext
from portal.lib import clock
from portal.lib.errors import TemporaryError

SECONDS = 24 * 3600
First = Callable[[StepContext], Access]  # the credential that the control plane came with; may raise


@dataclass(frozen=True, slots=True)
class Life:
    """From when until when a token is good, as it says itself."""

    begins: dt.datetime
    ends: dt.datetime

    @property
    def is_half_over(self) -> bool:
        """Time for another one."""
        return clock.now() >= self.begins + (self.ends - self.begins) / 2


class AccessStep:
    """Nothing of it is left when the control plane is gone, so there is nothing to remove.

    A step is told its own facts only when the cluster is to go.
    """

    name = "access"
    component = "Kubernetes"
    system = "the tenant's cluster"
    needs: tuple[str, ...] = ("control-plane",)
    deadline = dt.timedelta(minutes=15)

    def __init__(self, first: First, clients: Callable[[Access], KubeClient] = client_for) -> None:
        self._first = first
        self._clients = clients

    def describe(self, spec: ClusterSpec) -> tuple[str, ...]:
        """One line per thing that this step will make, for the plan on the approval page."""
        del spec
        return (
            f"account {rights.ACCOUNT.namespace}/{rights.ACCOUNT.name} with the portal's rights",
            "a token of this account for the portal, renewed at half of its life",
        )

    def observe(self, ctx: StepContext) -> Observed:
        """Come in with the portal's own token and look at its rights."""
        if self.name in ctx.facts:
            return Observed(exists=False)
        try:
            access = tenant.access_of(ctx.secrets)
        except TemporaryError as error:
            return Observed(exists=False, reason=error.reason, message=error.message)
        try:
            return self._look(access, ctx.spec)
        except errors.Unauthorized:
            return Observed(True, reason="AccessLost", message="The portal's token is not accepted any more.")
        except errors.Forbidden:
            message = "The portal's rights in the cluster are not as they should be."
            return Observed(True, reason="AccessNotGranted", message=message)

    def _look(self, access: Access, spec: ClusterSpec) -> Observed:
        client = self._clients(access)
        facts = _facts(access, client.version())
        found = tuple(self._found(client, spec))
        if found:
            first = found[0]
            message = f"{first.thing}: {first.path or 'it'} is {first.found}, wanted {first.wanted}."
            return Observed(True, reason="Drift", message=message, differences=found, facts=facts)
        if life_of(access.token).is_half_over:
            message = "The portal's token is past half of its life."
            return Observed(
                True, reason="AccessRenewal", message=message, facts=facts, ready=True, routine=True
            )
        return Observed(True, True, True, facts=facts)

    def apply(self, ctx: StepContext) -> None:
        """Make the account where it is missing; hand the portal a new token."""
        access = self._own(ctx) or self._made(ctx)
        life = life_of(access.token)
        ctx.keep(tenant.KEPT_AS, tenant.pack(access), life.ends)

    def remove(self, ctx: StepContext) -> None:
        """Nothing: see above."""

    def preview(self, ctx: StepContext) -> tuple[Change, ...]:
        """See Previews."""
        try:
            client = self._clients(tenant.access_of(ctx.secrets))
        except TemporaryError:
            return tuple(
                Change("create", self.system, str(one.ref), to_yaml(one.manifest))
                for one in rights.wanted(ctx.spec, self.name)
            )
        return tuple(
            Change("change", self.system, one.thing, differences=(one,))
            for one in self._found(client, ctx.spec)
        )

    def _own(self, ctx: StepContext) -> Access | None:
        """A new token by the account's own hand; None where the account needs to be seen to first."""
        try:
            access = tenant.access_of(ctx.secrets)
            client = self._clients(access)
            if tuple(self._found(client, ctx.spec)):
                return None
            return _with_token(access, client)
        except (errors.Unauthorized, errors.Forbidden, TemporaryError):
            return None

    def _made(self, ctx: StepContext) -> Access:
        first = self._first(ctx)
        client = KubeClient(first)  # not among those that a process keeps: it may do everything
        try:
            for one in rights.wanted(ctx.spec, self.name):
                there = client.get(one.ref)
                if there is not None and not marks.owned(there, ctx.spec):
                    raise marks.name_taken(one.ref, "the cluster's API server")
                client.apply(one.manifest, one.kind)
            return _with_token(Access(first.server, first.ca_pem, prefix=first.prefix), client)
        finally:
            client.close()

    def _found(self, client: KubeClient, spec: ClusterSpec) -> Iterator[Difference]:
        for one in rights.wanted(spec, self.name):
            yield from _differences(one, client)


def _differences(one: Wanted, client: KubeClient) -> tuple[Difference, ...]:
    there = client.get(one.ref)
    if there is None:
        return (Difference(str(one.ref), "", "there", "not there"),)
    return differences(one, there)


def _with_token(access: Access, client: KubeClient) -> Access:
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": SECONDS},
    }
    token = str((client.post(rights.ACCOUNT, "token", asked).get("status") or {}).get("token") or "")
    life_of(token)
    return Access(access.server, access.ca_pem, token=token, prefix=access.prefix)


def life_of(token: str) -> Life:
    """Of a ServiceAccount's token, which is a JWT. Not verified: it is ours. Raises BadAnswer."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return Life(*(dt.datetime.fromtimestamp(int(claims[name]), tz=dt.UTC) for name in ("iat", "exp")))
    except (IndexError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise errors.BadAnswer("The API server gave no token that says how long it lasts.") from error


def _facts(access: Access, version: str) -> dict[str, str]:
    return {
        "endpoint": access.server + access.prefix,
        "ca_fingerprint": fingerprint(access.ca_pem),
        "version": version,
        "token_until": life_of(access.token).ends.isoformat(),
    }


def fingerprint(ca_pem: bytes) -> str:
    """SHA-256 of the first certificate, as tools print it; "" where it is none."""
    try:
        return x509.load_pem_x509_certificate(ca_pem).fingerprint(hashes.SHA256()).hex(":").upper()
    except ValueError:
        return ""
