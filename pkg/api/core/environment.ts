/** Environment variables of containers. */
import { type Infer, always, bool, inline, optional, plain, string, structs } from "#schema";
import { objectFieldSelector, resourceFieldSelector } from "./projected-volumes.ts";
import { localObjectReference } from "./references.ts";

const v1 = structs("api/core/v1");

const configMapEnvSource = v1("ConfigMapEnvSource", "All entries of a ConfigMap as variables.", {
  localObjectReference: inline(1, localObjectReference, "The ConfigMap."),
  optional: optional(2, bool, "The ConfigMap need not exist."),
});

const secretEnvSource = v1("SecretEnvSource", "All entries of a Secret as variables.", {
  localObjectReference: inline(1, localObjectReference, "The Secret."),
  optional: optional(2, bool, "The Secret need not exist."),
});

export const envFromSource = v1("EnvFromSource", "Variables from all entries of an object.", {
  prefix: plain(1, string, "Put in front of every key."),
  configMapRef: optional(2, configMapEnvSource, "The ConfigMap."),
  secretRef: optional(3, secretEnvSource, "The Secret."),
});

const configMapKeySelector = v1(
  "ConfigMapKeySelector",
  "One entry of a ConfigMap.",
  {
    localObjectReference: inline(1, localObjectReference, "The ConfigMap."),
    key: always(2, string, "The key."),
    optional: optional(3, bool, "The ConfigMap and the key need not exist."),
  },
  { atomic: true },
);

const secretKeySelector = v1(
  "SecretKeySelector",
  "One entry of a Secret.",
  {
    localObjectReference: inline(1, localObjectReference, "The Secret."),
    key: always(2, string, "The key."),
    optional: optional(3, bool, "The Secret and the key need not exist."),
  },
  { atomic: true },
);

const fileKeySelector = v1(
  "FileKeySelector",
  "One entry of a file of variables in a volume.",
  {
    volumeName: always(1, string, "Name of the volume."),
    path: always(2, string, "Path of the file within it."),
    key: always(3, string, "Name of the variable in the file."),
    optional: optional(4, bool, "The file and the key need not exist.", { default: false }),
  },
  { atomic: true },
);

const envVarSource = v1(
  "EnvVarSource",
  "Where a variable's value comes from; exactly one field is set.",
  {
    fieldRef: optional(1, objectFieldSelector, "A field of the pod."),
    resourceFieldRef: optional(2, resourceFieldSelector, "A resource amount of a container."),
    configMapKeyRef: optional(3, configMapKeySelector, "An entry of a ConfigMap."),
    secretKeyRef: optional(4, secretKeySelector, "An entry of a Secret."),
    fileKeyRef: optional(5, fileKeySelector, "An entry of a file of variables.", {
      gate: "EnvFiles",
    }),
  },
);

export const envVar = v1("EnvVar", "An environment variable.", {
  name: always(1, string, "Name of the variable."),
  value: plain(2, string, "Its value; `$(NAME)` stands for earlier variables."),
  valueFrom: optional(3, envVarSource, "Where the value comes from, instead of `value`."),
});

export type EnvVar = Infer<typeof envVar>;
