"""Where other projects and the `alembic` program look for the schema revisions (contract: service.md 7.5)."""
