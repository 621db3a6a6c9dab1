import { assign, deepClone, deepEqual, printJson } from "#base";
import { Written } from "#schema";
import { checkDepth, type JsonObject, PatchFault, Work } from "./patch-fault.ts";

/**
 * JSON Patch (RFC 6902) as Kubernetes applies it, which is laxer than the standard: a replace may
 * name a missing key, a copy of one gives null, a test for null passes there, indices may be
 * negative, and what stands before the first slash of a path is ignored.
 */

interface PatchOperation {
  readonly op?: string | null;
  readonly path?: string | null;
  readonly from?: string | null;
  readonly value?: unknown;
}

/** Bytes that all copies of one patch may add. */
const COPY_LIMIT = 3 * 1024 * 1024;

/** Elements that all operations of one patch may move; these take some 10 ms. */
const MOVE_LIMIT = 20_000_000;

type Container = JsonObject | unknown[];

/**
 * Applies the operations in order. Neither argument is changed. Throws PatchFault at the first
 * that fails.
 */
export function jsonPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  checkDepth(operations);
  const run = new Run(deepClone(document));
  for (const operation of operations) run.apply(operation ?? {});
  // Moves bury deeper than any operation is.
  checkDepth(run.document);
  return run.document;
}

class Run {
  private copied = 0;
  private readonly moving = new Work(MOVE_LIMIT);

  constructor(public document: unknown) {}

  apply(operation: PatchOperation): void {
    const { op } = operation;
    switch (op) {
      case "add":
        this.add(operation, deepClone(operation.value ?? null));
        return;
      case "remove":
        this.remove(operation.path, op);
        return;
      case "replace":
        this.replace(operation);
        return;
      case "move":
        this.add(operation, this.remove(operation.from, op));
        return;
      case "copy":
        this.copy(operation);
        return;
      case "test":
        this.test(operation);
        return;
      default:
        throw new PatchFault(`Unexpected kind: ${op ?? "unknown"}`);
    }
  }

  private add(operation: PatchOperation, value: unknown): void {
    this.insert(this.place(operation.path, operation.op ?? ""), value);
  }

  private remove(path: string | null | undefined, op: string): unknown {
    const place = this.place(path, op);
    this.moving.spend(elementsBehind(place));
    return remove(place);
  }

  private insert(place: Target, value: unknown): void {
    this.moving.spend(elementsBehind(place));
    insert(place, value);
  }

  private replace(operation: PatchOperation): void {
    const value = deepClone(operation.value ?? null);
    if (operation.path === "") {
      // Anything but an object or array is passed over, as in the reference.
      if (typeof value === "object" && value !== null) this.document = value;
      return;
    }
    const place = this.place(operation.path, "replace");
    if (Array.isArray(place.container)) {
      place.container[indexOf(place, place.container.length)] = value;
    } else {
      assign(place.container, place.key, value);
    }
  }

  private copy(operation: PatchOperation): void {
    const value = read(this.place(operation.from, "copy"));
    const place = this.place(operation.path, "copy");
    checkDepth(value);
    if (value !== undefined) this.copied += Buffer.byteLength(printJson(value));
    if (this.copied > COPY_LIMIT) {
      throw new PatchFault(
        "Unable to complete the copy, the accumulated size increase of copy is " +
          `${this.copied}, exceeding the limit ${COPY_LIMIT}`,
      );
    }
    this.insert(place, deepClone(value ?? null));
  }

  private test(operation: PatchOperation): void {
    const { path, value } = operation;
    const actual = path === "" ? this.document : read(this.place(path, "test"));
    const isNone = actual === undefined || actual === null;
    // A missing value equals null, but null is not equal to a value that is left out.
    const passes = isNone
      ? value === null || value === undefined
      : value !== undefined && deepEqual(actual, value);
    if (!passes) throw new PatchFault(`testing value ${path} failed: test failed`);
  }

  /** The object or array that holds the last step of a path. */
  private place(path: string | null | undefined, op: string): Target {
    const missing = (): PatchFault =>
      new PatchFault(`${op} operation does not apply: doc is missing path: ${path ?? ""}`);
    if (typeof path !== "string") throw missing();
    const steps = path.split("/").map(decoded);
    if (steps.length < 2) throw missing();
    let container = this.document;
    for (const step of steps.slice(1, -1)) {
      if (!isContainer(container)) throw missing();
      container = stepInto(container, step);
    }
    if (!isContainer(container)) throw missing();
    return { container, key: steps.at(-1) ?? "" };
  }
}

interface Target {
  readonly container: Container;
  readonly key: string;
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null && !(value instanceof Written);
}

function decoded(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}

function stepInto(container: Container, step: string): unknown {
  if (!Array.isArray(container)) {
    return Object.hasOwn(container, step) ? container[step] : undefined;
  }
  const index = integerOf(step);
  return index === undefined ? undefined : container.at(index);
}

function read({ container, key }: Target): unknown {
  if (Array.isArray(container)) return container[indexOf({ container, key }, container.length)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

/** How many elements move when one comes or goes. */
function elementsBehind({ container, key }: Target): number {
  if (!Array.isArray(container) || key === "-") return 0;
  const { length } = container;
  return Math.min(length, length - (integerOf(key) ?? 0));
}

function insert(place: Target, value: unknown): void {
  const { container, key } = place;
  if (!Array.isArray(container)) assign(container, key, value);
  else if (key === "-") container.push(value);
  else container.splice(indexOf(place, container.length + 1), 0, value);
}

/** Takes a value out and gives it back. */
function remove(place: Target): unknown {
  const { container, key } = place;
  if (Array.isArray(container)) {
    return container.splice(indexOf(place, container.length), 1)[0];
  }
  if (!Object.hasOwn(container, key)) {
    throw new PatchFault(`Unable to remove nonexistent key: ${key}: missing value`);
  }
  const value = container[key];
  delete container[key];
  return value;
}

/** The index that a key names among `size` slots; negative ones count from the end. */
function indexOf({ key }: Target, size: number): number {
  const index = integerOf(key);
  if (index === undefined) {
    throw new PatchFault(`value was not a proper array index: '${key}'`);
  }
  if (index >= size || index < -size) {
    throw new PatchFault(`Unable to access invalid index: ${index}: invalid index referenced`);
  }
  return index < 0 ? index + size : index;
}

function integerOf(text: string): number | undefined {
  return /^[-+]?[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}
