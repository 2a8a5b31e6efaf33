"""Privacy noise, shares and ties never come from a generator that is not cryptographic."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("guardian", "common", "services")
SEEDED_BY_DESIGN = (
    "common/datasets",  # the split of a data set
    "common/rpc",  # the jitter of a retry
    "services/submission.py",  # likewise
    "services/teachers",  # training
)
FORBIDDEN = ("random", "numpy.random", "torch.random")
TORCH_DRAWS = ("rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "manual_seed")


def sources() -> list[Path]:
    files = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return [path for path in files if not str(path.relative_to(ROOT)).startswith(SEEDED_BY_DESIGN)]


def draws(source: str) -> Iterator[str]:
    """Names of the generators that a module imports or reaches for."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node).replace("np.", "numpy.", 1)]
        else:
            continue
        yield from (name for name in names if _forbidden(name))


def _forbidden(name: str) -> bool:
    torch = name.startswith("torch.") and name.split(".")[1] in TORCH_DRAWS
    return torch or any(name == module or name.startswith(f"{module}.") for module in FORBIDDEN)


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_draws_from_a_generator_that_can_be_predicted(path: Path) -> None:
    assert list(draws(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import random",
        "import numpy.random as r",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng()",
        "import torch\ntorch.randn(3)",
        "import torch\ntorch.random.fork_rng()",
        "from torch import randn",
    ],
)
def test_the_scan_sees(source: str) -> None:
    assert list(draws(source))


@pytest.mark.parametrize("source", ["import secrets", "noise.random", "import numpy as np\nnp.round(1)"])
def test_the_scan_lets_pass(source: str) -> None:
    assert list(draws(source)) == []
