"""The pictures in docs/images, except the landmarks' (`python -m benchmarks.landmark_curves`).

`python -m benchmarks.doc_figures` runs the demo in a temporary folder, and takes its plot of the
tradeoff and a picture of the upper part of its report in Chromium.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from examples import demo

IMAGES = Path(__file__).parent.parent / "docs" / "images"
WIDTH, HEIGHT = 1000, 1100


def main() -> None:
    """Make both pictures anew."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        demo.main()
        shutil.copy(demo.OUTPUT / "tradeoff.png", IMAGES / "tradeoff.png")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto((demo.OUTPUT / "report.html").resolve().as_uri())
            page.screenshot(path=IMAGES / "report.png")
            browser.close()
        os.chdir(IMAGES)


if __name__ == "__main__":
    main()
