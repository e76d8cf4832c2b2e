"""Which steps make a cluster at a site: each driver that the site names gives those of its concerns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.conf import settings

from clusters.models import Site
from clusters.provisioning import plane_drivers, stack_drivers, use
from clusters.provisioning.placed import place
from clusters.provisioning.steps import Step
from portal.lib import env
from portal.lib.errors import PermanentError

# What a site names a driver for. A stack that it can serve is a concern too, of the stack's name.
CONCERNS = ("machines", "fabric", "control_plane", "nodes", "access", "gitops", "gpu", "home", "accounting")
# Steps that a site may do without: who needs one of them needs nothing instead.
OPTIONAL = frozenset({"machines", "fabric", "nodes", "access", "gpu", "addons", "home", "accounting"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a driver is asked for."""

    site: Site
    stack: str  # of clusters.models.Stack
    concerns: frozenset[str]  # those that the site gave to this driver
    before: tuple[str, ...] = ()  # for the driver of EVERYWHERE: what its step comes after


Factory = Callable[[Wanted], tuple[Step, ...]]


def _local(wanted: Wanted) -> tuple[Step, ...]:
    # imported late: only workers of a site need its drivers
    from clusters.drivers.local.factory import steps  # noqa: PLC0415
    from clusters.drivers.local.settings import LocalSettings  # noqa: PLC0415

    return steps(
        LocalSettings(
            data=settings.DATA_FOLDER,
            system_user=env.text("FREEHOLD_USER", "freehold"),
            production=settings.PRODUCTION,
            kept_days=env.number("FREEHOLD_ACCOUNTING_DAYS", 400),
        ),
        wanted.concerns,
    )


EVERYWHERE = "isolation"  # the driver whose step ends every plan

FACTORIES: dict[str, Factory] = {
    "local": _local,
    "metal3": plane_drivers.metal3,
    "vcluster_nodes": plane_drivers.vcluster_nodes,
    "joined": plane_drivers.joined,
    "netris": plane_drivers.netris,
    "vcluster_platform": plane_drivers.vcluster_platform,
    "vcluster_gitops": plane_drivers.vcluster_gitops,
    "gitops": stack_drivers.gitops,
    "slinky": stack_drivers.slinky,
    "gpu_operator": stack_drivers.gpu_operator,
    "kubernetes_stack": stack_drivers.kubernetes_stack,
    "volcano": stack_drivers.volcano,
    EVERYWHERE: stack_drivers.isolation,
}


def steps_for(site: Site, stack: str) -> tuple[Step, ...]:
    """The steps of a cluster with this stack at the site, each after those that it needs.

    Raises PermanentError: NoDriver when the site names a driver that this release does not have,
    StackNotServed when it names none for the stack, BadPlan when the steps do not fit together.
    """
    steps = [
        step
        for driver, concerns in _drivers(site, stack).items()
        for step in _factory(site, driver)(Wanted(site, stack, frozenset(concerns)))
    ]
    names = tuple(step.name for step in steps)
    after = (use.PROOF,) if use.PROOF in names else names
    steps += FACTORIES[EVERYWHERE](Wanted(site, stack, frozenset(), after))
    return _in_order(_without_absent(steps))


def _drivers(site: Site, stack: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for concern in (*CONCERNS, stack):
        if name := site.drivers.get(concern):
            found[str(name)].append(concern)
    if not site.drivers.get(stack):
        raise PermanentError(
            "StackNotServed",
            f"The site {site.name} has no driver for {stack}.",
            hint=f"Name one in the site's drivers, under {stack}.",
        )
    return found


def _factory(site: Site, driver: str) -> Factory:
    factory = FACTORIES.get(driver)
    if factory is None:
        raise PermanentError(
            "NoDriver",
            f"The site {site.name} names a driver that this release does not have.",
            hint=f"Correct the site's drivers; known are: {', '.join(sorted(FACTORIES))}.",
        )
    return factory


def _without_absent(steps: list[Step]) -> list[Step]:
    absent = OPTIONAL - {step.name for step in steps}
    return [place(step, absent=absent) for step in steps]


def _in_order(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Each step after those that it needs, otherwise in the order given."""
    waiting, placed = list(steps), list[Step]()
    names: set[str] = set()
    while waiting:
        fits = next((step for step in waiting if names.issuperset(step.needs)), None)
        if fits is None or fits.name in names:
            stuck = fits or waiting[0]
            missing = ", ".join(sorted(set(stuck.needs) - names)) or "itself, a second time"
            raise PermanentError(
                "BadPlan",
                f"The step {stuck.name} needs {missing}.",
                hint="Name a driver for what is missing in the site's drivers.",
            )
        waiting.remove(fits)
        placed.append(fits)
        names.add(fits.name)
    return tuple(placed)
