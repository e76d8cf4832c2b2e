"""Manifests as people and Git read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from clusters.clients.kube.models import Manifest

HIDDEN = "(secret)"


class _Dumper(yaml.SafeDumper):
    """Long texts as blocks; every list indented below its key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """See yaml."""
        del indentless
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def to_yaml(manifest: Manifest) -> str:
    """One document; the same manifest always gives the same text."""
    plain = _plain(manifest)
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def without_secrets(value: Any, hidden: tuple[str, ...], path: str = "") -> Any:
    """The value with what lies at the hidden paths left out; the names of a hidden map's entries stay."""
    if path in hidden:
        return dict.fromkeys(value, HIDDEN) if isinstance(value, Mapping) else HIDDEN
    if isinstance(value, Mapping):
        return {
            name: without_secrets(below, hidden, f"{path}.{name}" if path else name)
            for name, below in value.items()
        }
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(below) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(below) for below in value]
    return value
