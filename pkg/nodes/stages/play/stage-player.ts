import type { Clock, Random } from "#base";
import { type Informer, objectKey, TokenBucket, WorkQueue } from "#client";
import { isConflict, isNotFound, StatusError } from "#meta";
import type { Instruments } from "#request";
import { TimerHeap } from "../../timers.ts";
import { chooseStage, type CompiledStage, delayOf } from "../compile/compiled-stage.ts";
import type { StageRegistry } from "../stage-registry.ts";
import { stageFunctions, type StageSurroundings } from "../compile/stage-functions.ts";
import { documentOf, typeMetaOf, type StagedObject } from "../stage-kinds.ts";
import { StepRunner, type StepRunnerOptions } from "./step-runner.ts";

/** Properties of an object's node for the player. */
export type StageHost = Pick<
  StageSurroundings,
  "nodeName" | "nodeAddress" | "nodePort" | "podAddress"
>;

export interface StagePlayerOptions<T extends StagedObject> extends StepRunnerOptions<T> {
  readonly registry: StageRegistry;
  readonly informer: Informer<T>;
  /** The node of the object; undefined = not simulated by this process, or not working. */
  readonly hostOf: (object: T) => StageHost | undefined;
  /** Whether the object has a state that only a Stage can have written. */
  readonly isForeign: (object: T) => boolean;
  /** Called when an object has been deleted. */
  readonly onGone: (object: T) => void;
  /** Randomness of a named decision. */
  readonly randomOf: (decision: string) => Random;
  readonly version: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
  readonly instruments: Instruments;
}

/** A scheduled Stage of an object. */
interface Job<T> {
  readonly object: T;
  readonly stage: CompiledStage;
  /** Index of the next step. */
  step: number;
}

/** An object that a Stage has selected. */
interface Staged {
  readonly uid: string;
  /** Newest resourceVersion that a Stage has written. */
  written: bigint;
  /** Whether a Stage has deleted it: only finalizers remain. */
  isDeleted: boolean;
  /** Number of Stages entered so far. */
  entered: number;
  /** Rate limit of entering Stages. */
  readonly rate: TokenBucket;
}

const workers = 16;
const retryDelays = { firstMs: 200, maxMs: 30_000 };
/** Rate at which one object enters Stages: a Stage that selects its own result is slowed down. */
const rate = { perSecond: 1, burst: 20 };
const slowDownMs = 1_000;

/** Applies the Stages of one kind to the selected objects of an informer. */
export class StagePlayer<T extends StagedObject> {
  private readonly jobs = new Map<string, Job<T>>();
  private readonly playing = new Set<string>();
  private readonly staged = new Map<string, Staged>();
  private readonly queue: WorkQueue;
  private readonly timers: TimerHeap;
  private readonly runner: StepRunner<T>;
  private readonly startedAt: number;

  constructor(private readonly options: StagePlayerOptions<T>) {
    const { clock, signal, kind } = options;
    this.runner = new StepRunner(options);
    const name = `stages_${typeMetaOf(kind).kind.toLowerCase()}s`;
    this.queue = new WorkQueue({ ...options, name, delays: retryDelays });
    this.timers = new TimerHeap(clock, signal, (key) => this.queue.add(key));
    this.startedAt = clock.now();
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const { registry, informer } = this.options;
    const stopListening = registry.onChange(() => this.resync(informer.all()));
    const stop = informer.subscribe(({ type, object }) => {
      if (type === "deleted") this.forget(object);
      else this.consider(object);
    });
    await this.queue.run((key) => this.play(key), { workers });
    stopListening();
    stop();
  }

  /** Whether Stages control an object, instead of the built-in simulation. */
  isStaged(object: T): boolean {
    const { registry, kind, isForeign } = this.options;
    if (!registry.has(kind)) return false;
    if (registry.selecting(kind, object).length > 0) return true;
    // The built-in simulation terminates a deleted object that no Stage selects.
    if (object.metadata.deletionTimestamp !== undefined) return false;
    const known = this.staged.get(objectKey(object));
    return known?.uid === object.metadata.uid || isForeign(object);
  }

  /** Re-evaluates objects, e.g. after a change of their node or of Stages. */
  resync(objects: Iterable<T>): void {
    for (const object of objects) this.consider(object);
  }

  /** Chooses the next Stage of an object and schedules it. */
  private consider(object: T): void {
    const { registry, kind, hostOf, clock, randomOf } = this.options;
    const key = objectKey(object);
    if (!registry.has(kind)) {
      this.staged.delete(key);
      return this.cancel(key);
    }
    if (this.playing.has(key) || this.isOutdated(key, object)) return;
    const stages = registry.selecting(kind, object);
    if (stages.length === 0 || hostOf(object) === undefined) return this.cancel(key);
    const job = this.jobs.get(key);
    const { resourceVersion } = object.metadata;
    if (job?.object.metadata.resourceVersion === resourceVersion && stages.includes(job.stage)) {
      return;
    }
    const staged = this.stagedOf(key, object);
    const now = clock.now();
    const random = randomOf(`${kind}/${key}/${staged.entered++}`);
    const choice = { object: documentOf(kind, object), now, random };
    const stage = chooseStage(stages, choice);
    if (stage === undefined) return this.cancel(key);
    this.jobs.set(key, { object, stage, step: 0 });
    const delay = delayOf(stage, choice);
    if (delay > 0) return this.timers.set(key, clock.monotonic() + delay);
    this.timers.clear(key);
    this.queue.add(key);
  }

  /** Whether a Stage has since written or deleted the object. */
  private isOutdated(key: string, { metadata }: T): boolean {
    const known = this.staged.get(key);
    if (known?.uid !== metadata.uid) return false;
    const { resourceVersion, finalizers = [] } = metadata;
    if (known.isDeleted && finalizers.length === 0) return true;
    return numberOf(resourceVersion) < known.written;
  }

  private stagedOf(key: string, { metadata: { uid } }: T): Staged {
    const known = this.staged.get(key);
    if (known?.uid === uid) return known;
    const bucket = new TokenBucket(this.options.clock, rate);
    const staged = { uid, written: 0n, isDeleted: false, entered: 0, rate: bucket };
    this.staged.set(key, staged);
    return staged;
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

  /** Runs the steps of an object's Stage. */
  private async play(key: string): Promise<void> {
    const { informer, hostOf, clock } = this.options;
    const job = this.jobs.get(key);
    const host = job === undefined ? undefined : hostOf(job.object);
    if (job === undefined || host === undefined) return;
    if (!this.stagedOf(key, job.object).rate.tryTake()) {
      return this.timers.set(key, clock.monotonic() + slowDownMs);
    }
    this.playing.add(key);
    let result: T | undefined;
    try {
      result = await this.takeSteps(job, host);
      this.jobs.delete(key);
    } catch (error) {
      if (!isFinal(error)) throw error;
      this.jobs.delete(key);
      // The object was deleted or replaced: the informer will show it.
      if (!isNotFound(error) && !isConflict(error)) this.failed(job, error);
    } finally {
      this.playing.delete(key);
    }
    const now = informer.get(key);
    if (result !== undefined && job.stage.isImmediate) this.consider(result);
    else if (now !== undefined && now !== job.object) this.consider(now);
  }

  /** Runs the steps; returns the object as last written, undefined = unchanged. */
  private async takeSteps(job: Job<T>, host: StageHost): Promise<T | undefined> {
    const { clock, randomOf, version, kind } = this.options;
    const staged = this.stagedOf(objectKey(job.object), job.object);
    const random = randomOf(`${kind}/${objectKey(job.object)}/${staged.entered}/steps`);
    const common = { now: clock.now(), startedAt: this.startedAt, version, random };
    const functions = stageFunctions({ ...host, ...common });
    let result: T | undefined;
    for (const { steps } = job.stage; job.step < steps.length; job.step++) {
      const step = steps[job.step]!;
      const written = await this.runner.run(step, job.object, functions);
      if (step.type === "delete") staged.isDeleted = true;
      if (written === undefined) continue;
      staged.written = numberOf(written.metadata.resourceVersion);
      if (written.metadata.resourceVersion !== job.object.metadata.resourceVersion)
        result = written;
    }
    return result;
  }

  /** Records an Event of a failed Stage; retried on the object's next change. */
  private failed({ object, stage }: Job<T>, error: unknown): void {
    const { recorder, resource, report } = this.options;
    const note = `Stage ${stage.name}: ${error instanceof Error ? error.message : String(error)}`;
    report(`Failed to let ${objectKey(object)} enter the Stage ${stage.name}`, error);
    const reason = "StageFailed";
    recorder.record(resource, object, { type: "Warning", reason, action: reason, note });
  }
}

/** Parses a resourceVersion, which aggregated API servers may define otherwise. */
function numberOf(resourceVersion: string): bigint {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}

/** Whether a retry is pointless. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof StatusError)) {
    return error instanceof Error && finalFaults.has(error.name);
  }
  return error.code >= 400 && error.code < 500 && error.code !== 429 && error.code !== 408;
}

/** Errors of templates that fail on an object, or render invalid YAML. */
const finalFaults: ReadonlySet<string> = new Set([
  "RenderFault",
  "StageFault",
  "YamlFault",
  "TooManyValues",
]);
