"""The inventory ledger of a cloud: a drop-in OpenStack Placement service."""
