"""Part of the path under which other projects import the fixtures."""
