/** Root structs of an OpenAPI document: those of objects, lists and subresources. */
import { type Domain, type Kind, listMeta, resolve, type Resource, type Subresource } from "#meta";
import { memoize } from "#base";
import {
  type FieldRules,
  required,
  type GroupVersionKind,
  list,
  type OpenApiRoot,
  value,
  structs,
  type StructType,
} from "#schema";

/** List structs, memoized because OpenAPI schemas are cached by struct. */
const listStructs = memoize((kind: Kind) =>
  memoize((struct: StructType<any>) => {
    // In Kubernetes, list schemas of custom resources have no zero values as defaults.
    const rules: FieldRules = kind.custom === undefined ? {} : { openApi: { noZero: true } };
    return structs(struct.package)(
      kind.listKind,
      `${kind.listKind} is a list of ${kind.kind} objects.`,
      {
        metadata: value(1, listMeta, "Standard list metadata: resource version and paging.", rules),
        items: required(2, list(struct), `List of ${kind.plural} on this page.`, rules),
      },
      { extensions: struct.extensions ?? {} },
    );
  }),
);

/** The struct of a list of the resource's objects: metadata and items. */
export function listStruct({ kind, struct }: Resource): StructType<any> {
  return listStructs(kind)(struct);
}

interface RepresentedKind {
  readonly kind: GroupVersionKind;
  readonly struct: StructType<any>;
}

/** The kind that a subresource reads and writes; default: the kind of the parent. */
export function representedKind(
  resource: Resource,
  subresource: Subresource,
  domain: Domain,
): RepresentedKind {
  const { represents } = subresource;
  if (represents === undefined) {
    const { group, version } = resource;
    return { kind: { group, version, kind: resource.kind.kind }, struct: resource.struct };
  }
  const { group, version, kind, struct = resource.struct } = represents;
  return { kind: { group: resolve(group, domain), version, kind }, struct };
}

/** Root structs of a resource: its object, its list and the kinds of its subresources. */
export function rootsOf(resource: Resource, domain: Domain): OpenApiRoot[] {
  const { group, version } = resource;
  const root = (struct: StructType<any>, kind: GroupVersionKind): OpenApiRoot => ({
    struct,
    kinds: [kind],
    typeMeta: true,
  });
  const roots = [root(resource.struct, { group, version, kind: resource.kind.kind })];
  if (resource.kind.verbs.includes("list")) {
    roots.push(root(listStruct(resource), { group, version, kind: resource.kind.listKind }));
  }
  for (const subresource of resource.kind.subresources) {
    const { kind, struct } = representedKind(resource, subresource, domain);
    const isObject = subresource.connects === undefined && struct !== resource.struct;
    if (isObject) roots.push(root(struct, kind));
  }
  return roots;
}
