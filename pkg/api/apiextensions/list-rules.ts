/** Validation of `x-kubernetes-list-type`, `x-kubernetes-map-type` and related extensions. */
import type { Path, Problems } from "#schema";
import type { JsonSchema } from "#structural";
import { entry, duplicateIndexes, unsupported } from "../strategy.ts";

const listTypeField = "x-kubernetes-list-type";
const listMapKeysField = "x-kubernetes-list-map-keys";
const mapTypeField = "x-kubernetes-map-type";

export function checkMergeExtensions(schema: JsonSchema, path: Path, problems: Problems): void {
  const preserve = "x-kubernetes-preserve-unknown-fields";
  if (schema[preserve] === false) {
    problems.invalid(path.child(preserve), false, "must be true or undefined");
  }
  const needsType = (type: string, reason: string) => {
    if (schema.type === type) return;
    const detail = `must be ${type} if ${reason} is specified`;
    if (!schema.type) problems.required(path.child("type"), detail);
    else problems.invalid(path.child("type"), schema.type, detail);
  };
  const mapType = schema[mapTypeField];
  if (mapType !== undefined) {
    needsType("object", mapTypeField);
    const supported = ["atomic", "granular"];
    if (!supported.includes(mapType)) {
      unsupported(problems, path.child(mapTypeField), {
        value: mapType,
        supported,
        isQuoted: true,
      });
    }
  }
  const listType = schema[listTypeField];
  const listTypes = ["atomic", "set", "map"];
  if (listType !== undefined) needsType("array", listTypeField);
  if (listType !== undefined && !listTypes.includes(listType)) {
    unsupported(problems, path.child(listTypeField), {
      value: listType,
      supported: listTypes,
      isQuoted: true,
    });
  }
  if ((schema[listMapKeysField] ?? []).length === 0) return;
  const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
  if (listType === undefined) problems.required(path.child(listTypeField), detail);
  else if (listType !== "map") problems.invalid(path.child(listTypeField), listType, detail);
}

/** Requires the keys of a list of type map to be scalar properties of its items. */
export function checkListMap(schema: JsonSchema, path: Path, problems: Problems): void {
  if (schema[listTypeField] !== "map") return;
  const keys = schema[listMapKeysField] ?? [];
  const items = path.child("items");
  if (keys.length === 0) {
    const detail = "must not be empty if x-kubernetes-list-type is map";
    problems.required(path.child(listMapKeysField), detail);
  }
  if (!schema.items) {
    problems.required(items, "must have a schema if x-kubernetes-list-type is map");
    return;
  }
  const item = itemOf(schema);
  if (item === undefined) {
    const detail = "must only have a single schema if x-kubernetes-list-type is map";
    problems.invalid(items, schema.items, detail);
  } else if (item.type === "object") checkMapKeys(keys, item, { path, problems });
  else {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    problems.invalid(items.child("type"), item.type ?? "", detail);
  }
}

function itemOf({ items }: JsonSchema): JsonSchema | undefined {
  return items && !Array.isArray(items) ? (items as JsonSchema) : undefined;
}

interface FieldContext {
  readonly path: Path;
  readonly problems: Problems;
}

function checkMapKeys(
  keys: readonly string[],
  item: JsonSchema,
  { path, problems }: FieldContext,
): void {
  const repeated = duplicateIndexes(keys, (key) => key);
  for (const [index, key] of keys.entries()) {
    const property = entry(item.properties, key);
    if (property === undefined) {
      const detail = "entries must all be names of item properties";
      problems.invalid(path.child(listMapKeysField), keys, detail);
    } else if (property.type === "array" || property.type === "object") {
      const typePath = path.child("items", "properties").key(key).child("type");
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      problems.invalid(typePath, property.type, detail);
    }
    if (repeated.has(index)) {
      problems.invalid(path.child(listMapKeysField), keys, "must not contain duplicate entries");
    }
  }
}

/**
 * Validates items of lists of type set, which must be atomic, and the keys of lists of type map.
 */
export function checkListItems(schema: JsonSchema, path: Path, problems: Problems): void {
  const listType = schema[listTypeField];
  const item = itemOf(schema);
  if (item === undefined || (listType !== "set" && listType !== "map")) return;
  const items = path.child("items");
  if (item.nullable) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    problems.forbidden(items.child("nullable"), detail);
  }
  if (listType === "map") {
    for (const key of schema[listMapKeysField] ?? [])
      checkMapKeyProperty(key, item, { path: items, problems });
    return;
  }
  // Lists default to atomic, objects to granular.
  const isList = item.type === "array" && (item[listTypeField] ?? "atomic") !== "atomic";
  const isObject = item.type === "object" && item[mapTypeField] !== "atomic";
  if (!isList && !isObject) return;
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  problems.invalid(
    items.child(isList ? listTypeField : mapTypeField),
    item[listTypeField] ?? null,
    detail,
  );
}

function checkMapKeyProperty(
  key: string,
  item: JsonSchema,
  { path, problems }: FieldContext,
): void {
  const property = entry(item.properties, key);
  if (property === undefined) return;
  const entryPath = path.child("properties").key(key);
  const reason = "this property is in x-kubernetes-list-map-keys, so it";
  if (property.default === undefined && !item.required?.includes(key)) {
    const detail = `${reason} must have a default or be a required property`;
    problems.required(entryPath.child("default"), detail);
  }
  if (property.nullable) {
    problems.forbidden(entryPath.child("nullable"), `${reason} cannot be nullable`);
  }
}
