import { resourceList } from "../core/shared/resources.ts";
import {
  required,
  type Infer,
  list,
  map,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { goShape } from "../go/go-shape.ts";
import { checkLabels, isDns1123Label, kind, objectMeta } from "#meta";
import { labelDeprecation } from "../core/node/deprecated-labels.ts";
import {
  checkContainerResourceName,
  checkResourceQuantity,
} from "../core/shared/resource-names.ts";
import { checkToleration, toleration, type Toleration } from "../core/pod/spec/toleration.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { entry, invalidEach, mustNotChange, duplicateIndexes, sortedKeys } from "../strategy.ts";

const v1 = structs("api/node/v1");

const overhead = v1(
  "Overhead",
  "Resources that the sandbox of a pod consumes besides its containers.",
  {
    podFixed: value(
      1,
      resourceList,
      "Amount of each resource to add to every pod, by resource name: cpu, memory.",
    ),
  },
);

const scheduling = v1(
  "Scheduling",
  "Constraints that lead pods to the nodes that support a RuntimeClass.",
  {
    nodeSelector: value(
      1,
      map(string),
      "Labels that a node needs for this RuntimeClass. Merged into the pod's nodeSelector; a " +
        "conflict rejects the pod.",
      { mapType: "atomic" },
    ),
    tolerations: value(
      2,
      list(toleration),
      "Tolerations to append to those of the pod, without duplicates.",
      {
        listType: "atomic",
      },
    ),
  },
);

const runtimeClassV1 = v1(
  "RuntimeClass",
  "RuntimeClass names a container runtime configuration that pods select in runtimeClassName.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    handler: required(
      2,
      string,
      "Handler of the CRI configuration on the nodes, for example `runc` or `kata`. A " +
        "lowercase DNS label. Immutable.",
    ),
    overhead: pointer(
      3,
      overhead,
      "Overhead that admission adds to pods of this class for scheduling and quota.",
    ),
    scheduling: pointer(
      4,
      scheduling,
      "Nodes that support the class. When absent, all nodes are assumed to support it.",
    ),
  },
);

type RuntimeClass = Infer<typeof runtimeClassV1>;

function checkOverhead(object: RuntimeClass, problems: Problems): void {
  const fixed = object.overhead?.podFixed;
  for (const name of sortedKeys(fixed)) {
    // Kubernetes reports the path of a container's limits here.
    const path = Path.of("overhead.limits").key(name);
    checkContainerResourceName(name, path, problems);
    checkResourceQuantity({ name, quantity: entry(fixed, name) ?? "0" }, path, problems);
  }
}

function tolerationKey({ key = "", operator = "", value = "", effect = "" }: Toleration): string {
  return JSON.stringify([key, operator, value, effect]);
}

function checkScheduling(object: RuntimeClass, problems: Problems): void {
  const { nodeSelector, tolerations = [] } = object.scheduling ?? {};
  checkLabels(nodeSelector ?? {}, Path.of("scheduling.nodeSelector"), problems);
  const path = Path.of("scheduling.tolerations");
  for (const [index, each] of tolerations.entries()) {
    checkToleration(each, path.child("tolerations").index(index), problems);
  }
  const repeated = duplicateIndexes(tolerations, tolerationKey);
  for (const [index, each] of tolerations.entries()) {
    if (!repeated.has(index)) continue;
    problems.duplicate(path.index(index), goShape(toleration, each));
  }
}

function validate(object: RuntimeClass, problems: Problems): void {
  const { handler } = object;
  invalidEach(problems, Path.of("handler"), { value: handler, messages: isDns1123Label(handler) });
  checkOverhead(object, problems);
  checkScheduling(object, problems);
}

export const runtimeClass = kind(runtimeClassV1, {
  group: "node.{api}",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  scope: "Cluster",
  versions: [{ version: "v1", struct: runtimeClassV1, onByDefault: true, convert: "hub" }],
  rules: {
    metadataOnUpdate: { "": ["object", "change"] },
    createOnUpdate: true,
    unconditionalUpdate: false,
  },
  hooks: {
    validate,
    validateUpdate: (object, old, problems) => {
      validate(object, problems);
      mustNotChange(problems, Path.of("handler"), { now: object.handler, before: old.handler });
    },
    warnings: ({ scheduling: constraints }, _old, { domain }) =>
      sortedKeys(constraints?.nodeSelector).flatMap((label) => {
        const message = labelDeprecation(label, domain);
        return message === undefined ? [] : [`scheduling.nodeSelector: ${message}`];
      }),
  },
  columns: [
    nameColumn,
    column("Handler", "Handler of the CRI configuration on the nodes."),
    ageColumn,
  ],
  row: (object, context) => [nameOf(object), object.handler, ageOf(object, context)],
});
