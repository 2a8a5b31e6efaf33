"""`ostraka guardian consent`: which level of the policy a group of records has."""

import typer

from ostraka.guardian.commands.budget_commands import say_set, say_state
from ostraka.guardian.commands.operation_commands import add_operations

app = typer.Typer(help="Set and withdraw consent of groups.", no_args_is_help=True)
add_operations(app, "consent", say_state, set=say_set)
