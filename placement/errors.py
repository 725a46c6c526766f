"""Every error the API answers with, one class each: HTTP status, error code and text.

Anything may raise these; `app.py` alone turns them into responses. Clients match on `code` and on fragments of the
text (contract: http.md 2.8 and 5, phrases.md), so a text may grow but keeps its listed words. `{names}` in a text are
the keyword arguments of the class.

It is one long file on purpose: it is a list, to be searched for a text that a client saw. Its parts, in this order: the
HTTP layer; resource classes and traits; resource providers; inventories, aggregates and traits of a provider;
allocations; reshaper; query values of two routes; GET /allocation_candidates.
"""

from typing import Any, ClassVar

UNDEFINED = 'placement.undefined_code'
CONCURRENT_UPDATE = 'placement.concurrent_update'
INVENTORY_INUSE = 'placement.inventory.inuse'
DUPLICATE_NAME = 'placement.duplicate_name'
PROVIDER_INUSE = 'placement.resource_provider.inuse'
PROVIDER_CANNOT_DELETE_PARENT = 'placement.resource_provider.cannot_delete_parent'
PROVIDER_NOT_FOUND = 'placement.resource_provider.not_found'
QUERY_DUPLICATE_KEY = 'placement.query.duplicate_key'
QUERY_BAD_VALUE = 'placement.query.bad_value'
QUERY_MISSING_VALUE = 'placement.query.missing_value'


class PlacementError(Exception):
    """An answer other than success; `str()` of it is the specific message."""

    status: ClassVar[int]
    code: ClassVar[str] = UNDEFINED
    text: ClassVar[str] = ''

    def __init__(self, **values: Any) -> None:
        self.values = values
        super().__init__(self.text.format(**values))


class BadRequest(PlacementError):
    """400: the request itself is wrong."""

    status = 400


class Forbidden(PlacementError):
    """403: the caller may not do this."""

    status = 403


class NotFound(PlacementError):
    """404: what the path names does not exist."""

    status = 404


class NotAcceptable(PlacementError):
    """406: the answer cannot have the wanted form."""

    status = 406


class Conflict(PlacementError):
    """409: the request contradicts the present state."""

    status = 409


# --- the HTTP layer (http.md 1, 2, 4) ---


class RouteNotFound(NotFound):
    """No such path, or not yet at the requested microversion."""


class MethodNotAllowed(PlacementError):
    """The path exists, the method does not; `allow` (a list of methods) goes into the header, if not empty."""

    status = 405
    text = 'The method specified is not allowed for this resource.'

    def __init__(self, allow: list[str] | None = None) -> None:
        super().__init__()
        self.allow = allow or []


class MethodNotYetAllowed(MethodNotAllowed):
    """The method exists from a later microversion on (DELETE of all inventories before 1.5)."""

    text = ''


class UnsupportedMediaType(PlacementError):
    """The body is not declared as JSON."""

    status = 415
    text = 'The media type {media_type} is not supported, use application/json'


class OnlyJson(NotAcceptable):
    """The Accept header excludes JSON."""

    text = 'Only application/json is provided'


class ContentTypeRequired(BadRequest):
    """A body without a declared type."""

    text = 'content-type header required when content-length > 0'


class ContentLengthInvalid(BadRequest):
    """A Content-Length that is no number."""

    text = 'content-length header must be an integer'


class MicroversionInvalid(BadRequest):
    """An OpenStack-API-Version that cannot be parsed."""

    text = 'Invalid microversion: invalid version string: {value}. Use "placement X.Y" or "placement latest".'


class MicroversionUnacceptable(NotAcceptable):
    """A microversion outside of the served range."""

    text = 'Invalid microversion: Unacceptable version header: {value}'


class BodyIncomplete(BadRequest):
    """The client went away before the body was whole, or sent broken chunks."""

    text = 'The body did not arrive whole: it is shorter than announced, or its chunks are malformed.'


class MalformedJson(BadRequest):
    """The body is no JSON."""

    text = 'Malformed JSON: {reason}'


class InvalidBody(BadRequest):
    """The body does not match the schema of the route."""

    text = 'JSON does not validate: {reason}'


class InvalidQuery(BadRequest):
    """The query string does not match the schema of the route."""

    text = 'Invalid query string parameters: {reason}'


class PolicyDenied(Forbidden):
    """The policy rule says no. `hint` says what would be needed."""

    text = 'Policy does not allow {rule} to be performed. {hint}'


class ScopeDenied(Forbidden):
    """A system- or domain-scoped token where a project-scoped one is needed."""

    text = '{rule} needs a project-scoped token; this one is {scope}-scoped.'


class InternalError(PlacementError):
    """500: a fault of ours; details are in the log, under the request id."""

    status = 500
    text = 'An unexpected error occurred; it is in the log of the service under this request id.'


class DatabaseUnavailable(PlacementError):
    """503: the database cannot be used at present. Nothing was changed, unless the answer to a COMMIT was lost."""

    status = 503
    text = 'The database of the service is not available at present. Please try again.'


class SchemaUnusable(PlacementError):
    """503: the database has not the tables that the service needs; the operator has to act."""

    status = 503
    text = 'The schema of the database is not usable: {reason}'


class TextNotStorable(BadRequest):
    """Text that the database cannot hold: a 4-byte character on utf8mb3, say, or more than a column has room for."""

    text = (
        'The request has text that the database of the service cannot store: too long, or with a character that is '
        'not in its character set.'
    )


# --- resource classes and traits (http.md 5.2, 5.3, 5.16) ---


class ResourceClassNotFound(NotFound):
    """The path names an unknown resource class."""

    text = 'No such resource class {name}.'


class ResourceClassExists(Conflict):
    """POST of a name in use."""

    text = 'Conflicting resource class already exists: {name}'


class ResourceClassNameTaken(Conflict):
    """Rename (before 1.7) to a name in use."""

    text = 'Resource class already exists: {name}'


class ResourceClassIsStandard(BadRequest):
    """Rename or deletion of a standard class; `action` says which."""

    text = '{action} standard resource class {name}.'


class ResourceClassInUse(Conflict):
    """Deletion of a class that some provider has inventory of."""

    text = 'Error in delete resource class: Cannot delete resource class {name}. Class is in use in inventory.'


class NameRace(Conflict):
    """Others write the same names of classes or traits, more often than we try again."""

    text = 'Max retries of DB transaction exceeded: the same names are being changed by others. Please try again.'


class TraitNotFound(NotFound):
    """The path names an unknown trait."""

    text = 'No such trait(s): {name}.'


class TraitNameInvalid(BadRequest):
    """PUT of a name that no custom trait may have."""

    text = (
        'The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix '
        '"CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
    )


class TraitIsStandard(BadRequest):
    """Deletion of a standard trait."""

    text = 'Cannot delete standard trait {name}.'


class TraitInUse(Conflict):
    """Deletion of a trait that some provider has."""

    text = 'The trait {name} is in use by a resource provider.'


class TraitNameFilterInvalid(BadRequest):
    """A `name` filter of another form on GET /traits."""

    text = (
        'Badly formatted name parameter. Expected name query string parameter in form: '
        '?name=[in|startswith]:[name1,name2|prefix]. Got: "{value}"'
    )


class TraitAssociatedFilterInvalid(BadRequest):
    """An `associated` filter that is neither true nor false."""

    text = 'The query parameter "associated" only accepts "true" or "false"'


# --- resource providers (http.md 5.4, 5.5) ---


class ProviderNotFound(NotFound):
    """The path names an unknown provider."""

    text = 'No resource provider with uuid {uuid} found'


class ProviderNotFoundForDelete(NotFound):
    """DELETE of an unknown provider."""

    text = 'No resource provider with uuid {uuid} found for delete'


class ProviderOfAllocationsNotFound(NotFound):
    """GET of the allocations of an unknown provider."""

    text = "Resource provider '{uuid}' not found: No resource provider with uuid {uuid} found"


class ProviderNotCreated(BadRequest):
    """POST of a provider that cannot be; `reason` says why."""

    text = 'Unable to create resource provider "{name}", {uuid}: Object action create failed because: {reason}'


class ProviderNotUpdated(BadRequest):
    """PUT of a provider that cannot be; `reason` says why."""

    text = 'Unable to save resource provider {uuid}: Object action {action} failed because: {reason}'


class ProviderExists(Conflict):
    """POST of a name or uuid in use; `field` is `name` or `uuid`."""

    code = DUPLICATE_NAME
    text = 'Conflicting resource provider {field}: {value} already exists.'


class ProviderNameTaken(Conflict):
    """PUT of a name that another provider has."""

    code = DUPLICATE_NAME
    text = 'Conflicting resource provider {name} already exists.'


class ProviderHasChildren(Conflict):
    """DELETE of a provider with children."""

    code = PROVIDER_CANNOT_DELETE_PARENT
    text = 'Unable to delete parent resource provider {uuid}: It has child resource providers.'


class ProviderInUse(Conflict):
    """DELETE of a provider with allocations."""

    code = PROVIDER_INUSE
    text = 'Unable to delete resource provider {uuid}: Resource provider has allocations.'


# --- inventories, aggregates and traits of a provider (http.md 5.6 to 5.11) ---


class InventoryNotFound(NotFound):
    """GET of an inventory that the provider does not have."""

    text = 'No inventory of class {resource_class} for {uuid}'


class InventoryNotFoundForDelete(NotFound):
    """DELETE of an inventory that the provider does not have."""

    text = 'No inventory of class {resource_class} found for delete: the provider {uuid} has none.'


class InventoryMissing(BadRequest):
    """PUT of one inventory that the provider does not have."""

    text = (
        'No inventory record with resource class for resource provider {uuid}: '
        'No inventory of class {resource_class} found.'
    )


class InventoryCapacityInvalid(BadRequest):
    """An inventory whose reserved amount exceeds its total; `action` is create or update, `relation` the violated
    one."""

    text = (
        "Unable to {action} inventory for resource provider {uuid}: Invalid inventory for '{resource_class}' on "
        "resource provider '{uuid}'. The reserved value is {relation} total."
    )


class InventoryClassUnknownOnCreate(BadRequest):
    """POST of an inventory of an unknown class."""

    text = 'Unable to create inventory for resource provider {uuid}: No such resource class {resource_class}.'


class InventoryClassUnknown(BadRequest):
    """PUT of inventories with an unknown class."""

    text = 'Unknown resource class in inventory for resource provider {uuid}: No such resource class {resource_class}.'


class InventoryExists(Conflict):
    """POST of an inventory of a class that has one."""

    code = CONCURRENT_UPDATE
    text = (
        'Update conflict: resource provider {uuid} already has an inventory of {resource_class}; use PUT to change it.'
    )


class InventoryInUse(Conflict):
    """Removal of inventories that are allocated from; `resource_classes` is their list in class id order."""

    code = INVENTORY_INUSE
    text = "{prefix}Inventory for '{resource_classes}' on resource provider '{uuid}' in use."


class ProviderGenerationConflict(Conflict):
    """The given generation is not the present one (inventories)."""

    code = CONCURRENT_UPDATE
    text = 'resource provider generation conflict: {uuid} is at generation {actual}, given: {given}'


class ProviderGenerationChanged(Conflict):
    """The given generation is not the present one (traits, aggregates)."""

    code = CONCURRENT_UPDATE
    text = "Resource provider's generation already changed. Please update the generation and try again."


class ProviderTraitUnknown(BadRequest):
    """PUT of traits that do not exist; `names` is their comma separated list."""

    text = 'No such trait {names}'


class ProviderChanged(Conflict):
    """Another request changed the provider meanwhile, more often than we try again."""

    code = CONCURRENT_UPDATE
    text = 'Update conflict: Another thread concurrently updated the resource provider data. Please try again.'


# --- allocations (http.md 5.13 to 5.15, 6) ---


class ConsumerUuidMalformed(BadRequest):
    """PUT of allocations for something that is no uuid."""

    text = 'Malformed consumer_uuid: {uuid}'


class ConsumerHasNoAllocations(NotFound):
    """DELETE of allocations where there are none."""

    text = "No allocations for consumer '{uuid}'"


class ConsumerGenerationConflict(Conflict):
    """The given consumer generation is not the present one; `expected` and `given` are numbers or the word null."""

    code = CONCURRENT_UPDATE
    text = 'consumer generation conflict - expected {expected} but got {given}'


class AllocationProviderUnknown(BadRequest):
    """An allocation names an unknown provider."""

    text = "Allocation for resource provider '{uuid}' that does not exist."


class AllocationClassUnknown(BadRequest):
    """An allocation (PUT) names an unknown class."""

    text = 'Unable to allocate inventory for consumer {consumer}: No such resource class {resource_class}.'


class AllocationsClassUnknown(BadRequest):
    """One of several allocations (POST) names an unknown class."""

    text = 'Unable to allocate inventory No such resource class {resource_class}.'


class AllocationInvalidInventory(Conflict):
    """The provider has no inventory of what is asked."""

    text = "Unable to allocate inventory: Inventory for '{resource_classes}' on resource provider '{uuid}' invalid."


class AllocationViolatesConstraints(Conflict):
    """The amount breaks min_unit, max_unit or step_size."""

    text = (
        "Unable to allocate inventory: Unable to create allocation for '{resource_class}' on resource provider "
        "'{uuid}'. The requested amount would violate inventory constraints."
    )


class AllocationExceedsCapacity(Conflict):
    """The amount does not fit."""

    text = (
        "Unable to allocate inventory: Unable to create allocation for '{resource_class}' on resource provider "
        "'{uuid}'. The requested amount would exceed the capacity."
    )


class AllocationRace(Conflict):
    """Providers changed during the write, more often than we try again."""

    code = CONCURRENT_UPDATE
    text = (
        'Inventory and/or allocations changed while attempting to allocate: '
        'Another thread concurrently updated the resource provider data'
    )


# --- reshaper (http.md 6.6) ---


class ReshapeProviderNotFound(BadRequest):
    """`inventories` names an unknown provider."""

    code = PROVIDER_NOT_FOUND
    text = 'Resource provider {uuid} in inventories not found: No resource provider with uuid {uuid} found'


class ReshapeGenerationConflict(Conflict):
    """The generation of a provider in `inventories` is not the present one."""

    code = CONCURRENT_UPDATE
    text = 'resource provider generation conflict for provider {uuid}: actual: {actual}, given: {given}'


class ReshapeClassUnknown(BadRequest):
    """The data name an unknown class."""

    text = 'malformed reshaper data: No such resource class {resource_class}.'


class ReshapeRace(Conflict):
    """Something changed during the write, more often than we try again."""

    code = CONCURRENT_UPDATE
    text = 'update conflict: Another thread concurrently updated the resource provider data'


# --- query values shared by GET /resource_providers and GET /allocation_candidates (http.md 5.4, candidates.md 1.4) ---


class ResourcesMalformed(BadRequest):
    """`resources` is not CLASS:AMOUNT[,CLASS:AMOUNT…]."""

    text = (
        'Badly formed resources parameter. Expected resources query string parameter in form: '
        '?resources=VCPU:2,MEMORY_MB:1024. Got: {value}.'
    )


class ResourceAmountNotInteger(BadRequest):
    """An amount that is no number."""

    text = 'Requested resource {resource_class} expected positive integer amount. Got: {value}.'


class ResourceAmountTooSmall(BadRequest):
    """An amount below one."""

    text = 'Requested resource {resource_class} requires amount >= 1. Got: {value}.'


class ResourcesClassUnknown(BadRequest):
    """`resources` names an unknown class."""

    text = 'Invalid resource class in resources parameter: No such resource class {resource_class}.'


class RequiredTraitsMalformed(BadRequest):
    """`required` has an empty name, or a form that the microversion does not know; `example` is the right form."""

    text = (
        "Invalid query string parameters: Expected 'required' parameter value of the form: {example}. "
        'Got{reason}: {value}'
    )


class AnyTraitsTooEarly(BadRequest):
    """`required=in:` before 1.39."""

    text = (
        "Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since "
        'microversion 1.39. Got: {value}'
    )


class AnyTraitsForbidden(BadRequest):
    """`!` inside `required=in:`."""

    text = (
        "Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden "
        'traits. Got: {value}'
    )


class RequiredTraitUnknown(BadRequest):
    """`required` of GET /resource_providers names an unknown trait."""

    text = 'Invalid trait(s) in "required" parameter: No such trait(s): {name}.'


class CandidateTraitUnknown(BadRequest):
    """A trait parameter of GET /allocation_candidates names an unknown trait."""

    text = 'No such trait(s): {name}.'


class MemberOfRepeated(BadRequest):
    """`member_of` twice before 1.24."""

    text = 'Multiple member_of{suffix} parameters are not supported'


class MemberOfListWithoutPrefix(BadRequest):
    """Several aggregates without `in:`."""

    text = (
        "Multiple values for '{key}' must be prefixed with the 'in:' or '!in:' keyword using the valid "
        'microversion. Got: {value}'
    )


class MemberOfNotUuid(BadRequest):
    """An aggregate that is no uuid."""

    text = "Invalid query string parameters: Expected '{key}' parameter to contain valid UUID(s). Got: {value}"


class MemberOfForbiddenTooEarly(BadRequest):
    """`member_of=!` before 1.32."""

    text = 'Forbidden {key} parameters are not supported in the specified microversion'


# --- GET /allocation_candidates only (candidates.md 1.4) ---


class InTreeNotUuid(BadRequest):
    """`in_tree` is no uuid."""

    text = "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: {value}"


class RootRequiredRepeated(BadRequest):
    """`root_required` twice."""

    code = QUERY_DUPLICATE_KEY
    text = "Query parameter 'root_required' may be specified only once."


class RootRequiredConflict(BadRequest):
    """`root_required` both wants and forbids a trait."""

    code = QUERY_BAD_VALUE
    text = 'Conflicting required and forbidden traits found in root_required: {names}'


class SameSubtreeEmptySuffix(BadRequest):
    """`same_subtree` names the un-suffixed group."""

    code = QUERY_BAD_VALUE
    text = (
        'Empty string (unsuffixed group) can not be specified in `same_subtree` : '
        'name suffixes of request groups, separated by commas'
    )


class SameSubtreeUnknownSuffix(BadRequest):
    """`same_subtree` names a group that is not there; both values are lists of suffixes."""

    code = QUERY_BAD_VALUE
    text = 'Real suffixes should be specified in `same_subtree`: {unknown} not found in {known}.'


class ResourcelessGroupUnbound(BadRequest):
    """A group without resources that no `same_subtree` names."""

    code = QUERY_BAD_VALUE
    text = (
        'Resourceless suffixed group request should be specified in `same_subtree` query param: '
        'bad group(s) - {suffixes}.'
    )


class ResourcesMissing(BadRequest):
    """No group has resources (from 1.36)."""

    code = QUERY_MISSING_VALUE
    text = 'There must be at least one resources or resources[$S] parameter.'


class OrphanTraits(BadRequest):
    """Traits without resources (before 1.36)."""

    text = 'All traits parameters must be associated with resources.  Found the following orphaned traits keys: {keys}'


class OrphanMemberOf(BadRequest):
    """Aggregates without resources (before 1.36)."""

    text = (
        'All member_of parameters must be associated with resources. '
        'Found the following orphaned member_of keys: {keys}'
    )


class GroupWithoutResources(BadRequest):
    """Another group without resources (before 1.36)."""

    text = 'All request groups must specify resources.'


class NoGroup(BadRequest):
    """No group at all (before 1.36)."""

    text = 'At least one request group (`resources` or `resources{{$S}}`) is required.'


class GroupTraitsConflict(BadRequest):
    """Groups that require what they forbid; `conflicts` is like `required1: (T)`."""

    text = 'Conflicting required and forbidden traits found in the following traits keys: {conflicts}'


class CandidateSearchTooLong(BadRequest):
    """It takes too long to find out whether there are (more) candidates."""

    text = (
        'The search for allocation candidates was given up: {steps} steps did not show whether the request groups fit '
        'into one of the trees. Ask for fewer groups of unequal amounts, or say more about the providers that may '
        'serve them (required, member_of, in_tree).'
    )


class GroupPolicyRequired(BadRequest):
    """Several suffixed groups without `group_policy`."""

    text = 'The "group_policy" parameter is required when specifying more than one "resources{{N}}" parameter.'
