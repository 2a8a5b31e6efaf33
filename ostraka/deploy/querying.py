"""The group `ostraka query`: a querying party's commands, and advice, which tries what parties do as well."""

from ostraka.client.cli.query import app

__all__ = ["app"]

app.add_lazy(
    "advise",
    "ostraka.deploy.advice.query_cli:advise",
    "Say what the parties' records would be worth beside your own, for what is left of their budgets.",
)
