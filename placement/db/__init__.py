"""Tables, transactions and migrations: everything that knows SQL dialects."""
