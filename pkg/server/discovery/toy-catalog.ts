/** A small catalog for tests: two groups, two versions, subresources and a kind that is not stored. */
import { Catalog, domainOf, kind, type Kind, objectMeta } from "#meta";
import { required, int32, pointer, value, string, structs } from "#schema";

const toys = (version: string) => structs(`api/toys/${version}`);

function toyStruct(version: string) {
  const v = toys(version);
  const spec = v("ToySpec", "A toy as wanted.", { wheels: pointer(1, int32, "How many.") });
  return v("Toy", "A toy.", {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "What the toy is like."),
  });
}
const toyV1 = toyStruct("v1");
const toyBeta = toyStruct("v1beta1");
const boxV1 = structs("api/core/v1")("Box", "A box.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  label: required(2, string, "What is inside."),
});
const bindingV1 = structs("api/core/v1")("Bond", "Ties a box to a place.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
});

const same = { up: (object: any) => object, down: (object: any) => object };
const nothing = { columns: [], row: () => [] };

const toy: Kind = kind(toyV1, {
  ...nothing,
  group: "toys.{api}",
  kind: "Toy",
  plural: "toys",
  shortNames: ["ty"],
  categories: ["all"],
  scope: "Namespaced",
  subresources: [
    { name: "status", verbs: ["update", "get", "patch"] },
    { name: "scale", verbs: ["get"], represents: { group: "sizes", version: "v1", kind: "Scale" } },
  ],
  versions: [
    { version: "v1beta1", struct: toyBeta, onByDefault: true, convert: same },
    { version: "v1", struct: toyV1, onByDefault: true, convert: "hub" },
  ],
});

export const box: Kind = kind(boxV1, {
  ...nothing,
  group: "",
  kind: "Box",
  plural: "boxes",
  scope: "Cluster",
  verbs: ["watch", "get", "list", "update", "create", "patch", "delete"],
  versions: [{ version: "v1", struct: boxV1, onByDefault: true, convert: "hub" }],
});

const bond: Kind = kind(bindingV1, {
  ...nothing,
  group: "",
  kind: "Bond",
  plural: "bonds",
  scope: "Namespaced",
  verbs: ["create"],
  versions: [{ version: "v1", struct: bindingV1, onByDefault: true, convert: "hub" }],
});

export const toyDomain = domainOf();

export function toyCatalog(...more: readonly Kind[]): Catalog {
  return new Catalog([toy, box, bond, ...more], toyDomain);
}

/** A kind that a test adds to the catalog later, like a custom resource. */
export function lateKind(group: string): Kind {
  const struct = structs("com/example/v1")("Late", "Came late.", {
    metadata: value(1, objectMeta, "Standard object metadata."),
  });
  return kind(struct, {
    ...nothing,
    group,
    kind: "Late",
    plural: "lates",
    scope: "Namespaced",
    versions: [{ version: "v1", struct, onByDefault: true, convert: "hub" }],
  });
}
