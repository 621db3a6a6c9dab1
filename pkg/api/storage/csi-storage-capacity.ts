import {
  required,
  type Infer,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { isDns1123Subdomain, kind, labelSelector, objectMeta, Quantity, quantity } from "#meta";
import { nodeLabelSelectorWarnings } from "../core/node/deprecated-labels.ts";
import { goSelector } from "../go/go-shape.ts";
import { checkLabelSelector } from "../label-selector.ts";
import { plainColumns, plainRow } from "../printing.ts";
import { invalidEach, mustNotChange } from "../strategy.ts";

const v1 = structs("api/storage/v1");

const csiStorageCapacityV1 = v1(
  "CSIStorageCapacity",
  "CSIStorageCapacity reports the available capacity of a StorageClass for a topology segment. " +
    "The provisioner of a CSI driver creates it, and the scheduler uses it.",
  {
    metadata: value(1, objectMeta, "Standard object metadata. The name has no particular meaning."),
    nodeTopology: pointer(
      2,
      labelSelector,
      "Label query over the nodes that have access to the storage. {} selects all; absent " +
        "selects none. Immutable.",
    ),
    storageClassName: required(
      3,
      string,
      "Name of the StorageClass that the capacity applies to. Immutable.",
    ),
    capacity: pointer(
      4,
      quantity,
      "Available capacity in bytes, as reported by the driver. Unknown if absent.",
    ),
    maximumVolumeSize: pointer(
      5,
      quantity,
      "Maximum size of a volume in bytes, as reported by the driver. If absent, the scheduler " +
        "uses capacity.",
    ),
  },
);

type CSIStorageCapacity = Infer<typeof csiStorageCapacityV1>;

const paths = {
  topology: Path.of("nodeTopology"),
  className: Path.of("storageClassName"),
  capacity: Path.of("capacity"),
};

function validate(object: CSIStorageCapacity, problems: Problems): void {
  const { nodeTopology, storageClassName, capacity } = object;
  checkLabelSelector(nodeTopology, paths.topology, problems);
  const messages = isDns1123Subdomain(storageClassName);
  invalidEach(problems, paths.className, { value: storageClassName, messages });
  if (capacity === undefined || Quantity.parse(capacity).sign >= 0) return;
  problems.invalid(paths.capacity, capacity, "must be greater than or equal to 0");
}

export const csiStorageCapacity = kind(csiStorageCapacityV1, {
  group: "storage.{api}",
  kind: "CSIStorageCapacity",
  listKind: "CSIStorageCapacityList",
  plural: "csistoragecapacities",
  scope: "Namespaced",
  versions: [{ version: "v1", struct: csiStorageCapacityV1, onByDefault: true, convert: "hub" }],
  rules: { metadataOnUpdate: { "": ["object", "change"] }, unconditionalUpdate: false },
  hooks: {
    validate,
    validateUpdate: (object, old, problems) => {
      validate(object, problems);
      const topologies = {
        now: object.nodeTopology,
        before: old.nodeTopology,
        shown: goSelector(object.nodeTopology),
        type: labelSelector,
      };
      mustNotChange(problems, paths.topology, topologies);
      const classes = { now: object.storageClassName, before: old.storageClassName };
      mustNotChange(problems, paths.className, classes);
    },
    warnings: ({ nodeTopology }, _old, { domain }) =>
      nodeLabelSelectorWarnings(nodeTopology, paths.topology, domain),
  },
  columns: plainColumns,
  row: plainRow,
});
