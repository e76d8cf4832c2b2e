"""Makes the plan of an order: data that says what each step will create in which system, with a hash."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from django.conf import settings
from django.db import transaction

from clusters import live
from clusters.models import Machine, Order, OrderKind, OrderLine, OrderState, Site
from clusters.names import nodes
from clusters.picking import they_pick
from clusters.provisioning.context import flavor_spec, site_settings
from clusters.provisioning.previews import preview_of
from clusters.provisioning.registry import steps_for
from clusters.provisioning.resize_plan import resize_plan
from clusters.provisioning.steps import ClusterSpec, PoolSpec, StepContext
from clusters.services.allocation import planned_machines
from clusters.services.capacity import capacity, free_machines
from clusters.services.identities import kinds_of, wanted_for
from clusters.services.plans import digest, inputs_of
from clusters.services.secrets import site_secrets
from portal.lib import clock
from portal.lib.errors import OutsideError, PermanentError
from portal.lib.types import JSONDict
from tenants.ids import short_name
from tenants.live.topics import publish

log = structlog.get_logger(__name__)


def make_plan(order_id: str) -> None:
    """Make the plan of an order that waits for approval, and store it. Any other order: nothing to do."""
    order = (
        Order.objects.select_related("site", "tenant", "cluster")
        .filter(pk=order_id, state=OrderState.SUBMITTED)
        .first()
    )
    if order is None:
        return
    try:
        plan = plan_for(order)
        plan_hash = digest(plan)
    except OutsideError as error:
        plan = {"error": {"reason": error.reason, "message": error.message, "hint": error.hint}}
        plan_hash = ""
    _store(order, plan, plan_hash)


def plan_for(order: Order) -> JSONDict:
    """The plan: pools with the machines that would be taken, and steps with what each makes.

    Raises PermanentError NoCapacity when the site has too few free machines now.
    """
    pools = _choose(order)
    if order.kind == OrderKind.RESIZE:
        return resize_plan(order, pools)
    spec = ClusterSpec(
        id=str(order.future_cluster_id),
        name=f"c-{short_name(order.future_cluster_id)}",
        title=order.cluster_name,
        tenant=order.tenant.slug,
        installation=settings.INSTALLATION,
        pools=tuple(
            PoolSpec(
                line.pool,
                flavor_spec(line.flavor),
                tuple(sorted(machine.name for machine in machines)),
                count=line.count if they_pick(order.site) else 0,
            )
            for line, machines in pools
        ),
        accounts=(),
        gid=0,
        parameters=order.parameters,
        awaited=(len(wanted_for(order.tenant_id)), len(kinds_of(order.site))),
    )
    ctx = StepContext(spec=spec, settings=site_settings(order.site), secrets=site_secrets(order.site))
    return {
        "inputs": inputs_of(order),
        "cluster": spec.name,
        "pools": [_pool(line, machines) for line, machines in pools],
        "steps": [
            {
                "name": step.name,
                "component": step.component,
                "needs": list(step.needs),
                "deadline_seconds": int(step.deadline.total_seconds()),
                "makes": list(step.describe(spec)),
                **preview_of(step, ctx),
            }
            for step in steps_for(order.site, order.stack)
        ],
    }


def _pool(line: OrderLine, machines: Sequence[Machine]) -> JSONDict:
    return {
        "name": line.pool,
        "flavor": line.flavor.name,
        **({} if machines else {"count": line.count}),
        "machines": [{"id": str(machine.pk), "name": machine.name} for machine in machines],
    }


def _choose(order: Order) -> list[tuple[OrderLine, list[Machine]]]:
    if they_pick(order.site):
        return _promise(order)
    promised = _promised(order.site, but=order)
    taken: set[object] = set()
    chosen: list[tuple[OrderLine, list[Machine]]] = []
    for line in order.lines.select_related("flavor").order_by("pool"):
        free = [machine for machine in free_machines(order.site, line.flavor) if machine.pk not in taken]
        # machines of other plans come last: two orders that wait should not want the same ones
        free.sort(key=lambda machine: (machine.pk in promised, machine.name))
        if len(free) < line.added:
            raise _too_few(order, line, len(free))
        chosen.append((line, sorted(free[: max(line.added, 0)], key=lambda machine: machine.name)))
        taken |= {machine.pk for machine in chosen[-1][1]}
    return chosen


def _promise(order: Order) -> list[tuple[OrderLine, list[Machine]]]:
    """Where the outside picks, no machine can be named; that enough are free is all there is to say."""
    there = capacity([order.site])
    left = {flavor: one.free for (_, flavor), one in there.items()}
    chosen: list[tuple[OrderLine, list[Machine]]] = []
    for line in order.lines.select_related("flavor").order_by("pool"):
        if left.get(line.flavor_id, 0) < line.added:
            raise _too_few(order, line, left.get(line.flavor_id, 0))
        left[line.flavor_id] = left.get(line.flavor_id, 0) - max(line.added, 0)
        chosen.append((line, []))
    return chosen


def _too_few(order: Order, line: OrderLine, free: int) -> PermanentError:
    return PermanentError(
        "NoCapacity",
        f"{order.site.name} has only {nodes(free)} of {line.flavor.name} free;"
        f" pool {line.pool} needs {line.added}.",
        hint="Free or add machines; the plan is made again by itself.",
    )


def _promised(site: Site, *, but: Order) -> set[object]:
    others = Order.objects.filter(site=site, state=OrderState.SUBMITTED).exclude(pk=but.pk)
    return {key for order in others for keys in planned_machines(order).values() for key in keys}


def _store(order: Order, plan: JSONDict, plan_hash: str) -> None:
    with transaction.atomic():
        row = Order.objects.select_for_update().get(pk=order.pk)
        if row.state != OrderState.SUBMITTED:
            return
        changed = row.plan != plan
        Order.objects.filter(pk=row.pk).update(plan=plan, plan_hash=plan_hash, planned_at=clock.now())
        if changed:
            log.info("plan.made", order=str(row.pk), plan=plan_hash or plan["error"]["reason"])
            for topic in live.of_order(row):
                publish(topic)
