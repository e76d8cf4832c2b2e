"""Turns rows into the frozen values that drivers see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings

from clusters.models import (
    AllocationStage,
    Cluster,
    Flavor,
    NodePool,
    Site,
    SlurmEndpoint,
    SlurmIdentity,
    StepState,
)
from clusters.picking import they_pick
from clusters.provisioning import limits
from clusters.provisioning.steps import AccountSpec, ClusterSpec, FlavorSpec, PoolSpec, StepContext
from clusters.services.prefixes import give_prefix, prefix_of
from clusters.services.secrets import secrets_for
from clusters.services.unix_ids import ports_of
from portal.lib.crypto import unseal
from tenants.models import Membership, SshKey


def flavor_spec(flavor: Flavor) -> FlavorSpec:
    """A flavor as drivers see it."""
    return FlavorSpec(
        name=flavor.name,
        gpu_type=flavor.gpu_type,
        gpu_count=flavor.gpu_count,
        cpus=flavor.cpus,
        memory_mib=flavor.memory_mib,
    )


def cluster_spec(cluster: Cluster) -> ClusterSpec:
    """What the cluster should be, as its rows say now."""
    pools = (
        NodePool.objects.filter(cluster=cluster)
        .select_related("flavor")
        .prefetch_related("allocations__machine")
        .order_by("pk")
    )
    return ClusterSpec(
        id=str(cluster.pk),
        name=cluster.external_name,
        title=cluster.name,
        tenant=cluster.tenant.slug,
        installation=settings.INSTALLATION,
        pools=tuple(
            spec
            for spec in (
                _pool_spec(pool, they_pick=they_pick(cluster.site))
                for pool in sorted(pools, key=lambda pool: pool.name)
            )
            if spec.machines or spec.leaving or spec.count
        ),
        accounts=tuple(_account_specs(_identities(cluster))),
        gid=cluster.gid or 0,
        prefix=prefix_of(cluster),
        parameters=cluster.parameters,
        enforces_limits=limits.are_wanted(cluster),
    )


def _pool_spec(pool: NodePool, *, they_pick: bool) -> PoolSpec:
    def names(stage: AllocationStage) -> tuple[str, ...]:
        live = (one for one in pool.allocations.all() if one.released_at is None and one.stage == stage)
        return tuple(sorted(allocation.machine.name for allocation in live))

    return PoolSpec(
        name=pool.name,
        flavor=flavor_spec(pool.flavor),
        machines=names(AllocationStage.HELD),
        leaving=names(AllocationStage.LEAVING),
        count=pool.count if they_pick else 0,
    )


def _identities(cluster: Cluster) -> Iterable[SlurmIdentity]:
    rows = SlurmIdentity.objects.filter(cluster=cluster).order_by("uid")
    return rows.prefetch_related("membership__ssh_keys")


def _account_specs(identities: Iterable[SlurmIdentity]) -> Iterable[AccountSpec]:
    for identity in identities:
        yield AccountSpec(
            name=identity.name,
            uid=identity.uid,
            gid=identity.gid,
            kind=identity.kind,  # type: ignore[arg-type]  # the choices are the same three words
            active=identity.active,
            keys=_keys_of(identity),
        )


def _keys_of(identity: SlurmIdentity) -> tuple[str, ...]:
    """Of who may open a shell; they were read along."""
    member: Membership | None = identity.membership
    if not identity.active or member is None:
        return ()
    rows: Iterable[SshKey] = member.ssh_keys.all()
    return tuple(key.line for key in rows)


def site_settings(site: Site) -> Mapping[str, Any]:
    """The site's settings for its drivers; "site" tells sites apart."""
    return {**site.settings, "site": site.slug}


def facts_of(cluster: Cluster) -> dict[str, dict[str, str]]:
    """What the cluster's steps told last, by step."""
    return {state.name: dict(state.facts) for state in StepState.objects.filter(cluster=cluster)}


def cause_of(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Who wanted the cluster as it is, by which order: for records that outside systems keep of a change."""
    order = (
        cluster.orders.exclude(decided_at=None).select_related("created_by").order_by("-decided_at").first()
    )
    return {"order": {"order": str(order.pk), "actor": str(order.created_by)}} if order else {}


def step_context(cluster: Cluster) -> StepContext:
    """Everything that a step may know in one pass; of facts, only the cause. Raises PermanentError."""
    give_prefix(cluster)
    endpoint = SlurmEndpoint.objects.filter(cluster=cluster).first()
    jwt_key = {"slurm-jwt-key": unseal(bytes(endpoint.sealed_jwt_key))} if endpoint else {}
    return StepContext(
        spec=cluster_spec(cluster),
        settings=site_settings(cluster.site),
        facts=cause_of(cluster),
        secrets=secrets_for(cluster) | jwt_key,
        ports=ports_of(cluster),
    )
