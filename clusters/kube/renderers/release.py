"""A release of a Helm chart, whoever installs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Release:
    """What `helm install NAME CHART --namespace --version --values` would be told.

    `repo` is "oci://host/path" (the chart's name is added) or the https address of a classic repository.
    `values` never hold a secret: charts take references to Secrets.
    """

    name: str
    namespace: str
    chart: str
    repo: str
    version: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_oci(self) -> bool:
        """Whether the chart is in an OCI registry."""
        return self.repo.startswith("oci://")

    @property
    def oci_url(self) -> str:
        """The chart itself in the registry."""
        return f"{self.repo.rstrip('/')}/{self.chart}"
