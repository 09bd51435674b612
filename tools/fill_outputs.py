"""Write what the Python examples of a page print into the `text` blocks that follow them.

`python -m tools.fill_outputs docs/start.md docs/budgets.md`; the tests compare the two.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

EXAMPLE = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def examples(page: str) -> list[tuple[str, str | None]]:
    """The Python examples of a page, each with the output that the page shows, if any."""
    return [(match[1], match[2]) for match in EXAMPLE.finditer(page)]


def printed(code: str, names: dict, where: str) -> str:
    """Run an example, and return what it prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, where, "exec", dont_inherit=True), names)
    return "".join(line.rstrip() + "\n" for line in output.getvalue().splitlines())


def main() -> None:
    """Fill the pages that are named on the command line."""
    for name in sys.argv[1:]:
        path, names = Path(name), {"__name__": "__main__"}

        def filled(match: re.Match, names: dict = names, where: str = name) -> str:
            output = printed(match[1], names, where)
            if match[2] is None:
                return match[0]
            return f"```python\n{match[1]}```\n\n```text\n{output}```"

        path.write_text(EXAMPLE.sub(filled, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
