"""The demo's catalogue: one site on this machine, three flavors, machines and prices."""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import F

from clusters.models import Cluster, Flavor, Machine, Offering, Phase, Site, StepStatus
from clusters.services.wake import wake
from portal.lib.errors import PermanentError

SITE = "demo"
DRIVERS = {
    "machines": "local",
    "fabric": "local",
    "control_plane": "local",
    "accounting": "local",
    "slurm": "local",
    "kubernetes": "kubernetes_stack",
}
MACHINES = 10
OVER = (Phase.DELETED, Phase.FAILED)
# name, GPU model, Slurm's type, GPUs, CPUs, MiB, network, price of a node and hour
FLAVORS = (
    ("a100-4", "NVIDIA A100 80 GB", "a100", 4, 16, 64 * 1024, "2 x 200 Gb/s", "9.80"),
    ("h100-8", "NVIDIA H100 80 GB", "h100", 8, 64, 256 * 1024, "8 x 400 Gb/s", "31.20"),
    ("cpu-32", "", "", 0, 32, 128 * 1024, "2 x 25 Gb/s", "1.10"),
)


def load() -> None:
    """Make what is missing, drivers of an older demo too; what is there stays as it is.

    Raises PermanentError in production.
    """
    if settings.PRODUCTION:
        raise PermanentError("LocalInProduction", "The demo's site does not exist in production.")
    with transaction.atomic():
        site, _ = Site.objects.get_or_create(
            slug=SITE, defaults={"name": "Demo site", "drivers": DRIVERS, "task_queue": "local"}
        )
        _complete(site)
        for name, model, gpu_type, gpus, cpus, memory, network, price in FLAVORS:
            flavor, _ = Flavor.objects.get_or_create(
                name=name,
                defaults={
                    "gpu_model": model,
                    "gpu_type": gpu_type,
                    "gpu_count": gpus,
                    "cpus": cpus,
                    "memory_mib": memory,
                    "network": network,
                },
            )
            Offering.objects.get_or_create(
                site=site, flavor=flavor, defaults={"price_per_hour": Decimal(price)}
            )
            for number in range(1, MACHINES + 1):
                Machine.objects.get_or_create(
                    site=site, name=f"{name}-{number:02}", defaults={"flavor": flavor}
                )
        _look_for_programs_again()


def _complete(site: Site) -> None:
    """A driver that came with a newer release; "" in its place keeps it out. Clusters get its steps."""
    drivers = DRIVERS | site.drivers
    if drivers == site.drivers:
        return
    site.drivers = drivers
    site.save(update_fields=["drivers"])
    for cluster in Cluster.objects.filter(site=site, wanted=True).exclude(phase__in=OVER):
        wake(cluster, generation=F("generation") + 1)


def _look_for_programs_again() -> None:
    """Whoever starts the portal again may have installed what control planes waited for."""
    reasons = ("KubeAssetsMissing", "AccountingMissing")
    missing = Cluster.objects.filter(steps__status=StepStatus.STALLED, steps__reason__in=reasons)
    for cluster in missing.distinct().select_related("site"):
        wake(cluster)
