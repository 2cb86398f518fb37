"""Print the lowest version of everything that an installed pinvlearn may need, as constraints.

`make test-lowest` installs with them, so that a minimum in pyproject.toml is a promise kept.
"""

import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

PROJECT = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
MINIMUM = re.compile(r"(?P<name>[\w.-]+)(\[.*\])?>=(?P<version>[\w.]+)")


def constraints() -> Iterator[str]:
    """One line `name==version` for each requirement; the project's own extras have none."""
    for requirement in chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        if requirement.startswith(f"{PROJECT['name']}["):
            continue
        minimum = MINIMUM.fullmatch(requirement)
        if minimum is None:
            raise SystemExit(f"{requirement!r} has no minimum: write it as name>=version")
        yield f"{minimum['name']}=={minimum['version']}"


if __name__ == "__main__":
    print(*constraints(), sep="\n")
