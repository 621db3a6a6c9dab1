import { assign, isJsonObject } from "#base";

type JsonObject = Record<string, unknown>;

/** The field names of a path such as `.spec.replicas`. */
export type SimplePath = readonly string[];

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
  let holder = object;
  for (const [index, name] of path.entries()) {
    if (index === path.length - 1) assign(holder, name, value);
    else {
      if (!Object.hasOwn(holder, name)) assign(holder, name, {});
      const next = holder[name];
      if (!isJsonObject(next)) return false;
      holder = next;
    }
  }
  return true;
}
