import { required, type Infer, Path, value, type Problems, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { unsupported } from "../strategy.ts";
import { objectReference } from "./shared/references.ts";

export const bindingV1 = structs("api/core/v1")(
  "Binding",
  "Binding assigns a pod to a node, through the pod's subresource `binding`. It is not stored.",
  {
    metadata: value(
      1,
      objectMeta,
      "Name and namespace of the pod. Annotations and labels are copied to it.",
    ),
    target: required(
      2,
      objectReference,
      "Node to assign the pod to. Its kind must be Node or empty.",
    ),
  },
);

type Binding = Infer<typeof bindingV1>;

function validate({ target }: Binding, problems: Problems): void {
  const path = Path.of("target");
  if (target.kind && target.kind !== "Node") {
    // `<empty>` is Kubernetes' spelling for an absent kind, which is accepted as well.
    const supported = ["Node", "<empty>"];
    unsupported(problems, path.child("kind"), { value: target.kind, supported, isQuoted: true });
  }
  if (!target.name) problems.required(path.child("name"));
}

/** Binding is never stored: it assigns the pod of the same name to a node. */
export const binding = kind(bindingV1, {
  group: "",
  kind: "Binding",
  plural: "bindings",
  scope: "Namespaced",
  verbs: ["create"],
  versions: [{ version: "v1", struct: bindingV1, onByDefault: true, convert: "hub" }],
  hooks: { validate },
  columns: plainColumns,
  row: plainRow,
});
