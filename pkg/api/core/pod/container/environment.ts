/** Environment variables of containers. */
import { type Infer, required, bool, inline, pointer, value, string, structs } from "#schema";
import { objectFieldSelector, resourceFieldSelector } from "../../volume/projected-volumes.ts";
import { localObjectReference } from "../../shared/references.ts";

const v1 = structs("api/core/v1");

const configMapEnvSource = v1("ConfigMapEnvSource", "All entries of a ConfigMap as variables.", {
  localObjectReference: inline(1, localObjectReference, "The ConfigMap."),
  optional: pointer(2, bool, "The ConfigMap need not exist."),
});

const secretEnvSource = v1("SecretEnvSource", "All entries of a Secret as variables.", {
  localObjectReference: inline(1, localObjectReference, "The Secret."),
  optional: pointer(2, bool, "The Secret need not exist."),
});

export const envFromSource = v1("EnvFromSource", "Variables from all entries of an object.", {
  prefix: value(1, string, "Put in front of every key."),
  configMapRef: pointer(2, configMapEnvSource, "The ConfigMap."),
  secretRef: pointer(3, secretEnvSource, "The Secret."),
});

const configMapKeySelector = v1(
  "ConfigMapKeySelector",
  "One entry of a ConfigMap.",
  {
    localObjectReference: inline(1, localObjectReference, "The ConfigMap."),
    key: required(2, string, "The key."),
    optional: pointer(3, bool, "The ConfigMap and the key need not exist."),
  },
  { atomic: true },
);

const secretKeySelector = v1(
  "SecretKeySelector",
  "One entry of a Secret.",
  {
    localObjectReference: inline(1, localObjectReference, "The Secret."),
    key: required(2, string, "The key."),
    optional: pointer(3, bool, "The Secret and the key need not exist."),
  },
  { atomic: true },
);

const fileKeySelector = v1(
  "FileKeySelector",
  "One entry of a file of variables in a volume.",
  {
    volumeName: required(1, string, "Name of the volume."),
    path: required(2, string, "Path of the file within it."),
    key: required(3, string, "Name of the variable in the file."),
    optional: pointer(4, bool, "The file and the key need not exist.", { default: false }),
  },
  { atomic: true },
);

const envVarSource = v1(
  "EnvVarSource",
  "Where a variable's value comes from; exactly one field is set.",
  {
    fieldRef: pointer(1, objectFieldSelector, "A field of the pod."),
    resourceFieldRef: pointer(2, resourceFieldSelector, "A resource amount of a container."),
    configMapKeyRef: pointer(3, configMapKeySelector, "An entry of a ConfigMap."),
    secretKeyRef: pointer(4, secretKeySelector, "An entry of a Secret."),
    fileKeyRef: pointer(5, fileKeySelector, "An entry of a file of variables.", {
      gate: "EnvFiles",
    }),
  },
);

export const envVar = v1("EnvVar", "An environment variable.", {
  name: required(1, string, "Name of the variable."),
  value: value(2, string, "Its value; `$(NAME)` stands for earlier variables."),
  valueFrom: pointer(3, envVarSource, "Where the value comes from, instead of `value`."),
});

export type EnvVar = Infer<typeof envVar>;
