"""Privacy noise, shares and ties never come from a generator that is not cryptographic."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEEDED_BY_DESIGN = (
    "ostraka/common/datasets",  # the split of a data set
    "ostraka/common/estimators",  # training
    "ostraka/common/learning",  # training
    "ostraka/common/planning/search/forecast.py",  # simulated votes, for a search of what to ask
    "ostraka/common/planning/search/vote_sample.py",  # likewise
    "ostraka/guardian/planning/searching.py",  # likewise
    "ostraka/common/rpc",  # the jitter of a retry
    "ostraka/guardian/admin/client.py",  # likewise
    "ostraka/guardian/sessions/planned_voters.py",  # a public timetable
    "ostraka/services/voting/submission.py",  # likewise
    "ostraka/services/teachers",  # training
)
FORBIDDEN = ("random", "numpy.random", "torch.random", "torch.distributions", "scipy.stats.qmc")
TORCH_DRAWS = (
    "Generator",
    "bernoulli",
    "manual_seed",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
)
METHODS = (
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "normal_",
    "random_",
    "rvs",
    "uniform_",
)
"""Draws as methods: of a tensor, or of a distribution of scipy."""


def sources(folder: str) -> dict[str, str]:
    """Return the modules of a package that may draw nothing, by path."""
    files = {str(path.relative_to(ROOT)): path for path in (ROOT / "ostraka" / folder).rglob("*.py")}
    return {name: path.read_text() for name, path in files.items() if not name.startswith(SEEDED_BY_DESIGN)}


def draws(source: str) -> Iterator[str]:
    """Names of the generators that a module imports or reaches for, by whatever name it knows them."""
    tree = ast.parse(source)
    known = dict(_imported(tree))
    yield from (name for name in known.values() if _forbidden(name))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = _full(node, known)
            if node.attr in METHODS or _forbidden(name):
                yield name
        elif isinstance(node, ast.Call) and node.args and _constant(node.args[0]) and _loads(node.func):
            yield _constant(node.args[0])


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, with what it stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield alias.asname or alias.name, alias.name
                if alias.asname is None:
                    yield top, top
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _full(node: ast.Attribute, known: dict[str, str]) -> str:
    attributes, value = [node.attr], node.value
    while isinstance(value, ast.Attribute):
        attributes.insert(0, value.attr)
        value = value.value
    first = known.get(value.id, "?") if isinstance(value, ast.Name) else "?"
    return ".".join([first, *attributes])


def _forbidden(name: str) -> bool:
    torch = name.startswith("torch.") and name.split(".")[1] in TORCH_DRAWS
    return torch or any(name == module or name.startswith(f"{module}.") for module in FORBIDDEN)


def _loads(function: ast.expr) -> bool:
    return ast.unparse(function) in ("__import__", "import_module", "importlib.import_module")


def _constant(argument: ast.expr) -> str:
    """Return the forbidden module that a constant names, or nothing."""
    value = argument.value if isinstance(argument, ast.Constant) else ""
    return value if isinstance(value, str) and _forbidden(value) else ""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("folder", "scanned"),
    [
        ("guardian", {"ostraka/guardian/mechanisms/rule.py"}),
        ("common", {"ostraka/common/noise/exact_noise.py", "ostraka/common/sharing/shares.py"}),
        ("services", {"ostraka/services/voting/voting.py"}),
        ("client/students/dp_sgd", {"ostraka/client/students/dp_sgd/private_training.py"}),
    ],
)
def test_no_module_draws_from_a_generator_that_can_be_predicted(folder: str, scanned: set[str]) -> None:
    modules = sources(folder)
    assert scanned <= modules.keys()
    found = {name: list(draws(source)) for name, source in modules.items()}
    assert {name: drawn for name, drawn in found.items() if drawn} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "import random as r\nr.gauss(0, 1)",
        "from random import SystemRandom as S",
        "def f():\n    from random import random",
        "import numpy.random as r",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng()",
        "import numpy as xp\nxp.random.default_rng()",
        "import numpy\nnumpy.random.default_rng()",
        "import torch\ntorch.randn(3)",
        "import torch as t\nt.randn_like(x)",
        "import torch.nn\ntorch.rand(3)",
        "import torch\ntorch.Generator()",
        "import torch\ntorch.random.fork_rng()",
        "import torch\ntorch.empty(3).normal_(0, 40)",
        "from torch import randn",
        "from torch.distributions import Normal",
        "from scipy import stats\nstats.norm.rvs(size=3)",
        "__import__('random')",
        "import importlib\nimportlib.import_module('numpy.random')",
    ],
)
def test_the_scan_sees(source: str) -> None:
    assert list(draws(source))


@pytest.mark.parametrize(
    "source",
    [
        "import secrets",
        "noise.random",
        "noise.normal",
        "import numpy as np\nnp.round(1)",
        "from scipy import stats\nstats.norm.cdf(1)",
        "import torch\ntorch.nn.functional.normalize(x)",
    ],
)
def test_the_scan_lets_pass(source: str) -> None:
    assert list(draws(source)) == []


def test_a_fault_planted_in_the_production_source_is_seen() -> None:
    honest = (ROOT / "ostraka/common/noise/exact_noise.py").read_text()
    planted = honest.replace(
        "random_words(random, candidates)", "np.random.default_rng().integers(2**63, size=candidates)"
    )
    assert planted != honest
    assert list(draws(planted))
