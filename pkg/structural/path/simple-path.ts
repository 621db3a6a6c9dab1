import { assign, isJsonObject } from "#base";

type JsonObject = Record<string, unknown>;

/** The field names of a path such as `.spec.replicas`. */
export type SimplePath = readonly string[];

/** Parses a path of field names; the first dot is optional. */
export function parseSimplePath(text: string): SimplePath {
  return text.replace(/^\./, "").split(".");
}

/** The value at the path; undefined if it or a parent object is absent. */
export function valueAt(object: unknown, path: SimplePath): unknown {
  let value = object;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Sets the value in place and creates parent objects. Returns false if a parent is not an object. */
export function setValueAt(object: JsonObject, path: SimplePath, value: unknown): boolean {
  let parent = object;
  for (const [index, name] of path.entries()) {
    if (index === path.length - 1) assign(parent, name, value);
    else {
      if (!Object.hasOwn(parent, name)) assign(parent, name, {});
      const next = parent[name];
      if (!isJsonObject(next)) return false;
      parent = next;
    }
  }
  return true;
}
