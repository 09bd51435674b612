"""Where the documentation is."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata


@cache
def documentation() -> str:
    """The address in `project.urls`; empty as long as nobody has filled it in."""
    try:
        listed = metadata("meanparity").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    addresses = dict(one.split(", ", 1) for one in listed)
    address = addresses.get("Documentation", "")
    return "" if "OWNER" in address else address


class Documented:
    """Classes whose HTML representation in notebooks links to their page in the reference."""

    def _get_doc_link(self) -> str:
        kind, root = type(self), documentation()
        package, *parts = kind.__module__.split(".")
        if package != "meanparity" or not root:
            return ""
        home = "meanparity" if parts[0] == "estimators" else f"meanparity.{parts[0]}"
        return f"{root}/api/generated/{home}.{kind.__name__}.html"
