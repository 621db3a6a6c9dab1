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

const overhead = v1("Overhead", "Resource overhead of running a pod.", {
  podFixed: value(
    1,
    resourceList,
    "Fixed overhead of a pod, by resource, for example cpu and memory.",
  ),
});

const scheduling = v1(
  "Scheduling",
  "Scheduling constraints for nodes that support a RuntimeClass.",
  {
    nodeSelector: value(
      1,
      map(string),
      "Labels of nodes that support the class. Merged with the nodeSelector of pods; conflicts " +
        "cause the pod to be rejected.",
      { mapType: "atomic" },
    ),
    tolerations: value(
      2,
      list(toleration),
      "Tolerations added to pods of the class, except for duplicates.",
      {
        listType: "atomic",
      },
    ),
  },
);

const runtimeClassV1 = v1(
  "RuntimeClass",
  "RuntimeClass defines a class of container runtime, which pods select by runtimeClassName.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    handler: required(
      2,
      string,
      "Runtime handler in the CRI configuration of nodes, for example `runc` or `kata`: a DNS " +
        "label. Immutable.",
    ),
    overhead: pointer(
      3,
      overhead,
      "Resource overhead of running a pod with the class. Admission sets it in pods.",
    ),
    scheduling: pointer(
      4,
      scheduling,
      "Scheduling constraints for nodes that support the class. If absent, all nodes are " +
        "assumed to support it.",
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
    freeFinalizers: true,
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
