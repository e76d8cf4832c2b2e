"""Compares what we would apply with what is there, field by field that we set.

How a list is merged stands in the object's own managedFields: `k:` entries are elements by key, `v:`
entries are members of a set, anything else is one value. Fields that we once set and no longer want are
found there too. What others set beside ours is no difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from clusters.clients.kube.client import MANAGER
from clusters.clients.kube.models import Manifest
from clusters.kube.objects import Wanted
from clusters.kube.quantities import same_quantity
from clusters.kube.text import HIDDEN, without_secrets
from clusters.provisioning.steps import Difference

NOTHING = "(nothing)"
LONGEST = 200
BEFORE = 40  # letters before the first difference of long texts
Fields: TypeAlias = Mapping[str, Any]
NO_FIELDS: Fields = {}
EMPTY: tuple[Any, ...] = (None, "", 0, False, [])
# metadata that is not compared: the server's own, and the mark, which is looked at before
IDENTITY = frozenset({"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid"})
QUANTITIES = frozenset({"limits", "requests", "hard", "capacity", "overhead"})


def differences(wanted: Wanted, found: Manifest) -> tuple[Difference, ...]:
    """All of an object that is there; its secret values are left out. Without any, it is as we want it."""
    managed = (found.get("metadata") or {}).get("managedFields") or ()
    all_fields = _union(entry.get("fieldsV1") or {} for entry in managed)
    ours = _union(
        entry.get("fieldsV1") or {}
        for entry in managed
        if entry.get("manager") == MANAGER and entry.get("operation") == "Apply"
    )
    seen = [*_compare(wanted.manifest, found, all_fields, ""), *_unwanted(wanted.manifest, found, ours, "")]
    return tuple(
        Difference(
            str(wanted.ref), path, *_from_the_first(*(_shown(one, path, wanted.hidden) for one in pair))
        )
        for path, pair in seen
    )


Found: TypeAlias = Iterator[tuple[str, tuple[Any, Any]]]
_MISSING: Any = object()


def _compare(want: Any, have: Any, fields: Fields, path: str) -> Found:
    if path in IDENTITY:
        return
    if isinstance(want, Mapping) and isinstance(have, Mapping):
        for name, value in want.items():
            inner = f"{path}.{name}" if path else name
            yield from _compare(value, have.get(name, _MISSING), fields.get(f"f:{name}", NO_FIELDS), inner)
    elif isinstance(want, list | tuple) and isinstance(have, list):
        yield from _compare_lists(want, have, fields, path)
    elif not _same(want, have, path):
        yield path, (want, have)


def _compare_lists(want: Sequence[Any], have: list[Any], fields: Fields, path: str) -> Found:
    keys = _keys_of(fields)
    if keys:
        by_key = {_key_of(item, keys): item for item in have}
        for item in want:
            key = _key_of(item, keys)
            inner = f"{path}[{','.join(f'{name}={value}' for name, value in json.loads(key).items())}]"
            yield from _compare(item, by_key.get(key, _MISSING), fields.get(f"k:{key}", NO_FIELDS), inner)
    elif any(name.startswith("v:") for name in fields):
        for item in want:
            if item not in have:
                yield f"{path}[{item}]", (item, _MISSING)
    elif len(want) != len(have):
        yield path, (want, have)
    else:
        for number, (left, right) in enumerate(zip(want, have, strict=True)):
            yield from _compare(left, right, NO_FIELDS, f"{path}[{number}]")


def _unwanted(want: Any, have: Any, ours: Fields, path: str) -> Found:
    """Fields that we hold and do not want any more."""
    for entry, below in ours.items():
        if entry == ".":
            continue
        name, value, wish = _step_into(entry, want, have)
        inner = f"{path}.{name}" if path and not name.startswith("[") else f"{path}{name}"
        if inner in IDENTITY or value is _MISSING:
            continue
        if wish is _MISSING:
            yield inner, (_MISSING, value)
        elif below:
            yield from _unwanted(wish, value, below, inner)


def _step_into(entry: str, want: Any, have: Any) -> tuple[str, Any, Any]:
    """What an entry of fieldsV1 stands for: its name, what is there, and what is wanted."""
    form, _, rest = entry.partition(":")
    if form == "f":
        return (
            rest,
            have.get(rest, _MISSING) if isinstance(have, Mapping) else _MISSING,
            want.get(rest, _MISSING) if isinstance(want, Mapping) else _MISSING,
        )
    try:
        key = json.loads(rest)
    except ValueError:
        return rest, _MISSING, _MISSING
    if form == "k" and isinstance(key, dict):
        names = tuple(key)
        name = f"[{','.join(f'{left}={right}' for left, right in key.items())}]"
        return name, _with_key(have, rest, names), _with_key(want, rest, names)
    inside = key if isinstance(have, list) and key in have else _MISSING
    return f"[{key}]", inside, key if isinstance(want, list | tuple) and key in want else _MISSING


def _with_key(items: Any, key: str, names: tuple[str, ...]) -> Any:
    if not isinstance(items, list | tuple):
        return _MISSING
    wanted = _canonical(json.loads(key))
    return next((item for item in items if _key_of(item, names) == wanted), _MISSING)


def _keys_of(fields: Fields) -> tuple[str, ...]:
    first = next((name for name in fields if name.startswith("k:")), "")
    try:
        return tuple(json.loads(first.removeprefix("k:"))) if first else ()
    except ValueError:
        return ()


def _key_of(item: Any, keys: tuple[str, ...]) -> str:
    # what a key leaves out has the server's default; protocol is the one that Kubernetes' kinds have
    defaults = {"protocol": "TCP"}
    given = item if isinstance(item, Mapping) else {}
    return _canonical({name: given.get(name, defaults.get(name)) for name in keys})


def _canonical(key: Mapping[str, Any]) -> str:
    return json.dumps(dict(sorted(key.items())), separators=(",", ":"))


def _union(trees: Any) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for tree in trees:
        for name, below in tree.items():
            merged[name] = _union([merged.get(name) or {}, below or {}])
    return merged


def _same(want: Any, have: Any, path: str) -> bool:
    if have is _MISSING or have is None:
        return _is_empty(want)  # Kubernetes leaves out what is empty
    if want == have and isinstance(want, bool) == isinstance(have, bool):
        return True
    parts = set(path.replace("[", ".").split("."))
    if parts & QUANTITIES:
        return same_quantity(want, have)
    return False


def _is_empty(value: Any) -> bool:
    return all(map(_is_empty, value.values())) if isinstance(value, Mapping) else value in EMPTY


def _shown(value: Any, path: str, hidden: tuple[str, ...]) -> str:
    if value is _MISSING:
        return NOTHING
    if any(path == secret or path.startswith((f"{secret}.", f"{secret}[")) for secret in hidden):
        return HIDDEN
    shown = value if isinstance(value, str) else without_secrets(value, hidden, path)
    return shown if isinstance(shown, str) else json.dumps(shown, sort_keys=True)


def _from_the_first(want: str, have: str) -> tuple[str, str]:
    """Long texts from a little before the first letter in which they differ, so that it is seen."""
    if max(len(want), len(have)) <= LONGEST:
        return want, have
    alike = next(
        (place for place, (left, right) in enumerate(zip(want, have, strict=False)) if left != right),
        min(len(want), len(have)),
    )
    begin = max(alike - BEFORE, 0) if alike > LONGEST // 2 else 0
    return _cut(want, begin), _cut(have, begin)


def _cut(text: str, begin: int) -> str:
    more = "\N{HORIZONTAL ELLIPSIS}"
    part = (more if begin else "") + text[begin:]
    return part if len(part) <= LONGEST else part[: LONGEST - 1] + more
