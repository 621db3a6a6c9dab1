/** Structs of environment variables. */
import { type Infer, required, bool, inline, pointer, value, string, structs } from "#schema";
import { objectFieldSelector, resourceFieldSelector } from "../../volume/projected-volumes.ts";
import { localObjectReference } from "../../shared/references.ts";

const v1 = structs("api/core/v1");

const configMapEnvSource = v1(
  "ConfigMapEnvSource",
  "ConfigMap whose entries become environment variables.",
  {
    localObjectReference: inline(
      1,
      localObjectReference,
      "ConfigMap to read, in the namespace of the pod.",
    ),
    optional: pointer(
      2,
      bool,
      "Whether the ConfigMap may be missing. Defaults to false: the container then does not start.",
    ),
  },
);

const secretEnvSource = v1(
  "SecretEnvSource",
  "Secret whose entries become environment variables.",
  {
    localObjectReference: inline(
      1,
      localObjectReference,
      "Secret to read, in the namespace of the pod.",
    ),
    optional: pointer(
      2,
      bool,
      "Whether the Secret may be missing. Defaults to false: the container then does not start.",
    ),
  },
);

export const envFromSource = v1(
  "EnvFromSource",
  "Source of a set of environment variables. Exactly one of configMapRef and secretRef " +
    "must be set.",
  {
    prefix: value(1, string, "Text to prepend to each key. Must not contain `=`."),
    configMapRef: pointer(
      2,
      configMapEnvSource,
      "ConfigMap to read. Mutually exclusive with secretRef.",
    ),
    secretRef: pointer(3, secretEnvSource, "Secret to read. Mutually exclusive with configMapRef."),
  },
);

const configMapKeySelector = v1(
  "ConfigMapKeySelector",
  "Selects an entry of a ConfigMap.",
  {
    localObjectReference: inline(
      1,
      localObjectReference,
      "ConfigMap to read, in the namespace of the pod.",
    ),
    key: required(2, string, "Key within data of the ConfigMap."),
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
  "Selects an entry of a Secret.",
  {
    localObjectReference: inline(
      1,
      localObjectReference,
      "Secret to read, in the namespace of the pod.",
    ),
    key: required(2, string, "Key within data of the Secret. Required."),
    optional: pointer(3, bool, "Whether the Secret or the key may be missing. Defaults to false."),
  },
  { atomic: true },
);

const fileKeySelector = v1(
  "FileKeySelector",
  "Selects an entry of an environment file in a volume.",
  {
    volumeName: required(
      1,
      string,
      "Name of the volume that contains the file. An init container usually writes it.",
    ),
    path: required(2, string, "Path of the file within the volume. Relative and without `..`."),
    key: required(3, string, "Name of the variable in the file, at most 128 characters."),
    optional: pointer(
      4,
      bool,
      "Whether the file or the key may be missing. Defaults to false: the container then " +
        "does not start.",
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
      "Entry of a ConfigMap. Later changes do not affect running containers.",
    ),
    secretKeyRef: pointer(
      4,
      secretKeySelector,
      "Entry of a Secret. Later changes do not affect running containers.",
    ),
    fileKeyRef: pointer(
      5,
      fileKeySelector,
      "Entry of an environment file. Alpha: requires the feature gate EnvFiles.",
      {
        gate: "EnvFiles",
      },
    ),
  },
);

export const envVar = v1("EnvVar", "Environment variable of a container.", {
  name: required(1, string, "Name of the variable: any printable ASCII characters except `=`."),
  value: value(
    2,
    string,
    "Value of the variable. `$(VAR_NAME)` is expanded from variables defined before, `$$` " +
      'escapes a dollar sign. Defaults to "". Excludes valueFrom.',
  ),
  valueFrom: pointer(3, envVarSource, "Source of the value. Mutually exclusive with value."),
});

export type EnvVar = Infer<typeof envVar>;
