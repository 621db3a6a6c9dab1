import { type Slices, yieldEvery } from "#base";
import { type HookContext, StatusError } from "#meta";
import type { Entry } from "#storage";
import type { AllocationTransaction } from "../allocation/allocation-transaction.ts";
import { StoredItem } from "../codec/stored.ts";
import { hookContext, type RegistryContext } from "../context.ts";
import type {
  AdmissionAttributes,
  Body,
  PatchOptions,
  ResourceRequest,
  WriteOptions,
  WriteResponse,
} from "../contract.ts";
import type { Decoded } from "./decode-body.ts";
import type { ManagedFields } from "./managed-fields.ts";
import type { Conflict } from "./write-conflict.ts";

/** What a client asks of a write. */
export interface WriteInput {
  readonly body: Body;
  readonly options: WriteOptions;
}

export interface PatchInput {
  readonly body: Body;
  readonly options: PatchOptions;
}

/** Bodies and stored objects above this may hold the event loop for more than some milliseconds. */
const largeBytes = 16 * 1024;

/** The wanted object, made from the stored one; called again after a conflict. */
export type ObjectChange = (registry: RegistryContext, current: StoredItem | undefined) => Decoded;

/** As `ObjectChange`, in slices. */
export type PatchApplier = (
  registry: RegistryContext,
  current: Pick<StoredItem, "object"> | undefined,
) => Slices<Decoded>;

interface WriteSettings {
  readonly dryRun: boolean;
  /** What the client sent; absent where a subresource changes its object. */
  readonly input?: WriteInput;
  /** The same, of a PATCH. */
  readonly patch?: PatchInput;
  /** The change of a subresource. */
  readonly change?: ObjectChange;
  /** The stored object must have this uid. */
  readonly uid?: string | undefined;
  /** Server-side apply creates missing objects of every kind and requires managedFields. */
  readonly applies?: boolean;
}

/** One write on its way through the steps. An attempt begins with `begin`. */
export class Write {
  readonly dryRun: boolean;
  readonly input: WriteInput | undefined;
  readonly patch: PatchInput | undefined;
  readonly change: ObjectChange | undefined;
  /** Makes the wanted object of a PATCH; kept for further attempts, so that it is parsed once. */
  apply: PatchApplier | undefined = undefined;
  readonly applies: boolean;
  uid: string | undefined;
  /** The decoded body of a PUT, from which each attempt takes a copy. */
  decoded: Decoded | undefined = undefined;
  /** The name is generated, so that another one can be tried when it is taken. */
  generatesName = false;

  /** Steps may take long, so that others need turns between all of them. */
  isLarge: boolean;

  /** The stored object that this attempt replaces; undefined for a create. */
  current: StoredItem | undefined = undefined;
  entry: Entry | undefined = undefined;
  /** The wanted object in hub form; the steps change it in place. */
  object: any = undefined;
  /** Warnings for the client (code 299); sent with errors, too. */
  warnings: string[] = [];
  /** Set by mutating admission. */
  attributes: AdmissionAttributes | undefined = undefined;
  managedFieldsBeforeAdmission: ManagedFields = undefined;
  allocation: AllocationTransaction | undefined = undefined;
  /** Whether the store has been written. */
  stored = false;
  /** Undefined when the compare-and-swap failed. */
  response: WriteResponse | undefined = undefined;
  /** Set when another writer changed the object first. */
  conflict: Conflict | undefined = undefined;
  /** Yields to other requests when the steps since the last yield took long. */
  pause = yieldEvery();
  #hookContext: HookContext | undefined = undefined;

  constructor(
    readonly registry: RegistryContext,
    readonly request: ResourceRequest,
    { dryRun, patch, input = patch, change, uid, applies = false }: WriteSettings,
  ) {
    this.dryRun = dryRun;
    this.input = input;
    this.patch = patch;
    this.change = change;
    this.uid = uid;
    this.applies = applies;
    this.isLarge = (input?.body.bytes.length ?? 0) > largeBytes;
  }

  /** Forgets the attempt before; `entry` is the stored object, if there is one. */
  begin(entry: Entry | undefined): void {
    this.entry = entry;
    if ((entry?.value.byteLength ?? 0) > largeBytes) this.isLarge = true;
    this.current = entry && StoredItem.of(this.registry, this.request, entry);
    this.object = undefined;
    this.warnings = [];
    this.attributes = undefined;
    this.managedFieldsBeforeAdmission = undefined;
    this.allocation = undefined;
    this.stored = false;
    this.response = undefined;
    this.conflict = undefined;
    this.pause = yieldEvery();
    this.#hookContext = undefined;
  }

  /** The stored object, not to be changed; undefined for a create. */
  get old(): any {
    return this.current?.object;
  }

  /** What hooks of the kind may know; their warnings join those of the write. */
  get hookContext(): HookContext {
    this.#hookContext ??= hookContext(this.registry, this.request, this.warnings);
    return this.#hookContext;
  }

  get pauseIfLarge(): (() => Promise<void> | undefined) | undefined {
    return this.isLarge ? this.pause : undefined;
  }

  take({ object, warnings }: Decoded): void {
    this.object = object;
    this.warnings = warnings;
  }
}

/** A step that does not wait returns undefined rather than a promise. */
export type WriteStep = (write: Write) => Promise<void> | undefined | void;

/**
 * Runs the steps of one attempt and settles its allocations. An attempt that ends neither in a
 * response, nor in a conflict, nor in a StatusError may have been stored: its allocations stay until
 * the repair loop knows.
 */
export async function runAttempt(steps: readonly WriteStep[], write: Write): Promise<void> {
  try {
    for (const step of steps) {
      const pending = step(write);
      if (pending !== undefined) await pending;
      if (write.isLarge) await write.pause();
    }
  } catch (error) {
    if (error instanceof StatusError) await write.allocation?.end("cancel");
    throw withWarnings(error, write.warnings);
  }
  if (write.allocation === undefined) return;
  await write.allocation.end(write.response === undefined ? "cancel" : "commit");
}

/** A failed request reports its warnings, too. */
export function withWarnings(error: unknown, warnings: readonly string[]): unknown {
  if (!(error instanceof StatusError) || warnings.length === 0) return error;
  const all = new Set([...warnings, ...error.warnings]);
  return new StatusError(error.status, error.headers, [...all]);
}
