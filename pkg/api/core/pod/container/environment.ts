/** Structs of environment variables. */
import { type Infer, required, bool, inline, pointer, value, string, structs } from "#schema";
import { objectFieldSelector, resourceFieldSelector } from "../../volume/projected-volumes.ts";
import { localObjectReference } from "../../shared/references.ts";

const v1 = structs("api/core/v1");

const configMapEnvSource = v1(
  "ConfigMapEnvSource",
  "Environment variables from all keys of a ConfigMap.",
  {
    localObjectReference: inline(
      1,
      localObjectReference,
      "ConfigMap to read from, in the namespace of the pod.",
    ),
    optional: pointer(
      2,
      bool,
      "Whether the ConfigMap may be missing. Defaults to false: the container does not start " +
        "without it.",
    ),
  },
);

const secretEnvSource = v1("SecretEnvSource", "Environment variables from all keys of a Secret.", {
  localObjectReference: inline(
    1,
    localObjectReference,
    "Secret to read from, in the namespace of the pod.",
  ),
  optional: pointer(
    2,
    bool,
    "Whether the Secret may be missing. Defaults to false: the container does not start " +
      "without it.",
  ),
});

export const envFromSource = v1(
  "EnvFromSource",
  "Source of a set of environment variables. Exactly one of configMapRef and secretRef " +
    "must be set.",
  {
    prefix: value(
      1,
      string,
      "Prefix of the names of the variables. Printable ASCII characters except `=`.",
    ),
    configMapRef: pointer(
      2,
      configMapEnvSource,
      "ConfigMap to read from. Mutually exclusive with secretRef.",
    ),
    secretRef: pointer(
      3,
      secretEnvSource,
      "Secret to read from. Mutually exclusive with configMapRef.",
    ),
  },
);

const configMapKeySelector = v1(
  "ConfigMapKeySelector",
  "Selects a key of a ConfigMap.",
  {
    localObjectReference: inline(
      1,
      localObjectReference,
      "ConfigMap to read from, in the namespace of the pod.",
    ),
    key: required(2, string, "Key to select from data of the ConfigMap."),
    optional: pointer(
      3,
      bool,
      "Whether the ConfigMap or the key may be missing. Defaults to false.",
    ),
  },
  { atomic: true },
);

const secretKeySelector = v1(
  "SecretKeySelector",
  "Selects a key of a Secret.",
  {
    localObjectReference: inline(
      1,
      localObjectReference,
      "Secret to read from, in the namespace of the pod.",
    ),
    key: required(2, string, "Key to select from data of the Secret. Required."),
    optional: pointer(3, bool, "Whether the Secret or the key may be missing. Defaults to false."),
  },
  { atomic: true },
);

const fileKeySelector = v1(
  "FileKeySelector",
  "Selects a key of an environment file in a volume of the pod.",
  {
    volumeName: required(
      1,
      string,
      "Name of the volume that contains the file, usually an emptyDir that an init container " +
        "writes to.",
    ),
    path: required(2, string, "Path of the file within the volume. Relative and without `..`."),
    key: required(3, string, "Key to select from the file, at most 128 characters."),
    optional: pointer(
      4,
      bool,
      "Whether the file or the key may be missing; the variable is then not set. Defaults to " +
        "false: the container does not start without it.",
      { default: false, openApi: { default: true } },
    ),
  },
  { atomic: true },
);

const envVarSource = v1(
  "EnvVarSource",
  "Source of the value of an environment variable. Exactly one field must be set.",
  {
    fieldRef: pointer(
      1,
      objectFieldSelector,
      "Field of the pod, such as metadata.name, spec.nodeName or status.podIP.",
    ),
    resourceFieldRef: pointer(
      2,
      resourceFieldSelector,
      "Resource request or limit of a container, such as limits.cpu.",
    ),
    configMapKeyRef: pointer(
      3,
      configMapKeySelector,
      "Key of a ConfigMap. Later changes do not affect running containers.",
    ),
    secretKeyRef: pointer(
      4,
      secretKeySelector,
      "Key of a Secret. Later changes do not affect running containers.",
    ),
    fileKeyRef: pointer(
      5,
      fileKeySelector,
      "Key of an environment file. Alpha: requires the feature gate EnvFiles.",
      {
        gate: "EnvFiles",
      },
    ),
  },
);

export const envVar = v1("EnvVar", "Environment variable of a container.", {
  name: required(1, string, "Name of the variable. Printable ASCII characters except `=`."),
  value: value(
    2,
    string,
    "Value of the variable. `$(VAR_NAME)` is expanded from the variables defined before and " +
      'those of Services; `$$` escapes a dollar sign. Defaults to "". Mutually exclusive with ' +
      "valueFrom.",
  ),
  valueFrom: pointer(3, envVarSource, "Source of the value. Mutually exclusive with value."),
});

export type EnvVar = Infer<typeof envVar>;
