"""Commands are argument lists and never a shell."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture import sources

STARTERS = {f"subprocess.{name}" for name in ("run", "Popen", "check_call", "check_output", "call")}
SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}
SHELLS |= {"asyncio.create_subprocess_shell"}


def problems(module: ast.AST) -> Iterator[str]:
    """Every call that starts a command in another way than by a list of arguments."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        name = sources.dotted(node.func)
        if name in SHELLS or any(keyword.arg == "shell" for keyword in node.keywords):
            yield f"line {node.lineno}: a shell"
        if name in STARTERS and (not node.args or isinstance(node.args[0], ast.JoinedStr | ast.Constant)):
            yield f"line {node.lineno}: the command is not a list"
        if name in STARTERS and node.args and isinstance(node.args[0], ast.List):
            words = [item.value for item in node.args[0].elts if isinstance(item, ast.Constant)]
            if words[:2] in (["sh", "-c"], ["bash", "-c"], ["/bin/sh", "-c"], ["/bin/bash", "-c"]):
                yield f"line {node.lineno}: a shell by name"


def test_every_command_is_a_list_of_arguments_and_no_shell() -> None:
    found = [
        f"{sources.name_of(path)} {problem}"
        for path in sources.python_files(*sources.PACKAGES, "tests")
        for problem in problems(sources.tree_of(path))
    ]
    assert found == []


def test_the_rule_finds_what_it_is_for() -> None:
    bad = ast.parse(
        "subprocess.run('ls | wc', shell=True)\nos.system('x')\nsubprocess.run(['sh', '-c', 'x'])"
    )
    assert len(list(problems(bad))) == 4
    good = ast.parse("subprocess.run([tool, '-q'], check=False)\nsubprocess.Popen(command)")
    assert list(problems(good)) == []
