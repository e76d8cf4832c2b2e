"""`make lock`: writes requirements/*.txt with hashes; the tests' lock holds everything of the portal's."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONS = ("--no-emit-index-url", "--generate-hashes", "--no-header", "--python-version", "3.11", "--quiet")


def main() -> int:
    """Resolve with uv, in an environment of its own that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([f"{folder}/bin/pip", "install", "--quiet", "uv"], check=True)
        compile_lock = [f"{folder}/bin/uv", "pip", "compile", *OPTIONS, *sys.argv[1:], "pyproject.toml"]
        run, dev = Path("requirements/run.txt"), Path("requirements/dev.txt")
        subprocess.run([*compile_lock, "--output-file", str(run)], check=True)
        subprocess.run(
            [*compile_lock, "-c", str(run), "--group", "dev", "--output-file", str(dev)], check=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
