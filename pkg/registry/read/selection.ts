import { badRequest, goQuote, parseFieldSelector, parseLabelSelector, type Resource } from "#meta";
import type { ListOptions, ResourceRequest } from "../contract.ts";
import type { StoredItem } from "../codec/stored.ts";

/** The compiled label and field selector of a list or watch. */
export interface Selection {
  /** True when no selector is set, so that every item matches. */
  readonly empty: boolean;
  readonly matches: (item: StoredItem) => boolean;
  /** The only name that can match, if the selector requires one. */
  readonly name: string | undefined;
  /** The only namespace that can match, if the selector requires one. */
  readonly namespace: string | undefined;
  /** Equal for requests with the same selectors. */
  readonly id: string;
  /** A field that the selector requires to have one value. */
  readonly trigger: Trigger | undefined;
}

/** A required field value, which indexes watchers like the IndexerFuncs of apiserver's cacher. */
export interface Trigger {
  readonly field: string;
  readonly value: string;
  readonly valueOf: (item: StoredItem) => string;
}

type Fields = Readonly<Record<string, (object: any) => string>>;
type ItemFields = Readonly<Record<string, (item: StoredItem) => string>>;

/** The fields that are part of the storage key: objects need not be decoded. */
const keyFields: ItemFields = {
  "metadata.name": ({ key }) => key.slice(key.lastIndexOf("/") + 1),
  "metadata.namespace": ({ key, resource }) => {
    if (resource.kind.scope === "Cluster") return "";
    return key.slice(resource.keyPrefix.length, key.lastIndexOf("/"));
  },
};

const allItems: Selection = {
  empty: true,
  matches: () => true,
  name: undefined,
  namespace: undefined,
  id: "",
  trigger: undefined,
};

/**
 * Compiles the selectors of a request. Throws 400 if they are malformed, and for fields that the kind
 * does not support.
 */
export function selectionOf(request: ResourceRequest, options: ListOptions): Selection {
  const { resource, name: requestName } = request;
  if (requestName + options.labelSelector + options.fieldSelector === "") return allItems;
  const labels = parseLabelSelector(options.labelSelector);
  const fields = parseFieldSelector(options.fieldSelector);
  const selectable = resource.served.selectableFields ?? resource.kind.selectableFields;
  const known = (field: string) =>
    Object.hasOwn(selectable, field) ||
    (Object.hasOwn(keyFields, field) && isKeyed(field, resource));
  for (const { field } of fields.requirements) {
    if (!known(field)) throw unknownField(field, selectable, resource);
  }
  const reader = (field: string) =>
    keyFields[field] ?? ((item) => item.field(field, selectable[field]!));
  const tests = fields.requirements.map(({ field, operator, value }) => {
    const [read, wanted] = [reader(field), operator !== "!="];
    return (item: StoredItem): boolean => (read(item) === value) === wanted;
  });
  if (!labels.empty) tests.push((item) => labels.matches(item.labels));
  if (requestName !== "") tests.push((item) => keyFields["metadata.name"]!(item) === requestName);
  const exactly = (label: string): string | undefined =>
    fields.requirements.find(({ field, operator }) => field === label && operator === "=")?.value;
  const name = requestName === "" ? exactly("metadata.name") : requestName;
  const exact = fields.requirements.find(({ operator }) => operator === "=");
  return {
    empty: tests.length === 0,
    matches: (item) => tests.every((test) => test(item)),
    name: name === "" ? undefined : name,
    namespace: namespaceOf(request, exactly("metadata.namespace")),
    id: JSON.stringify([options.labelSelector, options.fieldSelector, requestName]),
    trigger: exact && {
      field: exact.field,
      value: exact.value,
      valueOf: reader(exact.field),
    },
  };
}

/** The namespace that restricts a list of all namespaces; never one with a slash, as in a forged key. */
function namespaceOf(request: ResourceRequest, namespace: string | undefined): string | undefined {
  if (request.namespace !== "" || request.resource.kind.scope === "Cluster") return undefined;
  return namespace === undefined || namespace === "" || namespace.includes("/")
    ? undefined
    : namespace;
}

/** Cluster-scoped custom resources do not support metadata.namespace; for built-in kinds it is "". */
function isKeyed(field: string, { kind }: Resource): boolean {
  const isClusterScopedCustom = kind.custom !== undefined && kind.scope === "Cluster";
  return !isClusterScopedCustom || field !== "metadata.namespace";
}

/** The 400 for an unsupported field; its message depends on whether the kind has selectable fields. */
function unknownField(field: string, selectable: Fields, resource: Resource): Error {
  if (Object.keys(selectable).length === 0 && resource.kind.custom === undefined) {
    const known = 'only "metadata.name", "metadata.namespace"';
    return badRequest(`${JSON.stringify(field)} is not a known field selector: ${known}`);
  }
  const { kind, groupVersion } = resource;
  const naming = kind.rules.namedInFieldFaults;
  if (naming === "kind") {
    return badRequest(`field label ${goQuote(field)} not supported for ${kind.kind}`);
  }
  const ofKind = naming === undefined ? "" : ` for ${groupVersion}, Kind=${kind.kind}`;
  return badRequest(`field label not supported${ofKind}: ${field}`);
}
