"""An error code by its row: explained, on the page, and carried by its gRPC status."""

import pytest

from tests.contributing.conftest import Copy
from tests.contributing.tree import Tree

CATALOGUE = "ostraka/common/error_catalogue.toml"
NAME = "batch.too_early"
SHOWN = """
from ostraka.common.errors import ErrorCode, OstrakaError, status_of
error = OstrakaError(ErrorCode.BATCH_TOO_EARLY, "Wait.")
print(error.code, status_of(error.code))
"""


@pytest.fixture(scope="module")
def added(copy: Copy) -> Tree:
    tree = copy("an error code")
    tree.insert(
        "ostraka/common/errors.py",
        '    BATCH_TOO_LARGE = "batch.too_large"\n',
        f'    BATCH_TOO_EARLY = "{NAME}"\n',
    )
    beside = (tree.root / CATALOGUE).read_text().partition('["batch.too_large"]\n')[2].partition("\n\n")[0]
    tree.insert(CATALOGUE, '["batch.too_large"]\n', f'["{NAME}"]\n{beside}\n\n')
    tree.python("-m", "ostraka.deploy.error_page")
    return tree


@pytest.mark.heavy
def test_it_is_explained_on_the_page_of_errors(added: Tree) -> None:
    assert f'<a id="batch-too_early"></a>`{NAME}`' in (added.root / "docs" / "errors.md").read_text()
    added.check("tests/common/test_error_catalogue.py", "tests/common/test_errors.py")


@pytest.mark.heavy
def test_it_can_be_raised(added: Tree) -> None:
    assert added.python("-c", SHOWN).split() == [NAME, "FAILED_PRECONDITION"]
