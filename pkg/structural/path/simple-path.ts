import { assign, isJsonObject } from "#base";

type JsonObject = Record<string, unknown>;

/** Names of fields from the outside to the inside: those of `.spec.replicas`. */
export type SimplePath = readonly string[];

export function parseSimplePath(text: string): SimplePath {
  return text.replace(/^\./, "").split(".");
}

/** What is there; undefined where there is nothing, or no object on the way. */
export function valueAt(object: unknown, path: SimplePath): unknown {
  let value = object;
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Sets it in place, with the objects on the way. False where something else is in the way. */
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
