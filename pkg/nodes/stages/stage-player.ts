import type { Clock, Random } from "#base";
import {
  type Client,
  type EventRecorder,
  type Handle,
  type Informer,
  objectKey,
  WorkQueue,
} from "#client";
import { isConflict, isNotFound, StatusError } from "#meta";
import type { Instruments } from "#request";
import { TimerHeap } from "../timers.ts";
import { chooseStage, type CompiledStage, delayOf } from "./compiled-stage.ts";
import type { StageBook } from "./stage-book.ts";
import { stageFunctions, type StageSurroundings } from "./stage-functions.ts";
import type { StagedKind, StagedObject } from "./stage-kinds.ts";
import { finalizersPatch, preparePatch, type PreparedPatch, type Step } from "./steps.ts";

/** What the player knows of the node that an object is on. */
export type StageHost = Pick<
  StageSurroundings,
  "nodeName" | "nodeAddress" | "nodePort" | "podAddress"
>;

export interface StagePlayerOptions<T extends StagedObject> {
  readonly kind: StagedKind;
  readonly resource: Handle<T>;
  readonly book: StageBook;
  readonly informer: Informer<T>;
  /** Acts for all Stages. */
  readonly client: Client;
  readonly recorder: EventRecorder;
  /** The node of the object; undefined = none of this process, or one that does not work. */
  readonly hostOf: (object: T) => StageHost | undefined;
  /** Whether the object has a state that only a Stage can have written. */
  readonly isForeign: (object: T) => boolean;
  /** Called when an object is gone. */
  readonly onGone: (object: T) => void;
  /** Chance for one decision about an object, which the text names. */
  readonly randomOf: (decision: string) => Random;
  readonly version: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
  readonly instruments: Instruments;
}

/** A Stage that an object enters, at the time of its timer. */
interface Job<T> {
  readonly object: T;
  readonly stage: CompiledStage;
  /** Next step; those before it are done. */
  step: number;
}

/** An object that a Stage has selected. */
interface Staged {
  readonly uid: string;
  /** Newest resourceVersion that a Stage has written. */
  written: bigint;
  /** A Stage has deleted it: only its finalizers keep it. */
  isDeleted: boolean;
  /** Stages that the object has entered. */
  entered: number;
  /** Start in ms of the second in which `recent` Stages were entered. */
  since: number;
  recent: number;
}

const workers = 16;
const retryDelays = { firstMs: 200, longestMs: 30_000 };
/** Stages that an object enters in a second at most: one that selects its own result is slowed down. */
const mostPerSecond = 20;

/** Lets the Stages of one kind act on the objects of the informer that they select. */
export class StagePlayer<T extends StagedObject> {
  private readonly jobs = new Map<string, Job<T>>();
  private readonly playing = new Set<string>();
  private readonly staged = new Map<string, Staged>();
  private readonly queue: WorkQueue;
  private readonly timers: TimerHeap;
  private readonly startedAt: number;

  constructor(private readonly options: StagePlayerOptions<T>) {
    const { clock, signal, kind } = options;
    const name = `stages_${kind.toLowerCase()}s`;
    this.queue = new WorkQueue({ ...options, name, delays: retryDelays });
    this.timers = new TimerHeap(clock, signal, (key) => this.queue.add(key));
    this.startedAt = clock.now();
  }

  /** Works until the signal aborts. */
  async run(): Promise<void> {
    const { book, informer } = this.options;
    const stopBook = book.onChange(() => this.resync(informer.all()));
    const stop = informer.subscribe(({ type, object }) => {
      if (type === "deleted") this.forget(object);
      else this.consider(object);
    });
    await this.queue.run((key) => this.play(key), { workers });
    stopBook();
    stop();
  }

  /** Whether Stages decide what happens to an object, in place of the built-in simulation. */
  isStaged(object: T): boolean {
    const { book, kind, isForeign } = this.options;
    if (!book.has(kind)) return false;
    if (book.selecting(kind, object).length > 0) return true;
    // The node itself ends what no Stage ends.
    if (object.metadata.deletionTimestamp !== undefined) return false;
    const known = this.staged.get(objectKey(object));
    return known?.uid === object.metadata.uid || isForeign(object);
  }

  /** Looks at objects again, as after a change of their node or of Stages. */
  resync(objects: Iterable<T>): void {
    for (const object of objects) this.consider(object);
  }

  /** Chooses the Stage that an object enters next, and when. */
  private consider(object: T): void {
    const { book, kind, hostOf, clock, randomOf } = this.options;
    const key = objectKey(object);
    if (!book.has(kind)) {
      this.staged.delete(key);
      return this.cancel(key);
    }
    if (this.playing.has(key) || this.isOutdated(key, object)) return;
    const stages = book.selecting(kind, object);
    if (stages.length === 0 || hostOf(object) === undefined) return this.cancel(key);
    const job = this.jobs.get(key);
    const { resourceVersion } = object.metadata;
    if (job?.object.metadata.resourceVersion === resourceVersion && stages.includes(job.stage)) {
      return;
    }
    const staged = this.stagedOf(key, object);
    const now = clock.now();
    const choice = { object, now, random: randomOf(`${kind}/${key}/${staged.entered++}`) };
    const stage = chooseStage(stages, choice);
    if (stage === undefined) return this.cancel(key);
    this.jobs.set(key, { object, stage, step: 0 });
    const delay = Math.max(delayOf(stage, choice), this.slowDown(staged, now));
    if (delay > 0) return this.timers.set(key, clock.monotonic() + delay);
    this.timers.clear(key);
    this.queue.add(key);
  }

  /** Whether a Stage has written the object since, or has deleted it. */
  private isOutdated(key: string, { metadata }: T): boolean {
    const known = this.staged.get(key);
    if (known?.uid !== metadata.uid) return false;
    const { resourceVersion, finalizers = [] } = metadata;
    if (known.isDeleted && finalizers.length === 0) return true;
    return BigInt(resourceVersion) < known.written;
  }

  private stagedOf(key: string, { metadata: { uid } }: T): Staged {
    const known = this.staged.get(key);
    if (known?.uid === uid) return known;
    const staged = { uid, written: 0n, isDeleted: false, entered: 0, since: 0, recent: 0 };
    this.staged.set(key, staged);
    return staged;
  }

  /** Milliseconds until the object may enter a Stage. */
  private slowDown(staged: Staged, now: number): number {
    if (now - staged.since >= 1_000) Object.assign(staged, { since: now, recent: 0 });
    return ++staged.recent > mostPerSecond ? 1_000 : 0;
  }

  private cancel(key: string): void {
    this.jobs.delete(key);
    this.timers.clear(key);
  }

  private forget(object: T): void {
    const key = objectKey(object);
    const known = this.staged.get(key);
    if (known === undefined || known.uid !== object.metadata.uid) return;
    this.staged.delete(key);
    this.cancel(key);
    this.options.onGone(object);
  }

  /** Takes the steps of the Stage that an object enters. */
  private async play(key: string): Promise<void> {
    const { informer, hostOf } = this.options;
    const job = this.jobs.get(key);
    const host = job === undefined ? undefined : hostOf(job.object);
    if (job === undefined || host === undefined) return;
    this.playing.add(key);
    let result: T | undefined;
    try {
      result = await this.takeSteps(job, host);
      this.jobs.delete(key);
    } catch (error) {
      if (!isFinal(error)) throw error;
      this.jobs.delete(key);
      // Another object has the name, or none: the informer will tell.
      if (!isNotFound(error) && !isConflict(error)) this.failed(job, error);
    } finally {
      this.playing.delete(key);
    }
    const now = informer.get(key);
    if (result !== undefined && job.stage.isImmediate) this.consider(result);
    else if (now !== undefined && now !== job.object) this.consider(now);
  }

  /** Answers the object as a step wrote it last, if that changed it. */
  private async takeSteps(job: Job<T>, host: StageHost): Promise<T | undefined> {
    const { clock, randomOf, version, kind } = this.options;
    const staged = this.stagedOf(objectKey(job.object), job.object);
    const random = randomOf(`${kind}/${objectKey(job.object)}/${staged.entered}/steps`);
    const common = { now: clock.now(), startedAt: this.startedAt, version, random };
    const functions = stageFunctions({ ...host, ...common });
    let result: T | undefined;
    for (const { steps } = job.stage; job.step < steps.length; job.step++) {
      const step = steps[job.step]!;
      const written = await this.takeStep(step, job.object, functions);
      if (step.type === "delete") staged.isDeleted = true;
      if (written === undefined) continue;
      staged.written = BigInt(written.metadata.resourceVersion);
      if (written.metadata.resourceVersion !== job.object.metadata.resourceVersion)
        result = written;
    }
    return result;
  }

  private async takeStep(
    step: Step,
    object: T,
    functions: ReturnType<typeof stageFunctions>,
  ): Promise<T | undefined> {
    const { resource, recorder } = this.options;
    if (step.type === "patch") return this.patch(object, preparePatch(step, object, functions));
    if (step.type === "finalizers") {
      return this.patch(object, finalizersPatch(step.finalizers, object));
    }
    if (step.type === "delete") return this.delete(object);
    const { type, reason = "", message: note = "" } = step.event;
    const what = reason || "Stage";
    const kind = type === "Warning" ? type : "Normal";
    recorder.record(resource, object, { type: kind, reason: what, action: what, note });
    return undefined;
  }

  private async patch({ metadata }: T, patch: PreparedPatch | undefined): Promise<T | undefined> {
    if (patch === undefined) return undefined;
    const { client, resource } = this.options;
    const { namespace = "", name } = metadata;
    const { subresource, type, body } = patch;
    const at = { namespace, name, ...(subresource === "" ? {} : { subresource }) };
    return client.patch(resource, at, { type, body });
  }

  private async delete({ metadata }: T): Promise<undefined> {
    const { client, resource } = this.options;
    const { namespace = "", name, uid } = metadata;
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    await client.delete(resource, { namespace, name }, options);
  }

  /** Tells of a Stage that an object cannot enter; the object's next change is the next try. */
  private failed({ object, stage }: Job<T>, error: unknown): void {
    const { recorder, resource, report } = this.options;
    const note = `Stage ${stage.name}: ${error instanceof Error ? error.message : String(error)}`;
    report(`Failed to let ${objectKey(object)} enter the Stage ${stage.name}`, error);
    const reason = "StageFailed";
    recorder.record(resource, object, { type: "Warning", reason, action: reason, note });
  }
}

/** Whether another try would end in the same way. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof StatusError)) {
    return error instanceof Error && finalFaults.has(error.name);
  }
  return error.code >= 400 && error.code < 500 && error.code !== 429 && error.code !== 408;
}

/** Templates that fail on an object, or make no YAML. */
const finalFaults: ReadonlySet<string> = new Set([
  "RenderFault",
  "StageFault",
  "YamlFault",
  "TooManyValues",
]);
