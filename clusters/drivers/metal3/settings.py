"""What a site says about its bare-metal machines: the section "metal3" of its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from portal.lib.errors import PermanentError

SECTION = "metal3"
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
LABEL = re.compile(r"([a-z0-9.-]{1,63}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
IMAGE_KEYS = {"url": "url", "checksum": "checksum", "checksum_type": "checksumType", "format": "format"}
CHECKSUMS = frozenset({"md5", "sha256", "sha512", "auto"})
FORMATS = frozenset({"raw", "qcow2", "vdi", "vmdk"})
KNOWN = frozenset(
    {"namespace", "image", "images", "user_data", "network_data", "mode", "claim_namespace", "host_label"}
)


@dataclass(frozen=True, slots=True)
class Metal3Settings:
    """Validated. A machine of the inventory is the BareMetalHost of the same name in `namespace`."""

    namespace: str
    image: Mapping[str, str]  # url, checksum, checksumType, format: as Metal3 writes them
    images: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by flavor, in place of `image`
    user_data: str = ""  # name of a Secret there; may hold {cluster} and {machine}
    network_data: str = ""  # likewise
    by_claims: bool = False  # HostClaims in place of the hosts themselves
    claim_namespace: str = ""
    host_label: str = "freehold.io/machine"  # on each host, with its own name: how a claim names one

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> Metal3Settings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = settings.get(SECTION)
        if not isinstance(section, Mapping):
            raise _bad(SECTION, "is missing")
        if unknown := sorted(set(map(str, section)) - KNOWN):
            raise _bad(unknown[0], "is not known")
        mode = section.get("mode", "hosts")
        if mode not in {"hosts", "claims"}:
            raise _bad("mode", "is neither hosts nor claims")
        by_flavor = section.get("images", {})
        if not isinstance(by_flavor, Mapping):
            raise _bad("images", "maps no flavors to images")
        label = str(section.get("host_label", "freehold.io/machine"))
        if LABEL.fullmatch(label) is None:
            raise _bad("host_label", "is no label's name")
        return cls(
            namespace=_name(section, "namespace"),
            image=_image(section.get("image"), "image"),
            images={str(name): _image(one, f"images.{name}") for name, one in by_flavor.items()},
            user_data=_pattern(section, "user_data"),
            network_data=_pattern(section, "network_data"),
            by_claims=mode == "claims",
            claim_namespace=_name(section, "claim_namespace") if mode == "claims" else "",
            host_label=label,
        )


def _image(image: object, key: str) -> Mapping[str, str]:
    if not isinstance(image, Mapping) or set(image) - IMAGE_KEYS.keys():
        raise _bad(key, f"holds something else than {', '.join(IMAGE_KEYS)}")
    if not str(image.get("url", "")).startswith(("https://", "http://", "oci://")):
        raise _bad(f"{key}.url", "is no address of an image")
    if not image.get("checksum") and not str(image["url"]).startswith("oci://"):
        raise _bad(f"{key}.checksum", "is missing: an image that nobody checks is not put on machines")
    if image.get("checksum_type", "auto") not in CHECKSUMS:
        raise _bad(f"{key}.checksum_type", f"is none of {', '.join(sorted(CHECKSUMS))}")
    if image.get("format", "raw") not in FORMATS:
        raise _bad(f"{key}.format", f"is none of {', '.join(sorted(FORMATS))}")
    return {IMAGE_KEYS[str(name)]: str(value) for name, value in image.items()}


def _name(section: Mapping[str, Any], key: str) -> str:
    value = section.get(key)
    if not isinstance(value, str) or NAME.fullmatch(value) is None:
        raise _bad(key, "is missing or no name of a namespace")
    return value


def _pattern(section: Mapping[str, Any], key: str) -> str:
    value = section.get(key, "")
    plain = str(value).replace("{cluster}", "c").replace("{machine}", "m")
    if not isinstance(value, str) or (value and NAME.fullmatch(plain) is None):
        raise _bad(key, "is no name of a Secret; it may hold {cluster} and {machine}")
    return value


def _bad(key: str, why: str) -> PermanentError:
    place = key if key == SECTION else f"{SECTION}.{key}"
    return PermanentError(
        "BadSiteSettings",
        f"The site's setting {place} {why}.",
        hint="Correct the settings of the site; nothing was changed outside.",
    )
