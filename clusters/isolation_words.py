"""What the step "isolation" tries and what it says of it, as people read it."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop

# what the step "isolation" tries, in the order in which it is shown
CHECKS: tuple[tuple[str, str], ...] = (
    ("api_server", gettext_noop("A token at another API server")),
    ("slurm", gettext_noop("A token at another Slurm")),
    ("ports", gettext_noop("Switch ports")),
    ("nodes", gettext_noop("Nodes")),
    ("elsewhere", gettext_noop("Machines in two places")),
)
# what it says of each: written by a worker, and only ever one of these
SAID: frozenset[str] = frozenset(
    {
        gettext_noop("passed: another tenant's API server answered this cluster's token with 401"),
        gettext_noop("passed: another tenant's Slurm refused a token signed with this cluster's key"),
        gettext_noop("passed: the network holds the ports of this cluster's machines and of no others"),
        gettext_noop("passed: the nodes are this cluster's machines and no others"),
        gettext_noop("passed: none of its machines is seen at another cluster"),
        gettext_noop("not checked, because there is no other server here at which to try it"),
        gettext_noop("not checked, because no other server answered"),
        gettext_noop("not checked, because this cluster's own server did not answer"),
        gettext_noop("not checked, because this cluster has no API server"),
        gettext_noop("not checked, because this cluster has no Slurm"),
        gettext_noop("not checked, because this cluster's API server is not ready yet"),
        gettext_noop("not checked, because this site has no network controller to ask"),
        gettext_noop("not checked, because nodes are called otherwise than machines here"),
        gettext_noop("not checked, because no server of this cluster lists its nodes"),
        gettext_noop("not checked, because the outside picks the machines and names none yet"),
        gettext_noop("failed: another tenant's API server took this cluster's token"),
        gettext_noop("failed: another tenant's Slurm took a token signed with this cluster's key"),
        gettext_noop("failed: the network does not hold the ports of this cluster's machines only"),
        gettext_noop("failed: a machine that is not this cluster's is among its nodes"),
        gettext_noop("failed: a machine is seen at this cluster and at another one"),
    }
)
PASSED = "passed: "


def said(stored: str) -> str:
    """In the reader's language; what nobody wrote down here stays as it is."""
    return gettext(stored) if stored in SAID else stored
