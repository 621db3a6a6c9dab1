import { assign, atOnce, deepClone, deepEqual, printJson, type Slices } from "#base";
import { Written } from "#schema";
import { checkDepth, type JsonObject, PatchFault, WorkBudget } from "./patch-fault.ts";

/**
 * JSON Patch (RFC 6902) with the deviations of Kubernetes' library: `replace` accepts a missing key,
 * `copy` of one yields null, `test` for null passes there, indexes may be negative, and text before the
 * first slash of a path is ignored.
 */

interface PatchOperation {
  readonly op?: string | null;
  readonly path?: string | null;
  readonly from?: string | null;
  readonly value?: unknown;
}

/** Maximum number of bytes that the `copy` operations of one patch add. */
const maxCopiedBytes = 3 * 1024 * 1024;

/** Maximum number of list elements that the operations of one patch shift, which takes some 10 ms. */
const maxMovedElements = 20_000_000;

type Container = JsonObject | unknown[];

/**
 * Applies the operations in order. The arguments are not modified; the result shares with the document
 * what the operations do not change.
 * @throws PatchFault at the first operation that fails
 */
export function jsonPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  return atOnce(jsonPatchInSlices(document, operations));
}

/** As `jsonPatch`, in slices of one operation. */
export function* jsonPatchInSlices(
  document: unknown,
  operations: readonly PatchOperation[],
): Slices<unknown> {
  checkDepth(operations);
  const run = new PatchRun(document);
  for (const operation of operations) {
    yield;
    run.apply(operation ?? {});
  }
  yield;
  // Moves and insertions bury deeper than any operation is.
  if (operations.some(mayDeepen)) checkDepth(run.document);
  return run.document;
}

/** Whether an operation may make the document deeper; the check of a large document takes long. */
function mayDeepen(operation: PatchOperation | null): boolean {
  const { op, value } = operation ?? {};
  return op === "move" || op === "copy" || typeof value === "object";
}

class PatchRun {
  private copied = 0;
  /** Objects and lists that this run has copied, and may modify. */
  private readonly owned = new WeakSet<Container>();
  private readonly moving = new WorkBudget(maxMovedElements);

  constructor(public document: unknown) {}

  apply(operation: PatchOperation): void {
    const { op } = operation;
    switch (op) {
      case "add": {
        const place = this.place(operation.path, `add ${missing}: "${operation.path}"`);
        const value = deepClone(operation.value ?? null);
        within("add", operation.path, () => this.insert(place, value));
        return;
      }
      case "remove": {
        const place = this.place(operation.path, `remove ${missing}: "${operation.path}"`);
        within("remove", operation.path, () => this.remove(place));
        return;
      }
      case "replace":
        this.replace(operation);
        return;
      case "move":
        this.move(operation);
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

  private remove(place: Target): unknown {
    this.moving.spend(movedElements(place));
    return remove(place);
  }

  private insert(place: Target, value: unknown): void {
    this.moving.spend(movedElements(place));
    insert(place, value);
  }

  private move({ from, path }: PatchOperation): void {
    const apply = "move operation does not apply: doc is missing";
    const source = this.place(from, `${apply} from path: ${from}`);
    const value = within("move", source.key, () => this.remove(source));
    const target = this.place(path, `${apply} destination path: ${path}`);
    within("move", path, () => this.insert(target, value));
  }

  private replace(operation: PatchOperation): void {
    const value = deepClone(operation.value ?? null);
    if (operation.path === "") {
      // Anything but an object or array is passed over, as in the reference.
      if (typeof value === "object" && value !== null) this.document = value;
      return;
    }
    const { path } = operation;
    const place = this.place(path, `replace ${missing}: ${path}`);
    if (!Array.isArray(place.container)) return assign(place.container, place.key, value);
    const { length } = place.container;
    const index = integerOf(place.key);
    if (index === undefined || index >= length || index < -length) {
      throw new PatchFault(
        `replace operation does not apply: doc is missing key: ${path}: missing value`,
      );
    }
    place.container[index < 0 ? index + length : index] = value;
  }

  private copy(operation: PatchOperation): void {
    const { from, path } = operation;
    const apply = "copy operation does not apply: doc is missing";
    const source = this.find(from, `${apply} from path: ${from}`);
    const value = within("copy", from, () => read(source), "from");
    const place = this.place(path, `${apply} destination path: ${path}`);
    checkDepth(value);
    if (value !== undefined) this.copied += Buffer.byteLength(printJson(value));
    if (this.copied > maxCopiedBytes) {
      throw new PatchFault(
        "Unable to complete the copy, the accumulated size increase of copy is " +
          `${this.copied}, exceeding the limit ${maxCopiedBytes}`,
      );
    }
    const copied = deepClone(value ?? null);
    wrapped("error while adding value during copy", () => this.insert(place, copied));
  }

  private test(operation: PatchOperation): void {
    const { path, value } = operation;
    const actual = path === "" ? this.document : this.tested(path);
    const isNone = actual === undefined || actual === null;
    // A missing value equals null, but null is not equal to a value that is left out.
    const passes = isNone
      ? value === null || value === undefined
      : value !== undefined && deepEqual(actual, value);
    if (!passes) throw new PatchFault(`testing value ${path} failed: test failed`);
  }

  private tested(path: string | null | undefined): unknown {
    const place = this.find(path, `test operation does not apply: is missing path: ${path}`);
    return within("test", path, () => read(place));
  }

  /**
   * The object or list that holds the last step of a path, to be modified.
   * @throws PatchFault with that text where there is none
   */
  private place(path: string | null | undefined, fault: string): Target {
    return this.find(path, fault, (value) => this.own(value));
  }

  /** As `place`; `visit` may replace each object and list on the path by a copy. */
  private find(
    path: string | null | undefined,
    fault: string,
    visit: (value: unknown) => unknown = (value) => value,
  ): Target {
    const lacking = (): PatchFault => new PatchFault(`${fault}: missing value`);
    if (typeof path !== "string") throw lacking();
    const steps = path.split("/").map(decoded);
    if (steps.length < 2) throw lacking();
    let container = (this.document = visit(this.document));
    for (const step of steps.slice(1, -1)) {
      if (!isContainer(container)) throw lacking();
      const inner = stepInto(container, step);
      const visited = visit(inner);
      if (visited !== inner) setStep(container, step, visited);
      container = visited;
    }
    if (!isContainer(container)) throw lacking();
    return { container, key: steps.at(-1) ?? "" };
  }

  /** A copy that may be modified, if the value is an object or list that the document shares. */
  private own(value: unknown): unknown {
    if (!isContainer(value) || this.owned.has(value)) return value;
    const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
    this.owned.add(copy);
    return copy;
  }
}

const missing = "operation does not apply: doc is missing path";

/** Runs a step; faults are prefixed with operation and path, with the messages of json-patch v4. */
function within<T>(op: string, path: string | null | undefined, step: () => T, word = "path"): T {
  return wrapped(`error in ${op} for ${word}: '${path ?? ""}'`, step);
}

function wrapped<T>(text: string, step: () => T): T {
  try {
    return step();
  } catch (fault) {
    if (!(fault instanceof PatchFault) || fault.code !== 422) throw fault;
    throw new PatchFault(`${text}: ${fault.message}`);
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

/** Replaces a value that `stepInto` has found. */
function setStep(container: Container, step: string, value: unknown): void {
  if (!Array.isArray(container)) return assign(container, step, value);
  const index = integerOf(step) ?? 0;
  container[index < 0 ? index + container.length : index] = value;
}

function read({ container, key }: Target): unknown {
  if (Array.isArray(container)) return container[indexOf({ container, key }, container.length)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

/** Number of elements that an insertion or removal shifts. */
function movedElements({ container, key }: Target): number {
  if (!Array.isArray(container) || key === "-") return 0;
  const { length } = container;
  return Math.min(length, length - (integerOf(key) ?? 0));
}

function insert(place: Target, value: unknown): void {
  const { container, key } = place;
  if (!Array.isArray(container)) assign(container, key, value);
  else if (key === "-") container.push(value);
  else {
    const improper = `value was not a proper array index: '${key}'`;
    const isIndex = integerOf(key) !== undefined;
    const index = () => indexOf(place, container.length + 1);
    container.splice(isIndex ? index() : wrapped(improper, index), 0, value);
  }
}

/** Removes a value and returns it. */
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

/** The index in a list of `size` elements; negative ones count from the end. */
function indexOf({ key }: Target, size: number): number {
  const index = integerOf(key);
  if (index === undefined) {
    throw new PatchFault(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`);
  }
  if (index >= size || index < -size) {
    throw new PatchFault(`Unable to access invalid index: ${index}: invalid index referenced`);
  }
  return index < 0 ? index + size : index;
}

function integerOf(text: string): number | undefined {
  return /^[-+]?[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}
