import {
  bool,
  bytes,
  type Infer,
  map,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { isConfigMapKey, kind, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { entry, invalidEach, sortedKeys } from "../strategy.ts";
import { checkImmutableData, maxDataBytes, sizeOfBase64 } from "./shared/immutable-data.ts";

const v1 = structs("api/core/v1");

const configMapV1 = v1(
  "ConfigMap",
  "ConfigMap holds non-confidential configuration data as key-value pairs.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    immutable: pointer(
      4,
      bool,
      "Whether data and binaryData are immutable. Once true, it cannot be unset, and only " +
        "metadata can be updated: delete and recreate the object instead. Defaults to false.",
    ),
    data: value(
      2,
      map(string),
      "UTF-8 values by key. Keys consist of letters, digits, `-`, `_` and `.`, and must not " +
        "also be in binaryData. At most 1 MiB together with binaryData.",
    ),
    binaryData: value(
      3,
      map(bytes),
      "Binary values by key, base64-encoded. Keys consist of letters, digits, `-`, `_` and " +
        "`.`, and must not also be in data.",
    ),
  },
);

type ConfigMap = Infer<typeof configMapV1>;

/**
 * Validates keys of `data` before those of `binaryData`; the total size is reported for the object.
 */
function validate(configMap: ConfigMap, problems: Problems): void {
  let size = 0;
  for (const key of sortedKeys(configMap.data)) {
    const path = Path.of("data").key(key);
    invalidEach(problems, path, { value: key, messages: isConfigMapKey(key) });
    if (entry(configMap.binaryData, key) !== undefined) {
      problems.invalid(path, key, "duplicate of key present in binaryData");
    }
    size += Buffer.byteLength(entry(configMap.data, key) ?? "");
  }
  for (const key of sortedKeys(configMap.binaryData)) {
    const path = Path.of("binaryData").key(key);
    invalidEach(problems, path, { value: key, messages: isConfigMapKey(key) });
    size += sizeOfBase64(entry(configMap.binaryData, key) ?? "");
  }
  if (size > maxDataBytes) problems.tooLong(Path.of("[]"), "", maxDataBytes);
}

export const configMap = kind(configMapV1, {
  group: "",
  kind: "ConfigMap",
  plural: "configmaps",
  shortNames: ["cm"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: configMapV1, onByDefault: true, convert: "hub" }],
  rules: { metadataOnUpdate: { "": ["change", "object"] } },
  hooks: {
    validate,
    validateUpdate: (object, old, problems) => {
      checkImmutableData(object, old, { keys: ["data", "binaryData"], problems });
      validate(object, problems);
    },
  },
  columns: [nameColumn, column("Data", "Number of keys."), ageColumn],
  row: (object, context) => [
    nameOf(object),
    Object.keys(object.data ?? {}).length + Object.keys(object.binaryData ?? {}).length,
    ageOf(object, context),
  ],
});
