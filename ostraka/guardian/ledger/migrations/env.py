"""Runs migrations in the transaction that `ostraka.guardian.ledger.migrations.migrate` began."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
