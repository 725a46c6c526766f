"""Bodies of the /resource_classes routes (contract: http.md 5.2, 5.3)."""

from placement.schemas import VersionedSchema, closed

# Also the form of a name in the path of PUT from 1.7 on.
CREATE = VersionedSchema(closed({'name': {'type': 'string', 'pattern': '^CUSTOM_[A-Z0-9_]+$', 'maxLength': 255}}))
