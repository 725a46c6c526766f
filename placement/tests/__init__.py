"""Test fixtures that other projects import (contract: service.md 7.3). Needs the packages of the extra `testing`."""
