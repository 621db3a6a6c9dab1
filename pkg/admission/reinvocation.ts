import { deepClone, deepEqual } from "#base";
import { StatusError } from "#meta";
import { type AdmissionAttributes, type AdmissionHandler, runHandlers, runEach } from "#registry";

/** A handler of the mutating phase; reinvocation calls it a second time. */
export type MutationHandler = (
  attributes: AdmissionAttributes,
  reinvocation: ReinvocationContext,
) => ReturnType<AdmissionHandler>;

/** The one or two rounds of a request through the mutating phase. */
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

  /** Called by a plugin that has changed the object after others have seen it. */
  requestReinvocation(): void {
    this.#requested = true;
  }

  /** What that plugin notes of the first round. */
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

/** Which webhooks or policies (`entry`) of a plugin are to be called again in the second round. */
class PluginReinvocation {
  readonly #called = new Set<object>();
  #due = new Set<object>();
  #output: unknown;

  /** The entry was called and has reinvocationPolicy IfNeeded. */
  called(entry: object): void {
    this.#called.add(entry);
  }

  /** The object has changed: all entries called so far are due again. */
  objectChanged(): void {
    this.#due = new Set([...this.#due, ...this.#called]);
    this.#called.clear();
  }

  isDue(entry: object): boolean {
    return this.#due.has(entry);
  }

  /** At the end of the plugin's first round: remembers the object as the plugin left it. */
  endRound(object: unknown): void {
    if (this.#called.size > 0) this.#output = deepClone(object);
  }

  /** At the start of the second: changes that other plugins made since count, too. */
  startRound(object: unknown): void {
    if (this.#called.size > 0 && !deepEqual(this.#output, object)) this.objectChanged();
  }
}

/** The handlers of a resource, by its plural name. */
type HandlersOf<Handler> = (plural: string) => readonly Handler[];

/** Runs the mutating phase: all handlers in order, and once more where one requests it. */
export function runWithReinvocation(handlersOf: HandlersOf<MutationHandler>): AdmissionHandler {
  return (attributes) => {
    const reinvocation = new ReinvocationContext();
    const warnings: string[] = [];
    const handlers = handlersOf(attributes.request.resource.plural);
    const round = () => runEach(handlers, (handler) => handler(attributes, reinvocation), warnings);
    const first = round();
    // Reinvocation is requested by webhooks and policies only, which return promises.
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

/** Adds the warnings collected before a refusal to it. */
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
