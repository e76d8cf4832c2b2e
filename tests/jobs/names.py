"""Job names that broke other portals."""

from __future__ import annotations

ODD_NAMES = [
    "数据-训练 🚀",
    'it\'s "v2"',
    "a|b",
    "site:run/7",
    "<img src=x onerror=alert(1)>",
    "$(id)",
    "x" * 255,
    "👩‍🔬 family",
    "back\\slash and `tick`",
    "{{ template }} {% tag %}",
]
