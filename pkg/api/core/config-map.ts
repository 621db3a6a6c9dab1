import { sliceLength, type Slices, sortedKeysInSlices } from "#base";
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
import { entry, invalidEach } from "../strategy.ts";
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

function validate(configMap: ConfigMap, problems: Problems): void {
  problems.defer((found) => dataChecks(configMap, found));
}

/**
 * Validates keys of `data` before those of `binaryData`; the total size is reported for the object.
 */
function* dataChecks({ data, binaryData }: ConfigMap, problems: Problems): Slices<void> {
  let size = 0;
  let checked = 0;
  for (const key of yield* sortedKeysInSlices(data ?? {})) {
    if (++checked % sliceLength === 0) yield;
    const path = Path.of("data").key(key);
    invalidEach(problems, path, { value: key, messages: isConfigMapKey(key) });
    if (entry(binaryData, key) !== undefined) {
      problems.invalid(path, key, "duplicate of key present in binaryData");
    }
    size += Buffer.byteLength(entry(data, key) ?? "");
  }
  for (const key of yield* sortedKeysInSlices(binaryData ?? {})) {
    if (++checked % sliceLength === 0) yield;
    const path = Path.of("binaryData").key(key);
    invalidEach(problems, path, { value: key, messages: isConfigMapKey(key) });
    size += sizeOfBase64(entry(binaryData, key) ?? "");
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
