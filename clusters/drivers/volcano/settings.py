"""What a site says about Volcano: the section "volcano" of its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from clusters.kube.site_settings import Section

SECTION: Final = "volcano"
REPO = re.compile(r"(oci|https)://[a-z0-9][a-z0-9.-]*(:\d{1,5})?(/[A-Za-z0-9._-]+)*")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}")
REGISTRY = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d{1,5})?")
IMAGE = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d{1,5})?(/[a-z0-9._-]+)+:[A-Za-z0-9._-]{1,127}")


@dataclass(frozen=True, slots=True)
class VolcanoSettings:
    """Validated."""

    repo: str = "https://volcano-sh.github.io/helm-charts"
    version: str = "1.15.1"
    registry: str = "docker.io"
    image: str = "docker.io/library/busybox:1.37"  # of the job that shows that it works

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> VolcanoSettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = Section({SECTION: {}, **settings}, SECTION, cls.__dataclass_fields__)
        default = cls()
        return cls(
            repo=section.text("repo", REPO, "is no address of a chart repository", default.repo),
            version=section.text("version", VERSION, "is no version of a chart", default.version),
            registry=section.text("registry", REGISTRY, "is no host of a registry", default.registry),
            image=section.text("image", IMAGE, "is no image with a tag", default.image),
        )
