"""A key of site.toml by its row, in every table: it is read, checked, and on the page of keys."""

import json

import pytest

from tests.contributing.conftest import Copy
from tests.contributing.tree import Tree

ADMISSION = "ostraka/services/admission/policy.py"
BELOW = (
    (ADMISSION, '    task: Path = Path("task.toml")\n'),
    (ADMISSION, "    min_parties: Annotated["),
    ("ostraka/client/run/site.py", '    encoder: str = ""\n'),
    ("ostraka/common/telemetry/registry.py", "    metrics: Address | None"),
)
"""Files of tables that say under each key what it is, and the first key of each."""
LISTED = (
    ("ostraka/common/config.py", "        listen: address to serve at", '    listen: Address = ""\n'),
    ("ostraka/guardian/ledger/site.py", "        url: URL of a Post", "    url: str | None"),
    ("ostraka/guardian/policy.py", "        enforce: which", "    enforce: ENFORCE"),
    ("ostraka/common/relay/section.py", "        address: address of the relay", "    address: Addresses"),
    ("ostraka/relay/section.py", "        certificate: PEM file with", "    certificate: Path | None"),
    ("ostraka/services/teachers/config.py", "        teachers: number of", "    teachers: Annotated["),
)
"""Files of tables that list what their keys are, with the first of the list, and the first key."""
ROW = "| `probes` | integer | `0` | How many probes there are. |"
KEY = "    probes: int = 0\n"
READ = """
import json, sys
from pathlib import Path
from ostraka.common.config import load_section, load_site
from ostraka.common.errors import OstrakaError
from ostraka.deploy.reference.settings_pages import SITE, pages

folder = Path(sys.argv[1])
site = ["federation = 'f'", "site = 's'", "role = 'query'", "guardian = '127.0.0.1:1'"]

def value(section, text):
    name = section.heading.partition("[")[2].partition("]")[0]
    needed = ["address = 'hub:1'"] if name and "address" in section.model.model_fields else []
    lines = [*site, *([f"[{name}]"] if name else []), *needed, f"probes = {text}"]
    (folder / "site.toml").write_text("\\n".join(lines))
    try:
        return (load_section(folder, name, section.model) if name else load_site(folder)).probes
    except OstrakaError as error:
        return str(error)

found = [[section.heading, value(section, 7), value(section, "'many'")] for section in SITE]
print(json.dumps([found, pages()["site.md"]]))
"""


@pytest.fixture(scope="module")
def added(copy: Copy) -> Tree:
    tree = copy("a key of site.toml")
    for file, first in BELOW:
        tree.insert(file, first, f'{KEY}    """How many probes there are."""\n')
    for file, said, first in LISTED:
        tree.insert(file, said, "        probes: how many probes there are.\n")
        tree.insert(file, first, KEY)
    return tree


@pytest.mark.heavy
def test_every_table_has_it(added: Tree) -> None:
    found, page = json.loads(added.python("-c", READ, str(added.root)))
    assert len(found) == len(BELOW) + len(LISTED) == page.count(ROW)
    for heading, given, wrong in found:
        assert given == 7, heading
        assert "probes: must be a whole number, is 'many'; correct it." in wrong, heading


@pytest.mark.heavy
def test_the_site_check_reads_it(added: Tree) -> None:
    site = added.root / "site"
    site.mkdir()
    lines = ["federation = 'f'", "site = 's'", "role = 'query'", "guardian = '127.0.0.1:1'"]
    (site / "site.toml").write_text("\n".join([*lines, "[query]", "probes = 'many'"]))
    done = added.run("-m", "ostraka.deploy.cli", "site", "check", str(site), "--json", "-")
    assert done.returncode != 0
    assert "query.probes: must be a whole number, is 'many'" in done.stdout
