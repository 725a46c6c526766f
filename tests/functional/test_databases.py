"""tests.databases: each test has an empty database at head; tests.statements: the counter tells the truth."""

import pytest
import sqlalchemy as sa

from placement.db import tables
from tests.statements import counted


@pytest.mark.parametrize('turn', ['first', 'second'])
def test_is_empty_for_each_test(database, turn):
    for table in tables.metadata.tables:
        assert database.rows(f'SELECT * FROM {table}') == []
    database.execute("INSERT INTO traits (name) VALUES ('CUSTOM_LEFT_BEHIND')")
    assert len(database.rows('SELECT * FROM traits')) == 1


def test_is_of_its_dialect(database):
    version = database.rows(f'SELECT {"sqlite_version()" if database.dialect == "sqlite" else "version()"}')[0][0]
    assert ('MariaDB' in version) == (database.dialect == 'mariadb')


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_counts_what_the_server_counts(database):
    questions = "SHOW SESSION STATUS LIKE 'Questions'"
    with database.engine.connect() as connection:
        before = int(connection.execute(sa.text(questions)).one()[1])
        with counted() as statements:
            connection.execute(tables.traits.insert(), [{'name': 'A'}, {'name': 'B'}])
            connection.execute(
                tables.traits.update().where(tables.traits.c.name == sa.bindparam('old')),
                [{'old': 'A', 'name': 'C'}, {'old': 'B', 'name': 'D'}],
            )
            connection.commit()
            connection.execute(sa.select(tables.traits))
            connection.rollback()
        after = int(connection.execute(sa.text(questions)).one()[1])
    assert len(statements) == after - before - 1, str(statements)  # the question itself is one
    assert [text.split()[0] for text in statements.texts] == [
        'INSERT',
        'UPDATE',
        'UPDATE',
        'COMMIT',
        'SELECT',
        'ROLLBACK',
    ]
    assert len(statements.starting_with('update')) == 2
