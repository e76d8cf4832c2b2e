"""What a site says about GPUs in its clusters: the section "gpu_operator" of its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.kube.site_settings import Section

SECTION: Final = "gpu_operator"
DIRECT, GITOPS = "direct", "gitops"
REPO = re.compile(r"(oci|https)://[a-z0-9][a-z0-9.-]*(:\d{1,5})?(/[A-Za-z0-9._-]+)*")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}")
PROFILE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
OFF = "all-disabled"


@dataclass(frozen=True, slots=True)
class Sharing:
    """How the GPUs of a flavor's nodes are divided. Slices of time share memory: only within one tenant."""

    mig: str = ""  # a profile of mig_profiles
    slices: int = 0


@dataclass(frozen=True, slots=True)
class GpuSettings:
    """Validated."""

    install: str = GITOPS
    repo: str = "https://helm.ngc.nvidia.com/nvidia"
    version: str = "v26.7.0"
    driver: bool = True  # False: the machines' image has it
    sharing: Mapping[str, Sharing] = field(default_factory=dict)  # by flavor
    mig_profiles: Mapping[str, Any] = field(default_factory=dict)  # as mig-parted writes them

    @property
    def is_direct(self) -> bool:
        """Whether the site's clusters have the operator already, and we send its policy."""
        return self.install == DIRECT

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> GpuSettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        known = ("install", "repo", "version", "driver", "sharing", "mig_profiles")
        section, default = Section({SECTION: {}, **settings}, SECTION, known), cls()
        profiles = section.mapping("mig_profiles")
        for name, devices in profiles.items():
            if PROFILE.fullmatch(name) is None or not isinstance(devices, list):
                raise section.bad(f"mig_profiles.{name}", "is no list of devices under a plain name")
        return cls(
            install=section.choice("install", (DIRECT, GITOPS), GITOPS),
            repo=section.text("repo", REPO, "is no address of a chart repository", default.repo),
            version=section.text("version", VERSION, "is no version of a chart", default.version),
            driver=section.flag("driver", default=True),
            sharing={flavor: _sharing(section, flavor, profiles) for flavor in section.mapping("sharing")},
            mig_profiles=profiles,
        )


def _sharing(section: Section, flavor: str, profiles: Mapping[str, Any]) -> Sharing:
    name = f"{SECTION}.sharing.{flavor}"
    inner = Section({name: section.mapping("sharing")[flavor]}, name, ("mig", "slices"))
    found = Sharing(
        mig=inner.text("mig", PROFILE, "is no name of a profile", ""),
        slices=inner.number("slices", 0, least=0, most=64),
    )
    if bool(found.mig) is bool(found.slices) or found.slices == 1:
        raise section.bad(f"sharing.{flavor}", "is neither one MIG profile nor 2 or more slices of time")
    if found.mig and found.mig not in profiles:
        raise section.bad(f"sharing.{flavor}.mig", "is none of mig_profiles")
    return found
