"""Tries a token of the cluster at API servers of other tenants: each has to answer 401.

The token is of an account of ours without any right, made as those in kubeconfigs are and good for ten
minutes; whoever reads it at another server has won nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Final

from clusters.clients.kube import errors
from clusters.clients.kube.client import KubeClient
from clusters.clients.kube.models import Access, Kind, Manifest, Ref
from clusters.drivers.isolation import finding
from clusters.drivers.isolation.around import Neighbour
from clusters.drivers.isolation.finding import Finding
from clusters.kube import kinds, marks, objects
from clusters.provisioning.steps import ClusterSpec
from portal.lib.errors import OutsideError, TemporaryError

NAMESPACE: Final = "freehold"
ACCOUNT: Final = Ref(kinds.SERVICE_ACCOUNT, "isolation", NAMESPACE)
REVIEW: Final = Kind("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False)
SECONDS = 600  # the least that Kubernetes gives
TIMEOUT = 5.0
REFUSED: Final = finding.passed("another tenant's API server answered this cluster's token with 401")
TAKEN = "another tenant's API server took this cluster's token"


class ProbeMissing(TemporaryError):
    """The account of the probe is still to be made."""

    def __init__(self) -> None:
        super().__init__("ProbeMissing", "The account with which the isolation is tried is not there yet.")


def check(own: Access, others: Sequence[Neighbour], *, until: float) -> Finding:
    """Try it at these, as many as there is time for. Raises ProbeMissing."""
    doors = [(one.name, one.access) for one in others if one.access is not None]
    if not doors:
        return finding.unchecked(finding.NO_OTHER)
    try:
        token = _token(own)
        is_known = _is_taken(own, token)
    except ProbeMissing:
        raise
    except OutsideError:
        is_known = False
    if not is_known:
        return finding.unchecked(finding.OWN_SILENT, again=True)
    tries = [(name, partial(_is_taken, door, token)) for name, door in doors]
    refused, took = finding.tally(tries, until=until)
    if took:
        hint = f"The API server of {', '.join(took)} took a token of this cluster: {_cause(own, doors)}"
        return finding.failed("TokenNotRefused", TAKEN, hint)
    return REFUSED if refused else finding.unchecked(finding.SILENT, again=True)


def _cause(own: Access, doors: Sequence[tuple[str, Access]]) -> str:
    """What is most likely wrong."""
    if any(door.server == own.server and door.prefix == own.prefix for _, door in doors):
        return "both clusters have the same address."
    return "compare their keys for ServiceAccounts and their stores."


def make_account(own: Access, spec: ClusterSpec, step: str) -> None:
    """The account without rights. Raises NameTaken for one that is not ours."""
    with closing(KubeClient(own, timeout=TIMEOUT)) as client:
        there = client.get(ACCOUNT)
        if there is not None and not marks.owned(there, spec):
            raise marks.name_taken(ACCOUNT, "the cluster's API server")
        client.apply(account(spec, step), ACCOUNT.kind)


def account(spec: ClusterSpec, step: str) -> Manifest:
    """As it is sent."""
    body = objects.manifest(
        ACCOUNT.kind, ACCOUNT.name, {"automountServiceAccountToken": False}, namespace=NAMESPACE
    )
    return marks.marked(body, spec, step)


def _token(own: Access) -> str:
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": SECONDS},
    }
    with closing(KubeClient(own, timeout=TIMEOUT)) as client:
        try:
            answer = client.post(ACCOUNT, "token", asked)
        except errors.ParentMissing as error:
            raise ProbeMissing from error
    return str((answer.get("status") or {}).get("token") or "")


def _is_taken(door: Access, token: str) -> bool:
    """Whether a server believes the token; only a 401 says that it does not. Raises OutsideError."""
    access = Access(door.server, door.ca_pem, token=token, prefix=door.prefix)
    with closing(KubeClient(access, timeout=TIMEOUT, connections=1)) as client:
        try:
            # says who one is to whoever is somebody, and needs no right
            client.create({"apiVersion": REVIEW.api_version, "kind": REVIEW.kind}, REVIEW)
        except errors.Unauthorized:
            return False
        except errors.Forbidden as error:
            if "system:serviceaccount:" in error.message:
                return True  # it knows who asks
            raise
    return True
