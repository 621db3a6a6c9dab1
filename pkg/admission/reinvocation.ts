import { deepClone, deepEqual } from "#base";
import { StatusError } from "#meta";
import { type AdmissionAttributes, type AdmissionHandler, runHandlers, runEach } from "#registry";

/** A handler of the mutating phase; reinvocation calls it a second time. */
export type MutationHandler = (
  attributes: AdmissionAttributes,
  reinvocation: ReinvocationContext,
) => ReturnType<AdmissionHandler>;

/** State of the mutating phase of a request: one round, or two with reinvocation. */
export class ReinvocationContext {
  #round = 0;
  #requested = false;
  readonly #states = new Map<string, PluginReinvocation>();

  /** 0 for the first round, 1 for the reinvocation. */
  get round(): number {
    return this.#round;
  }

  /** Whether another round follows this one. */
  get willReinvoke(): boolean {
    return this.#requested && this.#round === 0;
  }

  /** Called by a plugin that changed the object after other plugins have processed it. */
  requestReinvocation(): void {
    this.#requested = true;
  }

  /** State of a plugin from the first round. */
  stateOf(plugin: string): PluginReinvocation {
    const state = this.#states.get(plugin) ?? new PluginReinvocation();
    this.#states.set(plugin, state);
    return state;
  }

  /** Ends the round; returns whether there is another one. */
  next(): boolean {
    const again = this.willReinvoke;
    this.#round++;
    return again;
  }
}

/** Webhooks, or invocations of policies (`entry`), of a plugin to reinvoke in the second round. */
class PluginReinvocation {
  readonly #called = new Set<object | string>();
  #due = new Set<object | string>();
  #output: unknown;

  /** Records the call of an entry with reinvocationPolicy IfNeeded. */
  called(entry: object | string): void {
    this.#called.add(entry);
  }

  /** Marks all entries called so far for reinvocation, since the object has changed. */
  objectChanged(): void {
    this.#due = new Set([...this.#due, ...this.#called]);
    this.#called.clear();
  }

  isDue(entry: object | string): boolean {
    return this.#due.has(entry);
  }

  /** Records the object at the end of the plugin's first round. */
  endRound(object: unknown): void {
    if (this.#called.size > 0) this.#output = deepClone(object);
  }

  /** Starts the second round: changes by later plugins also cause reinvocation. */
  startRound(object: unknown): void {
    if (this.#called.size > 0 && !deepEqual(this.#output, object)) this.objectChanged();
  }
}

/** Handlers of a resource, by plural name. */
type HandlersOf<Handler> = (plural: string) => readonly Handler[];

/** Runs the mutating phase: all handlers in order, and a second time if one requests reinvocation. */
export function runWithReinvocation(handlersOf: HandlersOf<MutationHandler>): AdmissionHandler {
  return (attributes) => {
    const reinvocation = new ReinvocationContext();
    const warnings: string[] = [];
    const handlers = handlersOf(attributes.request.resource.plural);
    const round = () => runEach(handlers, (handler) => handler(attributes, reinvocation), warnings);
    const first = round();
    // Only webhooks and policies request reinvocation, and these return promises.
    if (first === undefined) return undefined;
    const all = async (): Promise<void> => {
      await first;
      while (reinvocation.next()) await round();
    };
    return withEarlierWarnings(warnings, all).then(() => [...new Set(warnings)]);
  };
}

/** Runs the validating phase: all handlers in order. */
export function runInOrder(handlersOf: HandlersOf<AdmissionHandler>): AdmissionHandler {
  return (attributes) => {
    const warnings: string[] = [];
    const handlers = handlersOf(attributes.request.resource.plural);
    const work = runHandlers(handlers, attributes, warnings);
    return work && withEarlierWarnings(warnings, () => work).then(() => warnings);
  };
}

/** Adds the warnings collected so far to a rejection. */
export async function withEarlierWarnings(
  warnings: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StatusError) || warnings.length === 0) throw error;
    throw new StatusError(error.status, error.headers, [...warnings, ...error.warnings]);
  }
}
