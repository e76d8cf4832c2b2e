"""What the local drivers are told by whoever starts them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from portal.lib.errors import PermanentError


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Where the local drivers put things. Cannot be made in production: tenants' jobs run on this machine."""

    data: Path  # the data folder; each folder above it may be entered by everyone
    system_user: str  # the user of the portal's own processes; never an account of a cluster
    production: bool = False
    slurm_user: str = "slurm"  # who runs slurmctld and munged
    kept_days: int = 400  # how long the accounting of a cluster that is gone stays
    kube: Path | None = None  # the folder of the Kubernetes programs, where it is not the data folder's

    def __post_init__(self) -> None:
        if self.production:
            raise PermanentError(
                "LocalInProduction",
                "The local drivers do not run in production.",
                hint="Choose other drivers for the site.",
            )
        if not self.data.is_absolute() or any(letter.isspace() for letter in str(self.data)):
            raise PermanentError(
                "BadDataFolder", "The data folder needs an absolute path without blanks: Slurm reads it."
            )

    @property
    def clusters(self) -> Path:
        """The folder that holds one folder per cluster."""
        return self.data / "clusters"

    @property
    def programs(self) -> Path:
        """The folder that holds the Kubernetes programs, or links to them."""
        return self.kube or self.data / "kube"
