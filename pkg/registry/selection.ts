import { badRequest, parseFieldSelector, parseLabelSelector } from "#meta";
import type { Item, ListOptions, Target } from "./contract.ts";

/** Which objects of a collection a client wants. */
export interface Selection {
  /** Everything matches. */
  readonly empty: boolean;
  readonly matches: (item: Item) => boolean;
  /** The one name that can match, where the selector says so. */
  readonly name: string | undefined;
  /** The one namespace that can match, where the selector says so. */
  readonly namespace: string | undefined;
}

type Fields = Readonly<Record<string, (object: any) => string>>;

const metadataFields: Fields = {
  "metadata.name": ({ metadata }) => metadata.name ?? "",
  "metadata.namespace": ({ metadata }) => metadata.namespace ?? "",
};

/**
 * Throws 400 for selectors that cannot be parsed and for fields that the kind does not select by.
 */
export function selectionOf(target: Target, options: ListOptions): Selection {
  const { resource, name: ownName } = target;
  const labels = parseLabelSelector(options.labelSelector);
  const fields = parseFieldSelector(options.fieldSelector);
  const own = resource.served.selectableFields ?? resource.kind.selectableFields;
  const known: Fields = { ...own, ...metadataFields };
  for (const { field } of fields.requirements) {
    if (!Object.hasOwn(known, field)) throw unknownField(field, own);
  }
  const exactly = (label: string): string | undefined =>
    fields.requirements.find(({ field, operator }) => field === label && operator === "=")?.value;
  const name = ownName === "" ? exactly("metadata.name") : ownName;
  const labelsOf = ({ object }: Item) => object.metadata.labels ?? {};
  const valueOf = ({ object }: Item, field: string): string => known[field]?.(object) ?? "";
  return {
    empty: labels.empty && fields.empty && ownName === "",
    matches: (item) =>
      (ownName === "" || item.object.metadata.name === ownName) &&
      (labels.empty || labels.matches(labelsOf(item))) &&
      fields.requirements.every(
        ({ field, operator, value }) => (valueOf(item, field) === value) === (operator !== "!="),
      ),
    name: name === "" ? undefined : name,
    namespace: namespaceOf(target, exactly("metadata.namespace")),
  };
}

/** Narrows only lists over all namespaces; a name with a slash is no part of a key. */
function namespaceOf(target: Target, namespace: string | undefined): string | undefined {
  if (target.namespace !== "" || target.resource.kind.scope === "Cluster") return undefined;
  return namespace === undefined || namespace === "" || namespace.includes("/")
    ? undefined
    : namespace;
}

/** Kinds with fields of their own answer otherwise than those without. */
function unknownField(field: string, own: Fields): Error {
  return badRequest(
    Object.keys(own).length > 0
      ? `field label not supported: ${field}`
      : `${JSON.stringify(field)} is not a known field selector: ` +
          'only "metadata.name", "metadata.namespace"',
  );
}
