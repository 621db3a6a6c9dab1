import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import type { Instruments } from "#request";
import { pluginSeconds, type AdmissionType, stepSeconds } from "./metrics.ts";
import { runInOrder } from "./reinvocation.ts";

/** All of the steps as one, timed. */
export function timedPhase(
  type: AdmissionType,
  steps: readonly AdmissionHandler[],
  instruments: Instruments,
): AdmissionHandler {
  return timed(
    runInOrder(() => steps),
    (operation, rejected) => instruments.observer(stepSeconds.name, { type, operation, rejected }),
  );
}

/** The step of one plugin, timed. */
export function timedPlugin<Rest extends readonly unknown[]>(
  step: Step<Rest>,
  { name, type }: { readonly name: string; readonly type: AdmissionType },
  instruments: Instruments,
): Step<Rest> {
  return timed(step, (operation, rejected) =>
    instruments.observer(pluginSeconds.name, { name, type, operation, rejected }),
  );
}

type Step<Rest extends readonly unknown[]> = (
  attributes: AdmissionAttributes,
  ...rest: Rest
) => ReturnType<AdmissionHandler>;
type Observer = (seconds: number) => void;
type Outcome = "true" | "false";
type Observers = Readonly<Record<Outcome, Observer>>;

function timed<Rest extends readonly unknown[]>(
  step: Step<Rest>,
  make: (operation: string, rejected: Outcome) => Observer,
): Step<Rest> {
  const observers = new Map<string, Observers>();
  const observersOf = (operation: string): Observers => {
    const shown = operation.toUpperCase();
    const made = { true: make(shown, "true"), false: make(shown, "false") };
    observers.set(operation, made);
    return made;
  };
  return (attributes, ...rest) => {
    const { operation } = attributes;
    const both = observers.get(operation) ?? observersOf(operation);
    const started = performance.now();
    const answer = step(attributes, ...rest);
    if (answer === undefined) both.false(secondsSince(started));
    else observeEnd(answer, both, started);
    return answer;
  };
}

function observeEnd(answer: Promise<unknown>, both: Observers, started: number): void {
  answer.then(
    () => both.false(secondsSince(started)),
    () => both.true(secondsSince(started)),
  );
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}
