"""The table: one line per row in the terminal, and RESULTS.md, made of results.json, which keeps the figures."""

import datetime
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import fixed
from benchmarks.clouds import SERVERS, TRAITS
from benchmarks.measure import OURS, REFERENCE, THREADS, WORKERS, Row
from benchmarks.works import CURVE, LOADS, WORKS

_FOLDER = Path(__file__).parent
_FIGURES, _PAGE = _FOLDER / 'results.json', _FOLDER / 'RESULTS.md'

_PAGE_TEXT = """\
# Results

Written by `make bench ARGS='--record …'`. Both services run under gunicorn (gthread, {workers} processes of {threads}
threads) on one private MariaDB, each on a database of its own with the same cloud: {servers} servers and {traits}
traits a host. Each request is sent to both in turn. Figures are medians; "times" is the ratio of the medians;
"statements" is what reached the database server for one request, BEGIN, COMMIT and ROLLBACK included, pings not. The
last machine: {machine}. Its times mean little, ratios more. {remark}

{floor}

## Against the bars

{bars}

## Where we lose

{losses}

## What is fixed

The least that an answer takes under this server with this client: a WSGI application that returns a constant as long as
a provider, and the same after a `SELECT 1` by PyMySQL alone. And the time that a process takes from its start to its
first answer, which reads the database; the schema and the standard names are there.

{fixed}

## How the cost grows

{curve}

## Memory

The largest peak of resident memory of a worker after the requests above.

{memory}
"""
_HEADER = """\
| work | ours | reference | times | bar | statements, ours | reference | measured |
|---|---:|---:|---:|---:|---:|---:|---|
"""


def line(row: Row) -> str:
    """A row as text for the terminal."""
    parts = [f'{row.name}:']
    parts += [f'{name} {_figure(row, name)} ({row.statements.get(name, "-")} st.)' for name in row.medians]
    if row.ratio is not None:
        parts.append(f'{row.ratio:.1f}×')
    if row.bar is not None:
        parts.append(f'[bar {row.bar:g}× {"BELOW" if _is_below(row) else "met"}]')
    return '  '.join(parts + ([row.note] if row.note else []))


def record(rows: Sequence[Row], remark: str) -> None:
    """Keep the figures of these rows, in the place of earlier ones of the same names, and write the page anew.

    `remark` says under what circumstances they were measured.
    """
    kept = json.loads(_FIGURES.read_text()) if _FIGURES.exists() else {'rows': {}}
    today = datetime.date.today().isoformat()
    kept['remark'] = remark
    kept['rows'] |= {row.name: {'measured': today, **asdict(row)} for row in rows}
    _FIGURES.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + '\n')
    _PAGE.write_text(_page(kept['rows'], remark))


def _page(figures: Mapping[str, Mapping[str, object]], remark: str) -> str:
    dates = {name: str(kept['measured']) for name, kept in figures.items()}
    rows = {
        name: Row(**{key: value for key, value in kept.items() if key != 'measured'})  # type: ignore[arg-type]
        for name, kept in figures.items()
    }
    bars = [rows[name] for work in WORKS for name in work.bars if name in rows]
    bars += [rows[load.name] for load in LOADS if load.name in rows]
    curve = [rows[name] for work in CURVE for name in work.bars if name in rows]
    memory = [row for row in rows.values() if row.unit == 'MB']
    fixed_rows = [rows[name] for name in fixed.NAMES if name in rows]
    losses = [f'* {line(row)}' for row in (*bars, *curve, *memory) if _is_below(row) or (row.ratio or 1) < 1]
    return _PAGE_TEXT.format(
        workers=WORKERS,
        threads=THREADS,
        servers=SERVERS,
        traits=TRAITS,
        machine=f'{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}',
        remark=remark,
        bars=_table(bars, dates),
        floor=_beyond_reach(bars, rows.get(fixed.LEAST_WITH_DATABASE)),
        fixed=_table(fixed_rows, dates),
        losses='\n'.join(losses) or 'Nowhere in these rows.',
        curve=_table(curve, dates),
        memory=_table(memory, dates),
    )


def _beyond_reach(bars: Sequence[Row], least: Row | None) -> str:
    """Which bars no service in Python reaches, since a constant and one SELECT take longer than they leave."""
    if least is None:
        return ''
    floor = least.medians[OURS]
    beyond = [
        row.name
        for row in bars
        if row.unit == 'ms' and row.bar and REFERENCE in row.medians and row.medians[REFERENCE] / row.bar < floor
    ]
    if not beyond:
        return (
            f'An answer that makes one SELECT takes {floor:.2f} ms here without any service around it; '
            'each bar leaves more than that.'
        )
    return (
        f'An answer that makes one SELECT takes {floor:.2f} ms here without any service around it, and these bars '
        f'leave less, so that no service in Python could reach them under this server: {", ".join(beyond)}.'
    )


def _table(rows: Sequence[Row], dates: Mapping[str, str]) -> str:
    return _HEADER + '\n'.join(
        f'| {row.name} | {_figure(row, OURS)} | {_figure(row, REFERENCE)} | '
        f'{"" if row.ratio is None else f"{row.ratio:.1f}×"} | '
        f'{"" if row.bar is None else f"{row.bar:g}×"}{" (below)" if _is_below(row) else ""} | '
        f'{row.statements.get(OURS, "")} | {row.statements.get(REFERENCE, "")} | {dates[row.name]} |'
        for row in rows
    )


def _figure(row: Row, service: str) -> str:
    value = row.medians.get(service)
    if value is None:
        return ''
    return f'{value:.2f} {row.unit}' if value < 100 else f'{value:,.0f} {row.unit}'


def _is_below(row: Row) -> bool:
    return row.bar is not None and row.ratio is not None and row.ratio < row.bar
