"""A site's settings are right, or the key that is not is named."""

from __future__ import annotations

import pytest

from clusters.drivers.netris import NetrisSettings
from portal.lib.errors import PermanentError
from portal.lib.types import JSONDict

GOOD: JSONDict = {
    "url": "https://netris.example.com",
    "user": "portal",
    "site": "DC1",
    "tenant": "portal",
    "template": "gpu",
}
RULE: JSONDict = {"name": "api", "action": "permit", "protocol": "tcp", "destination": "192.0.2.0/24"}


def test_what_a_site_must_say_is_enough() -> None:
    found = NetrisSettings.from_site({"netris": GOOD | {"acls": [RULE | {"ports": "8000-8080"}]}, "other": 1})
    assert (found.template, found.gateways, found.subnet_length) == ("gpu", True, 24)
    assert found.acls[0].ports == (8000, 8080)


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"url": ""}, "netris.url"),
        ({"user": None}, "netris.user"),
        ({"template": 3}, "netris.template"),
        ({"site": "DC\n1"}, "netris.site"),
        ({"gateway": True}, "netris.gateway "),
        ({"password": "x"}, "netris.password"),
        ({"gateways": "yes"}, "netris.gateways"),
        ({"subnet_length": 31}, "netris.subnet_length"),
        ({"acls": {}}, "netris.acls"),
        ({"acls": [RULE, RULE]}, "netris.acls"),
        ({"acls": [RULE | {"name": "own"}]}, "netris.acls.0.name"),
        ({"acls": [RULE | {"action": "drop"}]}, "netris.acls.0.action"),
        ({"acls": [RULE | {"protocol": "sctp"}]}, "netris.acls.0.protocol"),
        ({"acls": [RULE | {"destination": "10.0.0.1/8"}]}, "netris.acls.0.destination"),
        ({"acls": [RULE | {"ports": "0"}]}, "netris.acls.0.ports"),
        ({"acls": [RULE | {"protocol": "all", "ports": "80"}]}, "netris.acls.0.ports"),
    ],
)
def test_what_is_wrong_is_named(wrong: JSONDict, key: str) -> None:
    with pytest.raises(PermanentError) as refused:
        NetrisSettings.from_site({"netris": GOOD | wrong})
    assert refused.value.reason == "BadSiteSettings"
    assert key in refused.value.message
    with pytest.raises(PermanentError):
        NetrisSettings.from_site({})
