"""`ostraka guardian consent`: which level of the policy a group of records has."""

import typer

from ostraka.guardian.commands.budgets_table import show_budgets
from ostraka.guardian.commands.operation_commands import add_operations

app = typer.Typer(help="Consent levels of groups.", no_args_is_help=True)
add_operations(app, "consent", lambda reply, json: show_budgets([reply.budget], json))
