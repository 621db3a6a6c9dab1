import { badRequest, parseFieldSelector, parseLabelSelector, type Resource } from "#meta";
import type { ListOptions, ResourceRequest } from "../contract.ts";
import type { StoredItem } from "../codec/stored.ts";

/** Which objects of a collection a client wants. */
export interface Selection {
  /** True when no selector is set, so that every item matches. */
  readonly empty: boolean;
  readonly matches: (item: StoredItem) => boolean;
  /** The one name that can match, where the selector says so. */
  readonly name: string | undefined;
  /** The one namespace that can match, where the selector says so. */
  readonly namespace: string | undefined;
  /** The same text means the same selection. */
  readonly id: string;
  /** A field that must have exactly this value. */
  readonly trigger: Trigger | undefined;
}

export interface Trigger {
  readonly field: string;
  readonly value: string;
  readonly valueOf: (item: StoredItem) => string;
}

type Fields = Readonly<Record<string, (object: any) => string>>;
type ItemFields = Readonly<Record<string, (item: StoredItem) => string>>;

/** The storage key holds these two fields, so objects need not be decoded. */
const keyFields: ItemFields = {
  "metadata.name": ({ key }) => key.slice(key.lastIndexOf("/") + 1),
  "metadata.namespace": ({ key, resource }) => {
    if (resource.kind.scope === "Cluster") return "";
    return key.slice(resource.keyPrefix.length, key.lastIndexOf("/"));
  },
};

const everything: Selection = {
  empty: true,
  matches: () => true,
  name: undefined,
  namespace: undefined,
  id: "",
  trigger: undefined,
};

/**
 * Throws 400 for selectors that cannot be parsed and for fields that the kind does not select by.
 */
export function selectionOf(request: ResourceRequest, options: ListOptions): Selection {
  const { resource, name: ownName } = request;
  if (ownName + options.labelSelector + options.fieldSelector === "") return everything;
  const labels = parseLabelSelector(options.labelSelector);
  const fields = parseFieldSelector(options.fieldSelector);
  const own = resource.served.selectableFields ?? resource.kind.selectableFields;
  const known = (field: string) =>
    Object.hasOwn(own, field) || (Object.hasOwn(keyFields, field) && isKeyed(field, resource));
  for (const { field } of fields.requirements) {
    if (!known(field)) throw unknownField(field, own, resource);
  }
  const reader = (field: string) => keyFields[field] ?? ((item) => item.field(field, own[field]!));
  const tests = fields.requirements.map(({ field, operator, value }) => {
    const [read, wanted] = [reader(field), operator !== "!="];
    return (item: StoredItem): boolean => (read(item) === value) === wanted;
  });
  if (!labels.empty) tests.push((item) => labels.matches(item.labels));
  if (ownName !== "") tests.push((item) => keyFields["metadata.name"]!(item) === ownName);
  const exactly = (label: string): string | undefined =>
    fields.requirements.find(({ field, operator }) => field === label && operator === "=")?.value;
  const name = ownName === "" ? exactly("metadata.name") : ownName;
  const exact = fields.requirements.find(({ operator }) => operator === "=");
  return {
    empty: tests.length === 0,
    matches: (item) => tests.every((test) => test(item)),
    name: name === "" ? undefined : name,
    namespace: namespaceOf(request, exactly("metadata.namespace")),
    id: JSON.stringify([options.labelSelector, options.fieldSelector, ownName]),
    trigger: exact && {
      field: exact.field,
      value: exact.value,
      valueOf: reader(exact.field),
    },
  };
}

/** Narrows only lists over all namespaces; a name with a slash is no part of a key. */
function namespaceOf(request: ResourceRequest, namespace: string | undefined): string | undefined {
  if (request.namespace !== "" || request.resource.kind.scope === "Cluster") return undefined;
  return namespace === undefined || namespace === "" || namespace.includes("/")
    ? undefined
    : namespace;
}

/** Custom resources of cluster scope have no namespace to select by; built-in kinds' is "". */
function isKeyed(field: string, { kind }: Resource): boolean {
  const isNowhere = kind.custom !== undefined && kind.scope === "Cluster";
  return !isNowhere || field !== "metadata.namespace";
}

/** Custom resources and kinds with fields of their own have another message than the rest. */
function unknownField(field: string, own: Fields, resource: Resource): Error {
  if (Object.keys(own).length === 0 && resource.kind.custom === undefined) {
    const known = 'only "metadata.name", "metadata.namespace"';
    return badRequest(`${JSON.stringify(field)} is not a known field selector: ${known}`);
  }
  const { kind, groupVersion } = resource;
  const whose = kind.rules.namedInFieldFaults ? ` for ${groupVersion}, Kind=${kind.kind}` : "";
  return badRequest(`field label not supported${whose}: ${field}`);
}
