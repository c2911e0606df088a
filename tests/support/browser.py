"""Headless Chromium as installed on the system: nothing is downloaded."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING
from typing import Any

from plugins.tools.terminal import install_group


if TYPE_CHECKING:
    from collections.abc import Iterator


NAMES = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str | None:
    """Return what is missing and how to get it, or None."""
    try:
        import playwright  # noqa: F401, PLC0415 - an optional dependency
    except ModuleNotFoundError:
        return f"Playwright is not installed; {install_group('browser')}"
    if program() is None:
        return "Chromium is not installed; apt install chromium"
    return None


def program() -> str | None:
    """Return the path of the browser."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Run the browser until the end of the block."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an optional dependency

    with sync_playwright() as playwright:
        # In a container Chromium cannot build its own sandbox; it only sees our own pages.
        browser = playwright.chromium.launch(
            executable_path=program(),
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        try:
            yield browser
        finally:
            browser.close()
