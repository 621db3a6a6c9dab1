import { type JsonObject, type Slices, yieldEvery } from "#base";
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

/** Body and options of a POST or PUT. */
export interface WriteInput {
  readonly body: Body;
  readonly options: WriteOptions;
}

/** Body and options of a PATCH. */
export interface PatchInput {
  readonly body: Body;
  readonly options: PatchOptions;
}

/** Size above which the steps of a write may block the event loop for several milliseconds. */
const largeBytes = 16 * 1024;

/** Derives the wanted object from the stored one; called again after a conflict. */
export type ObjectChange = (registry: RegistryContext, current: StoredItem | undefined) => Decoded;

/** As `ObjectChange`, yielding between slices of work. */
export type PatchApplier = (
  registry: RegistryContext,
  current: Pick<StoredItem, "object"> | undefined,
) => Slices<Decoded>;

interface WriteSettings {
  readonly dryRun: boolean;
  /** Body and options of the client; absent for writes through a subresource. */
  readonly input?: WriteInput;
  /** As `input`, for a PATCH. */
  readonly patch?: PatchInput;
  /** The change that a subresource makes. */
  readonly change?: ObjectChange;
  /** Precondition: uid of the stored object. */
  readonly uid?: string | undefined;
  /** The write is a server-side apply. */
  readonly applies?: boolean;
}

/** The state of one write, which its steps read and change. `begin` starts an attempt. */
export class Write {
  readonly dryRun: boolean;
  readonly input: WriteInput | undefined;
  readonly patch: PatchInput | undefined;
  readonly change: ObjectChange | undefined;
  /** Applies the PATCH; shared by all attempts, so that the patch is parsed once. */
  apply: PatchApplier | undefined = undefined;
  readonly applies: boolean;
  uid: string | undefined;
  /** The decoded body of a PUT; each attempt changes a copy of it. */
  decoded: Decoded | undefined = undefined;
  /** The name is generated: if it is taken, the create is retried with another one. */
  generatesName = false;

  /** Body or stored object is large: the write yields to other requests between all steps. */
  isLarge: boolean;

  /** The stored object that this attempt replaces; undefined for a create. */
  current: StoredItem | undefined = undefined;
  entry: Entry | undefined = undefined;
  /** The wanted object in hub form; the steps change it in place. */
  object: any = undefined;
  /** Texts of Warning headers (code 299); sent with errors, too. */
  warnings: string[] = [];
  /** The stored object in the version of the request, as a patch was applied to it. */
  document: JsonObject | undefined = undefined;
  /** Set by mutating admission. */
  attributes: AdmissionAttributes | undefined = undefined;
  managedFieldsBeforeAdmission: ManagedFields = undefined;
  allocation: AllocationTransaction | undefined = undefined;
  /** The attempt has written to the store. */
  stored = false;
  /** Undefined when the compare-and-swap failed. */
  response: WriteResponse | undefined = undefined;
  /** Set when another writer changed the object first. */
  conflict: Conflict | undefined = undefined;
  /** Yields to other requests if the steps since the last yield took long. */
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

  /** Resets the state for an attempt to replace `entry`, or to create if it is undefined. */
  begin(entry: Entry | undefined): void {
    this.entry = entry;
    if ((entry?.value.byteLength ?? 0) > largeBytes) this.isLarge = true;
    this.current = entry && StoredItem.of(this.registry, this.request, entry);
    this.object = undefined;
    this.warnings = [];
    this.document = undefined;
    this.attributes = undefined;
    this.managedFieldsBeforeAdmission = undefined;
    this.allocation = undefined;
    this.stored = false;
    this.response = undefined;
    this.conflict = undefined;
    this.pause = yieldEvery();
    this.#hookContext = undefined;
  }

  /** The stored object in hub form, read-only; undefined for a create. */
  get old(): any {
    return this.current?.object;
  }

  /** The context of the kind's hooks, whose warnings are added to those of the write. */
  get hookContext(): HookContext {
    this.#hookContext ??= hookContext(this.registry, this.request, this.warnings);
    return this.#hookContext;
  }

  /** `pause` for a large object; undefined otherwise. */
  get pauseIfLarge(): (() => Promise<void> | undefined) | undefined {
    return this.isLarge ? this.pause : undefined;
  }

  /** Sets the wanted object and replaces the warnings by those of its decoding. */
  setDecoded({ object, warnings, document }: Decoded): void {
    this.object = object;
    this.warnings = warnings;
    this.document = document;
  }
}

/** One step of a write. A step that does not wait returns undefined instead of a promise. */
export type WriteStep = (write: Write) => Promise<void> | undefined | void;

/**
 * Runs the steps of one attempt, then commits or cancels its allocations. After any error but a
 * StatusError the object may have been stored: the allocations remain, and the repair loop reclaims
 * them if it was not.
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

/** Runs a step after decoding: where it fails, the warnings of decoding are reported with the error. */
export async function reportingWarnings<T>(
  warnings: readonly string[],
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw withWarnings(error, warnings);
  }
}

/** Adds warnings to a StatusError, as failed requests report theirs, too. */
export function withWarnings(error: unknown, warnings: readonly string[]): unknown {
  if (!(error instanceof StatusError) || warnings.length === 0) return error;
  const all = new Set([...warnings, ...error.warnings]);
  return new StatusError(error.status, error.headers, [...all]);
}
