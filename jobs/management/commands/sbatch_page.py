"""Writes docs/sbatch.md anew from the table of options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from jobs.parsing.options import page


class Command(BaseCommand):
    """python manage.py sbatch_page"""

    help = "Write docs/sbatch.md from the table of sbatch's options."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002
        """Overwrite the page."""
        (Path(settings.BASE_DIR) / "docs" / "sbatch.md").write_text(page.render(), encoding="utf-8")
