"""The README for a page outside the repository: its relative links become addresses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def absolute_links(text: str, repository: str) -> str:
    """The same Markdown, with links to files of the repository and pictures as addresses."""

    def address(match: re.Match[str]) -> str:
        start, target = match["start"], match["target"]
        kind = "raw" if start.startswith("!") else "blob"
        return f"{start}{repository}/{kind}/main/{target})"

    return re.sub(r"(?P<start>!?\[[^\]]*\]\()(?!https?:|#)(?P<target>[^)\s]+)\)", address, text)


class ReadmeHook(MetadataHookInterface):
    """Adds the README to the metadata, with the address of ``project.urls``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in ``readme``."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = metadata["urls"]["Repository"]
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, repository),
        }
