"""What a site says about Slurm in its clusters: the section "slinky" of its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.kube.section import IMAGE, NAME, QUANTITY, REGISTRY, VERSION, Section

SECTION: Final = "slinky"
DIRECT, GITOPS = "direct", "gitops"
PROXY, URL = "proxy", "url"
FILES, SSSD = "files", "sssd"
SERVICES = ("LoadBalancer", "NodePort", "ClusterIP")
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
USER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
SSH_KEY = re.compile(r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp256) [A-Za-z0-9+/=]+( [ -~]*)?")
REST_URL = re.compile(r"https://[A-Za-z0-9.{}-]+(:\d{1,5})?(/[A-Za-z0-9._{}/-]*)?")
CLUSTER = "{cluster}"  # in a URL: the cluster's name


@dataclass(frozen=True, slots=True)
class Charts:
    """Where charts come from; each is pinned, since an upgrade is a change that an operator makes."""

    repo: str = "oci://ghcr.io/slinkyproject/charts"
    version: str = "1.2.1"
    cert_manager_repo: str = "oci://quay.io/jetstack/charts"
    cert_manager: str = "v1.19.4"  # "": the site has it in its clusters already


@dataclass(frozen=True, slots=True)
class Images:
    """Container images of Slurm. With identity by files they need libnss-extrausers, which SchedMD's lack."""

    registry: str = "ghcr.io/slinkyproject"
    tag: str = "26.05-ubuntu26.04"
    helper: str = "docker.io/library/alpine:3.21"
    pull_secrets: tuple[str, ...] = ()

    def of(self, name: str) -> str:
        """slurmctld, slurmd, slurmdbd, slurmrestd or login."""
        return f"{self.registry}/{name}:{self.tag}"


@dataclass(frozen=True, slots=True)
class Home:
    """One volume for all nodes of a cluster; its class must give ReadWriteMany."""

    storage_class: str
    size: str = "1Ti"
    binds_late: bool = False  # the class waits for a first pod (WaitForFirstConsumer)


@dataclass(frozen=True, slots=True)
class Database:
    """A MariaDB for slurmdbd; each cluster has a database of its own in it."""

    host: str
    port: int = 3306
    user: str = "slurm"


@dataclass(frozen=True, slots=True)
class Login:
    """Pods for people's shells; none with 0 replicas."""

    replicas: int = 1
    service: str = "LoadBalancer"
    root_keys: tuple[str, ...] = ()  # break-glass keys of the operator; members come by the identity


@dataclass(frozen=True, slots=True)
class SlinkySettings:
    """Validated."""

    install: str = GITOPS
    charts: Charts = field(default_factory=Charts)
    images: Images = field(default_factory=Images)
    home: Home | None = None
    database: Database | None = None
    login: Login = field(default_factory=Login)
    identity: str = FILES
    vnode: bool = False
    detect: str = "nvidia"  # AutoDetect of gres.conf; "nvml" sees MIG slices and needs NVML in the image
    state_class: str = ""  # storage class of slurmctld's state; "": the cluster's default
    state_size: str = "4Gi"
    rest_url: str = ""  # "": through the cluster's API server
    rest_replicas: int = 1
    spare_cpus: int = 2  # of each node, for what is not Slurm
    spare_mib: int = 8192

    @classmethod
    def from_site(cls, settings: Mapping[str, Any]) -> SlinkySettings:
        """From a site's settings. Raises PermanentError BadSiteSettings, which names the key."""
        section = Section.of(settings, SECTION, KNOWN)
        return cls(
            install=section.one_of("install", (DIRECT, GITOPS), GITOPS),
            charts=_charts(section),
            images=_images(section),
            home=_home(section),
            database=_database(section),
            login=_login(section),
            identity=section.one_of("identity", (FILES, SSSD), FILES),
            vnode=section.flag("vnode", default=False),
            detect=section.one_of("detect", ("nvidia", "nvml", "off"), "nvidia"),
            state_class=section.text("state_class", "", form=NAME),
            state_size=section.text("state_size", "4Gi", form=QUANTITY),
            rest_url=section.text("rest_url", "", form=REST_URL),
            rest_replicas=section.count("rest_replicas", 1, least=1, most=10),
            spare_cpus=section.count("spare_cpus", 2, most=64),
            spare_mib=section.count("spare_mib", 8192, most=262_144),
        )

    def remarks(self) -> tuple[str, ...]:
        """What people should know before they order Slurm here: reasons of clusters.reasons."""
        return () if self.home is not None else ("HomeNotShared",)


KNOWN = frozenset(
    {
        *("install", "charts", "images", "home", "database", "login", "identity", "vnode", "detect"),
        *("state_class", "state_size", "rest_url", "rest_replicas", "spare_cpus", "spare_mib"),
    }
)


def _charts(section: Section) -> Charts:
    inner = section.inner("charts", {"repo", "version", "cert_manager_repo", "cert_manager"})
    if inner is None:
        return Charts()
    default = Charts()
    return Charts(
        repo=inner.url("repo", default.repo, schemes=("oci", "https")),
        version=inner.text("version", default.version, form=VERSION),
        cert_manager_repo=inner.url("cert_manager_repo", default.cert_manager_repo, schemes=("oci", "https")),
        cert_manager=inner.text("cert_manager", default.cert_manager, form=re.compile(f"|{VERSION.pattern}")),
    )


def _images(section: Section) -> Images:
    inner = section.inner("images", {"registry", "tag", "helper", "pull_secrets"})
    if inner is None:
        return Images()
    default = Images()
    return Images(
        registry=inner.text("registry", default.registry, form=REGISTRY),
        tag=inner.text("tag", default.tag, form=VERSION),
        helper=inner.text("helper", default.helper, form=IMAGE),
        pull_secrets=inner.texts("pull_secrets", form=NAME),
    )


def _home(section: Section) -> Home | None:
    inner = section.inner("home", {"storage_class", "size", "binds_late"})
    if inner is None:
        return None
    return Home(
        storage_class=inner.text("storage_class", form=NAME),
        size=inner.text("size", "1Ti", form=QUANTITY),
        binds_late=inner.flag("binds_late", default=False),
    )


def _database(section: Section) -> Database | None:
    inner = section.inner("database", {"host", "port", "user"})
    if inner is None:
        return None
    return Database(
        host=inner.text("host", form=HOST),
        port=inner.count("port", 3306, least=1, most=65535),
        user=inner.text("user", "slurm", form=USER),
    )


def _login(section: Section) -> Login:
    inner = section.inner("login", {"replicas", "service", "root_keys"})
    if inner is None:
        return Login()
    return Login(
        replicas=inner.count("replicas", 1, most=10),
        service=inner.one_of("service", SERVICES, "LoadBalancer"),
        root_keys=inner.texts("root_keys", form=SSH_KEY),
    )
