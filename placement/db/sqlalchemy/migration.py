"""The functions of `placement.db.migration` under the name that other projects import."""

from placement.db.migration import create_schema, stamp, upgrade, version

__all__ = ['create_schema', 'stamp', 'upgrade', 'version']
