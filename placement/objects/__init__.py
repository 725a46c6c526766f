"""Domain rules: one module per resource; transactions and generation checks live here."""
