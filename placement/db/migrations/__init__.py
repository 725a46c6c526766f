"""The alembic environment: the revisions of the schema. `placement.db.migration` runs them."""
