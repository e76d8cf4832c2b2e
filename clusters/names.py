"""Turns what people type into names that Slurm, Kubernetes and we can all use, or says the rule."""

from __future__ import annotations

import re
import unicodedata

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

CLUSTER_LENGTH = 40
POOL_LENGTH = 30
RESERVED = frozenset({"default", "all", "none", "any", "unlimited", "infinite", "root", "slurm"})
RULE = gettext_lazy("letters, digits and hyphens, beginning with a letter")
SAFE = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")


class NameRefused(ValueError):
    """The name cannot be used or mapped; the text is the message beside the field."""


def safe_name(typed: str, *, longest: int) -> str:
    """The name under which a thing will run: "Team A" becomes team-a, "Ünï" becomes uni.

    The same text always gives the same name. Raises NameRefused.
    """
    text = typed.strip(" ")
    if not text:
        raise NameRefused(_("Enter a name: %(rule)s.") % {"rule": RULE})
    if any(unicodedata.category(letter) in {"Cc", "Cf", "Zl", "Zp", "Cs"} for letter in text):
        raise NameRefused(_("A name cannot hold line breaks or other control characters."))
    if len(text) > longest:
        raise NameRefused(
            _("A name has at most %(most)d characters; this one has %(long)d.")
            % {"most": longest, "long": len(text)}
        )
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not SAFE.fullmatch(name) or len(name) > longest:
        raise NameRefused(_("A name has %(rule)s; nothing usable is left of this one.") % {"rule": RULE})
    if name in RESERVED:
        raise NameRefused(
            _("The name %(name)s means something to Slurm or to us. Choose another.") % {"name": name}
        )
    return name


def cluster_name(typed: str) -> str:
    """A cluster's name. Raises NameRefused."""
    return safe_name(typed, longest=CLUSTER_LENGTH)


def pool_name(typed: str) -> str:
    """The name of a node pool and of its partition. Raises NameRefused."""
    return safe_name(typed, longest=POOL_LENGTH)


def nodes(count: int) -> str:
    """1 node, 2 nodes."""
    return ngettext("%(count)d node", "%(count)d nodes", count) % {"count": count}
