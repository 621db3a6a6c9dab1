import {
  required,
  type Infer,
  int32,
  list,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
  mergedBy,
  semanticEquality,
} from "#schema";
import { isDns1123Subdomain, isQualifiedName, kind, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { goShape } from "../go/go-shape.ts";
import { fieldImmutableMessage, invalidEach, duplicateIndexes } from "../strategy.ts";

const v1 = structs("api/storage/v1");

const volumeNodeResources = v1(
  "VolumeNodeResources",
  "Resource limits of a CSI driver on a node, for scheduling.",
  {
    count: pointer(
      1,
      int32,
      "Maximum number of volumes of the driver that can be used on the node. Unlimited if absent.",
    ),
  },
);

const csiNodeDriver = v1(
  "CSINodeDriver",
  "Information about a CSI driver that is installed on a node.",
  {
    name: required(1, string, "Name of the CSI driver, as in its CSIDriver object."),
    nodeID: required(
      2,
      string,
      "ID of the node from the driver's point of view, at most 256 characters.",
    ),
    topologyKeys: required(
      3,
      list(string),
      "Keys of the node labels that the driver uses for topology. Their values are passed to the " +
        "driver for topology-aware provisioning.",
      {
        listType: "atomic",
        openApi: { required: false },
      },
    ),
    allocatable: pointer(
      4,
      volumeNodeResources,
      "Volume resources of the node that are available for scheduling.",
    ),
  },
);

const csiNodeSpec = v1("CSINodeSpec", "CSI drivers that are registered on a node.", {
  drivers: required(
    1,
    list(csiNodeDriver),
    "Information about each registered driver. Entries can be added and removed. Existing ones " +
      "are immutable, except for allocatable with the feature gate " +
      "MutableCSINodeAllocatableCount.",
    mergedBy("name"),
  ),
});

const csiNodeV1 = v1(
  "CSINode",
  "CSINode holds information about the CSI drivers that are installed on a node. Created and " +
    "updated by the kubelet.",
  {
    metadata: value(1, objectMeta, "Standard object metadata. The name is that of the node."),
    spec: required(2, csiNodeSpec, "CSI drivers registered on the node."),
  },
);

type CSINode = Infer<typeof csiNodeV1>;
type Driver = NonNullable<CSINode["spec"]["drivers"]>[number];

const maxDriverNameLength = 63;
const maxNodeIdLength = 256;

function checkDriver(driver: Driver, path: Path, problems: Problems): void {
  const { name, nodeID, allocatable } = driver;
  const namePath = path.child("name");
  if (name === "") problems.required(namePath);
  if (name.length > maxDriverNameLength) problems.tooLong(namePath, name, maxDriverNameLength);
  const messages = isDns1123Subdomain(name.toLowerCase());
  invalidEach(problems, namePath, { value: name, messages });
  if (nodeID === "") problems.required(path.child("nodeID"));
  if (Buffer.byteLength(nodeID) > maxNodeIdLength) {
    problems.invalid(path.child("nodeID"), nodeID, "must be 256 characters or less");
  }
  const count = allocatable?.count;
  if (count !== undefined && count < 0) {
    const countPath = path.child("allocatable", "count");
    problems.invalid(countPath, count, "must be greater than or equal to 0");
  }
}

/** Validates topology keys; errors have the path of the driver. */
function checkKeys(keys: readonly string[], path: Path, problems: Problems): void {
  const repeated = duplicateIndexes(keys, (key) => key);
  for (const [index, key] of keys.entries()) {
    if (key === "") problems.required(path);
    if (repeated.has(index)) problems.duplicate(path, key);
    invalidEach(problems, path, { value: key, messages: isQualifiedName(key) });
  }
}

function validate({ spec }: CSINode, problems: Problems): void {
  const drivers = spec.drivers ?? [];
  const repeated = duplicateIndexes(drivers, ({ name }) => name);
  for (const [index, driver] of drivers.entries()) {
    const path = Path.of("spec.drivers").index(index);
    checkDriver(driver, path, problems);
    if (repeated.has(index)) problems.duplicate(path.child("name"), driver.name);
    checkKeys(driver.topologyKeys ?? [], path, problems);
  }
}

/** Reports each existing driver that the update changes. */
function checkFixedDrivers(object: CSINode, old: CSINode, problems: Problems): void {
  const byName = new Map<string, Driver[]>();
  for (const driver of object.spec.drivers ?? []) {
    byName.set(driver.name, [...(byName.get(driver.name) ?? []), driver]);
  }
  for (const before of old.spec.drivers ?? []) {
    for (const driver of byName.get(before.name) ?? []) {
      if (semanticEquality(csiNodeDriver)(driver, before)) continue;
      problems.invalid(
        Path.of("spec.drivers"),
        goShape(csiNodeDriver, driver),
        fieldImmutableMessage,
      );
    }
  }
}

export const csiNode = kind(csiNodeV1, {
  group: "storage.{api}",
  kind: "CSINode",
  plural: "csinodes",
  scope: "Cluster",
  versions: [{ version: "v1", struct: csiNodeV1, onByDefault: true, convert: "hub" }],
  rules: {
    metadataOnUpdate: { "": ["object", "object"] },
    unconditionalUpdate: false,
    deleteReturnsObject: true,
  },
  hooks: {
    validate,
    validateUpdate: (object, old, problems) => {
      // Kubernetes validates a changed CSINode twice and reports each error twice.
      validate(object, problems);
      validate(object, problems);
      checkFixedDrivers(object, old, problems);
    },
  },
  columns: [
    nameColumn,
    column("Drivers", "Number of drivers registered on the node.", { type: "integer" }),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.drivers?.length ?? 0,
    ageOf(object, context),
  ],
});
