"""Commands: placement-manage, placement-status, placement-serve."""
