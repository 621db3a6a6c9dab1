/** Scale, the kind of scale subresources. */
import { required, type Infer, int32, Path, value, type Problems, string, structs } from "#schema";
import { checkObjectMeta, kind, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameOf } from "../printing.ts";

const v1 = structs("api/autoscaling/v1");

const scaleSpec = v1("ScaleSpec", "Desired scale of an object.", {
  replicas: value(1, int32, "Desired number of replicas. Must not be negative. Defaults to 0.", {
    default: 0,
    openApi: { default: true },
  }),
});

const scaleStatus = v1("ScaleStatus", "Observed scale of an object.", {
  replicas: required(1, int32, "Number of replicas observed."),
  selector: value(
    2,
    string,
    "Label selector of the pods in string form, for example `app=web,tier=front`. Autoscalers " +
      "use it to find the pods.",
  ),
});

export const scaleV1 = v1(
  "Scale",
  "Scale is the body of the scale subresource, which reads and sets the replica count of any " +
    "scalable object.",
  {
    metadata: value(
      1,
      objectMeta,
      "Standard object metadata. Name, namespace, UID and resourceVersion are those of the " +
        "scaled object.",
    ),
    spec: value(2, scaleSpec, "Desired number of replicas of the object."),
    status: value(3, scaleStatus, "Current number of replicas of the object. Read-only."),
  },
);

type Scale = Infer<typeof scaleV1>;

export function checkScale({ metadata, spec }: Scale, problems: Problems): void {
  const options = { namespaced: true, name: "dns-subdomain" } as const;
  checkObjectMeta(metadata, options, Path.of("metadata"), problems);
  const { replicas = 0 } = spec;
  if (replicas >= 0) return;
  const path = Path.of("spec.replicas");
  problems.invalid(path, replicas, "must be greater than or equal to 0");
}

/** Scale is never stored, but computed from the scaled object. */
export const scale = kind(scaleV1, {
  group: "autoscaling",
  kind: "Scale",
  plural: "scales",
  scope: "Namespaced",
  versions: [{ version: "v1", struct: scaleV1, onByDefault: true, convert: "hub" }],
  hooks: { validate: checkScale },
  columns: [
    column("Name", "Name of the scaled object."),
    column("Desired", "Desired number of replicas.", { type: "integer" }),
    column("Available", "Observed number of replicas.", { type: "integer" }),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.replicas ?? 0,
    object.status.replicas,
    ageOf(object, context),
  ],
});
