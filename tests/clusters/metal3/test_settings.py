"""A site's settings are right, or the key that is not is named."""

from __future__ import annotations

import pytest

from clusters.drivers.metal3 import Metal3Settings
from clusters.drivers.metal3.hosts import clean
from portal.lib.errors import PermanentError
from portal.lib.types import JSONDict
from tests.clusters.metal3.subject import IMAGE

GOOD: JSONDict = {"namespace": "metal3-system", "image": IMAGE}


def test_what_a_site_must_say_is_enough() -> None:
    found = Metal3Settings.from_site({"metal3": GOOD | {"images": {"cpu-8": {"url": "oci://host/image"}}}})
    assert (found.by_claims, found.user_data, found.image["url"]) == (False, "", IMAGE["url"])
    assert found.images["cpu-8"] == {"url": "oci://host/image"}


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"namespace": "Metal3"}, "metal3.namespace"),
        ({"image": None}, "metal3.image"),
        ({"image": IMAGE | {"checksumType": "md5"}}, "metal3.image"),
        ({"image": {"url": "https://a"}}, "metal3.image.checksum"),
        ({"image": IMAGE | {"url": "file:///etc/passwd"}}, "metal3.image.url"),
        ({"image": IMAGE | {"checksum_type": "crc"}}, "metal3.image.checksum_type"),
        ({"image": IMAGE | {"format": "zip"}}, "metal3.image.format"),
        ({"images": {"cpu": {}}}, "metal3.images.cpu"),
        ({"user_data": "{tenant}"}, "metal3.user_data"),
        ({"network_data": "../x"}, "metal3.network_data"),
        ({"mode": "claim"}, "metal3.mode"),
        ({"mode": "claims"}, "metal3.claim_namespace"),
        ({"host_label": "a b"}, "metal3.host_label"),
        ({"bmc": "x"}, "metal3.bmc"),
    ],
)
def test_what_is_wrong_is_named(wrong: JSONDict, key: str) -> None:
    with pytest.raises(PermanentError) as refused:
        Metal3Settings.from_site({"metal3": GOOD | wrong})
    assert refused.value.reason == "BadSiteSettings"
    assert key in refused.value.message


@pytest.mark.parametrize(
    "place",
    [
        "redfish://192.0.2.17/redfish/v1/Systems/1",
        "192.0.2.17:443",
        "idrac-virtualmedia+https://bmc.example.com/a?b=c",
        "[2001:db8::17]",
        "0c:42:a1:00:17:01",
        "host-017-bmc",
    ],
)
def test_no_place_of_a_bmc_is_repeated(place: str) -> None:
    told = clean(f"Get {place}: refused", {"credentialsName": "host-017-bmc", "address": "x://y"})
    assert told.startswith("Get ...")
    assert place not in told
    assert told.endswith("refused")
