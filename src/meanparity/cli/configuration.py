"""Options from a TOML file: those of all commands, and a table for each command."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from meanparity.cli._typer import typer
from meanparity.exceptions import did_you_mean

_LARGEST = 2**20  # bytes
_DEEPEST = 50  # values inside each other
_NOT_IN_FILES = {"help", "config", "data", "model_file"}


def read_configuration(context: typer.Context, path: Path | None) -> Path | None:
    """Take the options in a file as the defaults of the command that is called."""
    if path is None or context.resilient_parsing:
        return path
    if not path.is_file():
        raise ValueError(f"There is no configuration file {str(path)!r}.")
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path.name} is larger than 1 MiB, which no configuration file needs.")
    try:
        text = path.read_text(encoding="utf-8")
        if _is_deep(text):
            raise ValueError("its values are nested too deeply")
        content = tomllib.loads(text)
    except ValueError as error:  # of TOML, of letters, or of a number with too many digits
        raise ValueError(f"{path.name} is not a TOML file: {error}.") from error
    found = find_options(context, content, path.name)
    context.default_map = {**(context.default_map or {}), **found}
    return path


def _is_deep(text: str) -> bool:
    """Whether so many brackets are open at a place that a parser could run out of stack."""
    depth = 0
    for bracket in re.findall(r"[][{}]", text):
        depth = max(depth + (1 if bracket in "[{" else -1), 0)
        if depth > _DEEPEST:
            return True
    return False


def find_options(context: typer.Context, content: dict[str, Any], name: str) -> dict[str, Any]:
    """The options of one command among those in a file, whose names are all checked."""
    root: Any = context.find_root().command
    commands = getattr(root, "commands", {})
    known = {command: _parameters(found) for command, found in commands.items()}
    here = str(context.info_name)
    common = {key: value for key, value in content.items() if not isinstance(value, dict)}
    everywhere = {option for options in known.values() for option in options}
    _refuse_unknown(common, everywhere, f"{name} has")
    for command, options in content.items():
        if not isinstance(options, dict):
            continue
        if command not in known:
            raise ValueError(
                f"{name} has a table [{command}], but the commands are {', '.join(known)}."
                f"{did_you_mean(command, known)}"
            )
        _refuse_unknown(options, known[command], f"[{command}] in {name} has")
    own = known.get(here, {})
    chosen = {**common, **content.get(here, {})}
    return {
        own[key].name: _value(own[key], value, f"{key} in {name}")
        for key, value in ((key.replace("_", "-"), value) for key, value in chosen.items())
        if key in own
    }


def _parameters(command: Any) -> dict[str, Any]:
    """The options of a command by their names in a file, such as "max-gap"."""
    found: dict[str, Any] = {}
    for parameter in command.params:
        long = [option[2:] for option in parameter.opts if option.startswith("--")]
        found |= {name: parameter for name in long if name not in _NOT_IN_FILES}
    return found


def _refuse_unknown(options: dict[str, Any], known: Any, where: str) -> None:
    for key in options:
        if key.replace("_", "-") not in known:
            raise ValueError(
                f"{where} an option {key!r} that is not known.{did_you_mean(key, known)} Options "
                "are named as on the command line, without the two hyphens."
            )


def _value(parameter: Any, value: Any, where: str) -> Any:
    """A value as the option takes it: a list for one that can be repeated."""
    if isinstance(value, list) != bool(parameter.multiple) and not (
        parameter.multiple and isinstance(value, str)
    ):
        kind = "a list or text" if parameter.multiple else "one value"
        raise ValueError(f"{where} is {value!r}. Pass {kind}.")
    if parameter.is_flag and not isinstance(value, bool):
        raise ValueError(f"{where} is {value!r}. Pass true or false.")
    return [value] if parameter.multiple and isinstance(value, str) else value
