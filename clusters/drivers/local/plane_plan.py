"""The processes of a local control plane: how each is started, and the version of what it was told."""

from __future__ import annotations

from clusters.drivers.local import pki, plane_files
from clusters.drivers.local.daemons import Daemon
from clusters.drivers.local.planes import ETCD, GID, PEER, PLANE, SERVER, Plane
from clusters.drivers.local.programs import Programs
from clusters.drivers.local.slurm_plan import digest
from clusters.provisioning.steps import ClusterSpec

NICE = 5  # pages and jobs come first
CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",  # without it view, edit and admin hold nothing
    "resourcequota-controller",
)
# small heaps: there is one of these for each tenant
GO = (("GOMAXPROCS", "2"), ("GOGC", "50"))


def plan(spec: ClusterSpec, plane: Plane, ports: range, programs: Programs) -> tuple[Daemon, ...]:
    """In the order in which they start; each waits by itself for the one before."""
    told = {
        "etcd": (_etcd(plane, ports), ("etcd-ca", "etcd")),
        "kube-apiserver": (_server(spec, plane, ports), ("ca", "etcd-ca", "etcd-client", "server")),
        "kube-controller-manager": (_manager(plane), ("ca", "manager")),
    }
    return tuple(
        _daemon(spec, plane, (role, str(programs.path(role)), *options), certificates)
        for role, (options, certificates) in told.items()
    )


def endpoint(ports: range) -> str:
    """The API server's address."""
    return f"https://{pki.LOOPBACK}:{ports[SERVER]}"


def _daemon(spec: ClusterSpec, plane: Plane, told: tuple[str, ...], certificates: tuple[str, ...]) -> Daemon:
    role, *command = told
    known = [(plane.pki / f"{name}.crt").read_bytes() for name in certificates]
    return Daemon(
        role,
        ("nice", "-n", str(NICE), *command),
        spec.gid,
        GID,
        digest(*(word.encode() for word in command), *known),
        environment=(*GO, (PLANE, str(plane.root)), ("HOME", "/nonexistent")),
    )


def _etcd(plane: Plane, ports: range) -> tuple[str, ...]:
    client, peer = f"https://{pki.LOOPBACK}:{ports[ETCD]}", f"https://{pki.LOOPBACK}:{ports[PEER]}"
    tls = [
        f"--{kind}{option}"
        for kind in ("", "peer-")
        for option in (
            f"cert-file={plane.pki}/etcd.crt",
            f"key-file={plane.pki}/etcd.key",
            f"trusted-ca-file={plane.pki}/etcd-ca.crt",
            "client-cert-auth=true",
        )
    ]
    return (
        "--name=own",
        f"--data-dir={plane.store}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=own={peer}",
        *tls,
        "--log-level=warn",
        "--snapshot-count=5000",
        "--auto-compaction-retention=10m",
        "--quota-backend-bytes=1073741824",
    )


def _server(spec: ClusterSpec, plane: Plane, ports: range) -> tuple[str, ...]:
    issuer = f"https://{spec.name}.kube.internal"
    return (
        f"--bind-address={pki.LOOPBACK}",
        f"--advertise-address={pki.LOOPBACK}",
        f"--secure-port={ports[SERVER]}",
        f"--tls-cert-file={plane.pki}/server.crt",
        f"--tls-private-key-file={plane.pki}/server.key",
        "--tls-min-version=VersionTLS12",
        f"--client-ca-file={plane.pki}/ca.crt",
        f"--etcd-servers=https://{pki.LOOPBACK}:{ports[ETCD]}",
        f"--etcd-cafile={plane.pki}/etcd-ca.crt",
        f"--etcd-certfile={plane.pki}/etcd-client.crt",
        f"--etcd-keyfile={plane.pki}/etcd-client.key",
        "--authorization-mode=RBAC",
        "--anonymous-auth=false",
        f"--service-account-issuer={issuer}",
        f"--api-audiences={issuer}",
        f"--service-account-key-file={plane.pki}/{plane_files.TOKEN_PUBLIC}",
        f"--service-account-signing-key-file={plane.pki}/{plane_files.TOKEN_KEY}",
        "--service-account-extend-token-expiration=false",
        f"--service-cluster-ip-range={plane_files.SERVICES}",
        "--endpoint-reconciler-type=none",  # a loopback address is no endpoint
        "--profiling=false",
        "--watch-cache=false",
    )


def _manager(plane: Plane) -> tuple[str, ...]:
    return (
        f"--kubeconfig={plane.pki}/manager.json",
        f"--controllers={','.join(CONTROLLERS)}",
        f"--root-ca-file={plane.pki}/ca.crt",
        "--use-service-account-credentials=true",  # each controller's rights are its own account's
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
    )
