"""Volcano as a stack: its scheduler by chart, its default queue open, and one job seen to be taken."""

from __future__ import annotations

from clusters.drivers.volcano.settings import VolcanoSettings
from clusters.drivers.volcano.steps import JobStep, VolcanoStep
from clusters.kube.gitops.installer import Installer
from clusters.kube.step import Clients
from clusters.provisioning.steps import Step

__all__ = ["JobStep", "VolcanoSettings", "VolcanoStep", "steps"]


def steps(
    settings: VolcanoSettings, *, tenants: Clients, gitops: Clients, installer: Installer
) -> tuple[Step, ...]:
    """Volcano, then a job."""
    return (VolcanoStep(settings, installer, gitops, tenants), JobStep(settings, tenants))
