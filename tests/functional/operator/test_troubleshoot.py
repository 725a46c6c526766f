"""docs/troubleshoot.md shows what the commands print."""

import os
import re
import shlex
from pathlib import Path

import pytest

from tests import databases
from tests.functional.db.conftest import Command
from tests.functional.operator.conftest import UPDATE, uuid_of

PAGE = Path(__file__).parents[3] / 'docs' / 'troubleshoot.md'
EXAMPLE = re.compile(r'(?<=^```\n)\$ placement-manage (.*)\n([^`]*)(?=^```$)', re.MULTILINE)
MIGRATION = '5b5ce3d2-0c3c-4c5e-9a53-0f5f2f3f7a01'


@pytest.fixture
def incident(cloud: databases.Database) -> None:
    """A lowered ratio, a migration that nobody confirmed, and a server that is gone."""
    run = cloud.execute
    run("INSERT INTO consumer_types (id, name) VALUES (1, 'INSTANCE'), (2, 'MIGRATION')")
    run("UPDATE consumers SET consumer_type_id = 1, created_at = '2026-11-02 09:30:00'")
    run(
        'INSERT INTO consumers (uuid, project_id, user_id, generation, consumer_type_id, created_at) '
        "VALUES (:uuid, 1, 1, 1, 2, '2026-11-20 14:05:00')",
        uuid=MIGRATION,
    )
    run(
        'INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) '
        'SELECT p.id, :uuid, c.id, 57344 FROM resource_providers p, resource_classes c '
        "WHERE p.name = 'host3' AND c.name = 'MEMORY_MB'",
        uuid=MIGRATION,
    )
    run(
        'UPDATE inventories SET allocation_ratio = 0.5 '
        "WHERE resource_provider_id = (SELECT id FROM resource_providers WHERE name = 'host1') "
        "AND resource_class_id = (SELECT id FROM resource_classes WHERE name = 'VCPU')"
    )


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
@pytest.mark.usefixtures('incident')
def test_examples(manage: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path('servers').write_text(f'{uuid_of("server1")}\n{uuid_of("server3")}\n')

    def run(match: re.Match[str]) -> str:
        _, out, err = manage(*shlex.split(match[1]))
        assert err == ''
        return f'$ placement-manage {match[1]}\n' + ''.join(f'{line.rstrip()}\n' for line in out.splitlines())

    text = PAGE.read_text(encoding='utf-8')
    assert len(EXAMPLE.findall(text)) == 10
    current = EXAMPLE.sub(run, text)
    if os.environ.get(UPDATE):
        PAGE.write_text(current, encoding='utf-8')
    assert PAGE.read_text(encoding='utf-8') == current
