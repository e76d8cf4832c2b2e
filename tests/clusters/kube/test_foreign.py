"""Kubeconfigs from outside: what is used, and what is refused."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusters.kube import foreign
from portal.lib.errors import PermanentError, TemporaryError

CA = b"-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n"


def config(*, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> dict[str, Any]:
    """A plain one, with changes; None takes a key away."""
    base = {
        "server": "https://api.example.org:6443/kubernetes/cluster",
        "certificate-authority-data": base64.b64encode(CA).decode(),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": _changed(base, cluster)}],
        "users": [{"name": "u", "user": _changed({"token": "t0k3n"}, user)}],
    }


def _changed(base: dict[str, Any], changes: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in {**base, **(changes or {})}.items() if value is not None}


def parse(content: dict[str, Any], public: str = "") -> Any:
    return foreign.parse(yaml.safe_dump(content).encode(), public_server=public)


def test_a_plain_one_gives_server_ca_and_token() -> None:
    access = parse(config())
    assert (access.server, access.prefix) == ("https://api.example.org:6443", "/kubernetes/cluster")
    assert (access.ca_pem, access.token) == (CA, "t0k3n")
    assert "t0k3n" not in repr(access)


def test_a_certificate_comes_with_its_key() -> None:
    pem = base64.b64encode(b"pem").decode()
    both = {"token": None, "client-certificate-data": pem, "client-key-data": pem}
    assert parse(config(user=both)).key_pem == b"pem"
    with pytest.raises(PermanentError, match="neither a token nor a certificate"):
        parse(config(user={**both, "client-key-data": None}))


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        ("user", "exec", {"command": "sh", "args": ["-c", "id"]}),
        ("user", "auth-provider", {"name": "gcp"}),
        ("user", "tokenFile", "/etc/passwd"),
        ("user", "client-certificate", "/etc/passwd"),
        ("user", "client-key", "/etc/shadow"),
        ("user", "username", "admin"),
        ("user", "as", "system:admin"),
        ("cluster", "insecure-skip-tls-verify", True),
        ("cluster", "insecure-skip-tls-verify", False),
        ("cluster", "proxy-url", "http://169.254.169.254"),
        ("cluster", "certificate-authority", "/etc/ssl/ca.pem"),
        ("cluster", "tls-server-name", "other.example.org"),
    ],
)
def test_what_could_run_read_or_redirect_is_refused(where: str, name: str, value: object) -> None:
    assert parse(config())
    with pytest.raises(PermanentError, match="was refused") as refused:
        parse(config(**{where: {name: value}}))
    assert refused.value.reason == "KubeconfigRefused"
    assert name in refused.value.message


@pytest.mark.parametrize(
    "server",
    ["http://api.example.org", "https://user:pw@api.example.org", "https://", "file:///etc/passwd", 7, ""],
)
def test_only_a_plain_https_address_is_used(server: object) -> None:
    with pytest.raises(PermanentError):
        parse(config(cluster={"server": server}))


@pytest.mark.parametrize("host", ["localhost:8443", "127.0.0.1", "127.9.9.9:1", "[::1]:6443", "0.0.0.0:1"])
def test_an_address_of_the_servers_own_machine_is_not_ready_or_replaced(host: str) -> None:
    content = config(cluster={"server": f"https://{host}"})
    with pytest.raises(TemporaryError) as refused:
        parse(content)
    assert refused.value.reason == "KubeconfigNotReady"
    access = parse(content, public="https://platform.example.org/kubernetes/project/x")
    assert (access.server, access.prefix) == ("https://platform.example.org", "/kubernetes/project/x")


def test_without_a_ca_it_is_refused() -> None:
    with pytest.raises(PermanentError, match="no CA"):
        parse(config(cluster={"certificate-authority-data": None}))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<!doctype html><title>Sign in</title>",
        b"\xff\xfe",
        b"a: &a [x]\nb: [*a, *a]\n",
        b"!!python/object/apply:os.system ['id']",
        b"[" * 200_000,
        b"x" * (foreign.LONGEST + 1),
        b"apiVersion: v1\nkind: Secret\n",
    ],
)
def test_what_is_no_kubeconfig_is_refused(content: bytes) -> None:
    with pytest.raises(PermanentError, match="was refused"):
        foreign.parse(content)


def test_nothing_was_run_or_read(tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    with pytest.raises(PermanentError):
        parse(config(user={"exec": {"command": "touch", "args": [str(witness)]}}))
    assert not witness.exists()
