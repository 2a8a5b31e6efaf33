"""The group `ostraka query`: a querying party's commands, and advice, which also tries parties' steps."""

from ostraka.client.cli.query import app

__all__ = ["app"]

app.add_lazy(
    "advise",
    "ostraka.deploy.advice.query_cli:advise",
    "Estimate what the parties' records would add to your own, for what is left of their budgets.",
)
