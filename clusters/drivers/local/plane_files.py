"""The files of a local control plane, and whether they are as they should be."""

from __future__ import annotations

import json
from pathlib import Path

from clusters.drivers.local import files, pki
from clusters.drivers.local.pki import Pair
from clusters.drivers.local.planes import SERVER, Plane

AUTHORITIES = ("ca", "etcd-ca")  # etcd trusts whom its authority signed, so it has one of its own
MANAGER = "system:kube-controller-manager"  # the name to which Kubernetes itself binds the role
SERVICES = "10.96.0.0/16"
FIRST_SERVICE = "10.96.0.1"  # the API server's own address inside the cluster
TOKEN_KEY, TOKEN_PUBLIC = "sa.key", "sa.pub"


def layout(plane: Plane, uid: int) -> tuple[tuple[Path, int, int], ...]:
    """Folder, mode, owner."""
    return (
        (plane.root, 0o711, 0),
        (plane.authority_keys, 0o700, 0),
        (plane.root / "local", 0o700, 0),
        (plane.log, 0o700, 0),
        (plane.pki, 0o711, 0),
        (plane.store, 0o700, uid),
    )


def authority(plane: Plane, name: str = "ca") -> Pair:
    """An authority that is there. Raises FileNotFoundError."""
    return Pair((plane.pki / f"{name}.crt").read_bytes(), (plane.authority_keys / f"{name}.key").read_bytes())


def write(plane: Plane, ports: range, *, uid: int) -> None:
    """Make what is missing or soon ends. A crash leaves whole files; what does not fit is made again."""
    for path, mode, owner in layout(plane, uid):
        files.ensure_folder(path, mode=mode, uid=owner, gid=0)
    for name in AUTHORITIES:
        if not (plane.pki / f"{name}.crt").exists():
            made = pki.new_authority(f"freehold {name}")
            files.write_atomic(plane.authority_keys / f"{name}.key", made.key, mode=0o400)
            files.write_atomic(plane.pki / f"{name}.crt", made.certificate, mode=0o444)
    for name in _leaves():
        if not _is_good(plane, name):
            made = _made(plane, name)
            files.write_atomic(plane.pki / f"{name}.key", made.key, mode=0o400, uid=uid)
            files.write_atomic(plane.pki / f"{name}.crt", made.certificate, mode=0o444)
    if not (plane.pki / TOKEN_PUBLIC).exists():
        key = pki.new_key()
        files.write_atomic(plane.pki / TOKEN_KEY, key, mode=0o400, uid=uid)
        files.write_atomic(plane.pki / TOKEN_PUBLIC, pki.public_pem(key), mode=0o444)
    config = manager_config(plane, ports)
    if not _holds(plane.pki / "manager.json", config):
        files.write_atomic(plane.pki / "manager.json", config, mode=0o444)


def are_good(plane: Plane, ports: range, *, uid: int) -> bool:
    """Whether `write` would change nothing."""
    folders = all(files.is_folder(path, mode=mode, uid=owner) for path, mode, owner in layout(plane, uid))
    whole = folders and all((plane.pki / f"{name}.crt").exists() for name in AUTHORITIES)
    return (
        whole
        and all(_is_good(plane, name) for name in _leaves())
        and (plane.pki / TOKEN_PUBLIC).exists()
        and _holds(plane.pki / "manager.json", manager_config(plane, ports))
    )


def manager_config(plane: Plane, ports: range) -> bytes:
    """The controller manager's kubeconfig; it names files and holds no secret."""
    user = {
        "client-certificate": str(plane.pki / "manager.crt"),
        "client-key": str(plane.pki / "manager.key"),
    }
    cluster = {
        "server": f"https://{pki.LOOPBACK}:{ports[SERVER]}",
        "certificate-authority": str(plane.pki / "ca.crt"),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "own", "cluster": cluster}],
        "users": [{"name": "manager", "user": user}],
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "manager"}}],
        "current-context": "own",
    }
    return json.dumps(config, indent=1).encode() + b"\n"


def _leaves() -> tuple[str, ...]:
    return ("etcd", "etcd-client", "server", "manager")


def _made(plane: Plane, name: str) -> Pair:
    if name == "etcd":
        return pki.leaf(authority(plane, "etcd-ca"), "etcd", serves=(pki.LOOPBACK, "localhost"))
    if name == "etcd-client":
        return pki.leaf(authority(plane, "etcd-ca"), "kube-apiserver")
    if name == "server":
        served = (pki.LOOPBACK, FIRST_SERVICE, *pki.SERVER_NAMES)
        return pki.leaf(authority(plane), "kube-apiserver", serves=served)
    return pki.leaf(authority(plane), MANAGER)


def _is_good(plane: Plane, name: str) -> bool:
    try:
        certificate = (plane.pki / f"{name}.crt").read_bytes()
        return pki.is_fresh(certificate) and pki.is_for(certificate, (plane.pki / f"{name}.key").read_bytes())
    except (FileNotFoundError, ValueError):
        return False


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.read_bytes() == content
    except FileNotFoundError:
        return False
