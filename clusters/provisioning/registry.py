"""Which steps serve a site: looked up by the driver that its machines come from."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings

from clusters.models import Site
from clusters.provisioning.steps import Step
from portal.lib import env
from portal.lib.errors import PermanentError

Factory = Callable[[Site], tuple[Step, ...]]


def _local(site: Site) -> tuple[Step, ...]:  # noqa: ARG001  # one machine, the same for every site
    # imported late: only workers of a local site need the driver
    from clusters.drivers.local.factory import steps  # noqa: PLC0415
    from clusters.drivers.local.settings import LocalSettings  # noqa: PLC0415

    return steps(
        LocalSettings(
            data=settings.DATA_FOLDER,
            system_user=env.text("FREEHOLD_USER", "freehold"),
            production=settings.PRODUCTION,
        )
    )


FACTORIES: dict[str, Factory] = {"local": _local}


def steps_for(site: Site) -> tuple[Step, ...]:
    """The steps of a Slurm cluster at the site, each after those that it needs. Raises PermanentError."""
    name = str(site.drivers.get("machines", ""))
    factory = FACTORIES.get(name)
    if factory is None:
        raise PermanentError(
            "NoDriver",
            f"The site {site.name} names a driver that this release does not have.",
            hint=f"Correct the site's drivers; known are: {', '.join(sorted(FACTORIES))}.",
        )
    steps = factory(site)
    _check_order(steps)
    return steps


def _check_order(steps: tuple[Step, ...]) -> None:
    seen: set[str] = set()
    for step in steps:
        missing = set(step.needs) - seen
        if missing or step.name in seen:
            raise PermanentError("BadPlan", f"The step {step.name} stands before {sorted(missing)}.")
        seen.add(step.name)
