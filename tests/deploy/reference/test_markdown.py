from ostraka.deploy.images.locks import ROOT
from ostraka.deploy.reference.markdown import files_with_pages, page_of, relink


def test_links_out_of_docs_lead_to_pages_of_the_site() -> None:
    told = "[a](../examples/demo.toml) [b](../README.md#try-it) [c](../ostraka/protos/ostraka/v1) "
    told += "[d](task.md#keys)"
    assert relink(told, "simulation.md", ROOT) == (
        "[a](source/examples/demo.toml.md) [b](project/readme.md#try-it) [c](reference/protocol.md) "
        "[d](task.md#keys)"
    )
    assert relink("[a](../task.md)", "roles/data-scientist.md", ROOT) == "[a](../task.md)"


def test_links_of_the_readme_lead_into_docs() -> None:
    told = "![a](docs/img/demo.png) [b](docs/task.md) [c](https://example.org/docs/task.md) [d](#try-it)"
    assert relink(told, "project/readme.md", ROOT) == (
        "![a](../img/demo.png) [b](../task.md) [c](https://example.org/docs/task.md) [d](#try-it)"
    )


def test_a_link_to_what_is_not_there_stays_broken() -> None:
    assert relink("[a](../no/such.py)", "task.md", ROOT) == "[a](no/such.py)"


def test_what_pages_link_to_is_published() -> None:
    found = files_with_pages(ROOT)
    assert found["project/changelog.md"] == ROOT / "CHANGELOG.md"
    assert found["source/examples/demo.toml.md"] == ROOT / "examples" / "demo.toml"
    assert not any(uri.startswith(("img/", "task")) for uri in found)
    assert "``` toml\n" in page_of(ROOT / "examples" / "demo.toml")
