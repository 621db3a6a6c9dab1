import { deepClone, deepEqual } from "#base";
import { StatusError } from "#meta";
import { type AdmissionAttributes, type AdmissionHandler, runHandlers, runEach } from "#registry";

/** A step that may change the object, and may be asked again when others have changed it since. */
export type MutationHandler = (
  attributes: AdmissionAttributes,
  rounds: ReinvocationContext,
) => ReturnType<AdmissionHandler>;

/** The walk of one request through all that may change it, once or twice. */
export class ReinvocationContext {
  #round = 0;
  #again = false;
  readonly #memories = new Map<string, PluginReinvocation>();

  /** 0, or 1 for the repetition. */
  get round(): number {
    return this.#round;
  }

  /** A change that earlier steps have not seen. */
  requestReinvocation(): void {
    this.#again = true;
  }

  /** What the plugin of that name remembers of the first round. */
  stateOf(plugin: string): PluginReinvocation {
    const memory = this.#memories.get(plugin) ?? new PluginReinvocation();
    this.#memories.set(plugin, memory);
    return memory;
  }

  /** Whether all is to be done once more, which is at most once. */
  next(): boolean {
    const again = this.#again && this.#round === 0;
    this.#round++;
    return again;
  }
}

/** Which entries (webhooks, policies) want to see what became of the object after them. */
class PluginReinvocation {
  readonly #asked = new Set<object>();
  #due = new Set<object>();
  #left: unknown;

  /** The entry was asked, and would like to be asked again after changes. */
  asked(entry: object): void {
    this.#asked.add(entry);
  }

  /** Everybody who was asked before is asked again. */
  changed(): void {
    this.#due = new Set([...this.#due, ...this.#asked]);
    this.#asked.clear();
  }

  isDue(entry: object): boolean {
    return this.#due.has(entry);
  }

  /** At the end of a plugin's turn. */
  leave(object: unknown): void {
    if (this.#asked.size > 0) this.#left = deepClone(object);
  }

  /** At the beginning of the second: what others did in between counts as well. */
  enter(object: unknown): void {
    if (this.#asked.size > 0 && !deepEqual(this.#left, object)) this.changed();
  }
}

/** The steps for a resource, by its plural name. */
type StepsOf<Step> = (plural: string) => readonly Step[];

/** All the steps in order, and all of them once more where one asks for it. */
export function runWithReinvocation(stepsOf: StepsOf<MutationHandler>): AdmissionHandler {
  return (attributes) => {
    const rounds = new ReinvocationContext();
    const warnings: string[] = [];
    const steps = stepsOf(attributes.request.resource.plural);
    const round = () => runEach(steps, (step) => step(attributes, rounds), warnings);
    const first = round();
    // Where nobody had anything to do, nobody asks for more.
    if (first === undefined) return undefined;
    const all = async (): Promise<void> => {
      await first;
      while (rounds.next()) await round();
    };
    return withEarlierWarnings(warnings, all).then(() => [...new Set(warnings)]);
  };
}

/** All the steps in order. */
export function runInOrder(stepsOf: StepsOf<AdmissionHandler>): AdmissionHandler {
  return (attributes) => {
    const warnings: string[] = [];
    const steps = stepsOf(attributes.request.resource.plural);
    const work = runHandlers(steps, attributes, warnings);
    return work && withEarlierWarnings(warnings, () => work).then(() => warnings);
  };
}

/** A refusal tells what was warned of before it, too. */
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
