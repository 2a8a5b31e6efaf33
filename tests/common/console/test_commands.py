from typing import Annotated

import typer
from typer.testing import CliRunner

from ostraka.common.console.commands import CommandGroup


def test_tables_of_a_file_stand_in_help_as_they_are_written() -> None:
    group = CommandGroup("Names of tables.")

    @group.command()
    def one(data: Annotated[str, typer.Option(help="By default data in [training].")] = "") -> None:
        """Do nothing."""

    @group.command()
    def other() -> None:
        """Make a group of several commands."""

    shown = CliRunner().invoke(group, ["one", "--help"], env={"COLUMNS": "120"}).output
    assert "By default data in [training]." in shown
