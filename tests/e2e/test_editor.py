"""The code editor in a browser, and that its library is what its sources make."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e import node_packages
from tests.e2e.provider_pages import sign_in_strictly
from tests.e2e.small_portal import SmallPortal

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
BUILT = ROOT / "static" / "vendor" / "codemirror-6" / "codemirror.min.js"
OPTIONS = ("--bundle", "--format=esm", "--minify", "--target=es2022", "--legal-comments=none")


def test_the_library_is_built_of_what_is_locked() -> None:
    folder = node_packages.installed(ROOT / "setup" / "editor", ["library.mjs"])
    build = [str(folder / "node_modules" / ".bin" / "esbuild"), "library.mjs", *OPTIONS]
    environment = {"PATH": f"{node_packages.NODE.parent}:/usr/bin:/bin"}
    done = subprocess.run(build, cwd=folder, env=environment, capture_output=True, check=True, timeout=60)
    assert done.stdout == BUILT.read_bytes()
    assert "--outfile" in (BUILT.parent / "SOURCES").read_text(encoding="utf-8")


def test_the_editor_completes_options_and_stays_the_forms_field(
    strict_portal: SmallPortal, browser: Browser
) -> None:
    context = browser.new_context(base_url=strict_portal.url)
    page = context.new_page()
    page.goto("/welcome/")
    sign_in_strictly(page, "edda")
    page.get_by_label("Short name").fill("lab-edda")
    page.get_by_label("Name", exact=True).fill("Lab Edda")
    page.get_by_label("I accept the terms").check()
    page.get_by_role("button", name="Found a tenant").click()
    page.wait_for_url(re.compile("/t/lab-edda/"))

    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url) if "codemirror" in request.url else None)
    page.goto("/t/lab-edda/templates/new/")
    page.get_by_label("Name", exact=True).fill("by hand")
    assert fetched == []  # not before it is asked for
    field = page.locator("textarea[name=script]")
    field.focus()
    editor = page.get_by_role("textbox", name="Script")
    expect(editor).to_be_focused()
    expect(page.locator(".cm-editor")).to_be_visible()
    page.keyboard.press("Control+End")
    page.keyboard.type("#SBATCH --nod")
    page.get_by_role("option", name=re.compile("^--nodes ?[0-9]")).click()
    page.keyboard.type("2\n/bin/echo hello")  # a slash is text here, elsewhere the way to the search
    expect(field).to_have_value("#!/bin/bash\n\n#SBATCH --nodes=2\n/bin/echo hello")
    # text put over several lines at once (input method, test, drop) leaves nothing that the policy stops
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("#!/bin/bash\n\n#SBATCH --nodes=3\necho hello")
    editor.fill("#!/bin/bash\n\n#SBATCH --nodes=2\necho hello")
    expect(field).to_have_value("#!/bin/bash\n\n#SBATCH --nodes=2\necho hello")
    # Tab goes on to the next field
    page.keyboard.press("Tab")
    expect(page.get_by_label("Parameters")).to_be_focused()
    editor.focus()
    page.keyboard.press("Control+Enter")  # as in every field
    expect(page.get_by_role("heading", name="by hand")).to_be_visible()
    expect(page.locator("#script")).to_have_text(re.compile("--nodes=2\necho hello"))
    assert problems == []
    context.close()
