"""Runs migrations in the transaction that `ostraka.guardian.ledger.migrate` began."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], now_ms=context.config.attributes["now_ms"]
)
context.run_migrations()
