"""Pages, sockets, admin and API reach rows only through the one door."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

from tenants.scoping import PeopleQuerySet, TenantQuerySet
from tests.architecture import sources

INTERFACES = {"views", "web", "api", "admin", "consumer", "consumers", "forms"}
DOORS = {"for_actor", "for_operator"}


def interfaces() -> list[Path]:
    """The modules that requests enter."""
    found = []
    for path in sources.python_files():
        parts = set(path.relative_to(sources.ROOT).with_suffix("").parts)
        if INTERFACES & parts and "management" not in parts and "templatetags" not in parts:
            found.append(path)
    return found


def trespasses(tree: ast.Module) -> Iterator[int]:
    """Lines where rows are taken past the door.

    Allowed: `X.objects.for_actor(...)`, `X.objects.for_operator(...)`; `X.objects.all()` as the first
    argument of `get_visible`; and a queryset named at the module's level, which no request can reach in
    any other way than by `NAME.all()` in get_visible or `NAME.for_actor(...)`; the `rows` of a LiveKind,
    on which get_visible is called; and models that belong to no tenant, such as the catalogue.
    """
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    constants = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_of_objects(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        is_rows = isinstance(node, ast.Attribute) and node.attr == "objects"
        is_constant = isinstance(node, ast.Name) and node.id in constants and isinstance(node.ctx, ast.Load)
        if not (is_rows or is_constant):
            continue
        assert isinstance(node, ast.expr)
        if isinstance(node, ast.Attribute) and sources.dotted(node.value) in open_models():
            continue
        if not _goes_through(node, parents, tree):
            yield node.lineno


def open_models() -> set[str]:
    """Names of models without a door: they belong to nobody in particular."""
    guarded = (TenantQuerySet, PeopleQuerySet)
    return {m.__name__ for m in apps.get_models() if not isinstance(m._default_manager.all(), guarded)}


def _is_of_objects(node: ast.expr) -> bool:
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute) and node.attr == "objects":
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False


def _goes_through(node: ast.expr, parents: dict[ast.AST, ast.AST], tree: ast.Module) -> bool:
    """Climb the chain of calls that begins with these rows: does it pass a door?"""
    present: ast.AST = node
    while (parent := parents.get(present)) is not None:
        if isinstance(parent, ast.Attribute) and parent.attr in DOORS:
            return True
        if isinstance(parent, ast.Call) and present in parent.args:
            if sources.dotted(parent.func) == "get_visible":
                return parent.args[0] is present
            if _in_rows(parent, parents):
                return True
        if isinstance(parent, ast.Assign):
            return parent in tree.body
        if isinstance(parent, ast.keyword | ast.Lambda):
            return _in_rows(present, parents)
        if not isinstance(parent, ast.Attribute | ast.Call):
            return False
        present = parent
    return False


def _in_rows(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Inside `rows=lambda: ...` of a LiveKind."""
    while (parent := parents.get(node)) is not None and isinstance(
        parent, ast.Call | ast.Lambda | ast.keyword
    ):
        if isinstance(parent, ast.keyword):
            return parent.arg == "rows"
        node = parent
    return False


def test_rows_are_reached_through_the_door() -> None:
    found = interfaces()
    assert len(found) > 8
    wrong = [
        f"{sources.name_of(path)}:{line}" for path in found for line in trespasses(sources.tree_of(path))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("get_visible(Order.objects.all(), actor, pk)", 0),
        ("rows = Order.objects.for_actor(actor).order_by('x')", 0),
        ("def f():\n    return Order.objects.select_related('x').for_actor(actor)", 0),
        ("ROWS = Order.objects.select_related('x')\ndef f():\n    return get_visible(ROWS.all(), a, pk)", 0),
        ("def f():\n    return Order.objects.get(pk=pk)", 1),
        ("def f():\n    rows = Order.objects.all()\n    return rows", 1),
        ("ROWS = Order.objects.select_related('x')\ndef f():\n    return ROWS.get(pk=pk)", 1),
        ("show(Order.objects.all())", 1),
        ("LiveKind(rows=lambda: cast(X, Order.objects.all()))", 0),
        ("show(lambda: Order.objects.all())", 1),
        ("def f():\n    return Site.objects.filter(active=True)", 0),
    ],
)
def test_the_rule_finds_what_it_is_for(source: str, count: int) -> None:
    assert len(list(trespasses(ast.parse(source)))) == count
