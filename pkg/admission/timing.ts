import type { AdmissionAttributes, AdmissionHandler } from "#registry";
import type { Instruments } from "#request";
import { type AdmissionType, pluginSeconds, stepSeconds } from "./metrics.ts";

type Handler<Rest extends readonly unknown[]> = (
  attributes: AdmissionAttributes,
  ...rest: Rest
) => ReturnType<AdmissionHandler>;

/** Measures the duration of an admission phase. */
export function timedPhase(
  type: AdmissionType,
  handler: AdmissionHandler,
  instruments: Instruments,
): AdmissionHandler {
  return timed(handler, (operation, rejected) =>
    instruments.observer(stepSeconds.name, { type, operation, rejected }),
  );
}

/** Measures the duration of one plugin's handler. */
export function timedPlugin<Rest extends readonly unknown[]>(
  handler: Handler<Rest>,
  { name, type }: { readonly name: string; readonly type: AdmissionType },
  instruments: Instruments,
): Handler<Rest> {
  return timed(handler, (operation, rejected) =>
    instruments.observer(pluginSeconds.name, { name, type, operation, rejected }),
  );
}

type Observer = (seconds: number) => void;
type Rejected = "true" | "false";
type Observers = Readonly<Record<Rejected, Observer>>;

function timed<Rest extends readonly unknown[]>(
  handler: Handler<Rest>,
  observer: (operation: string, rejected: Rejected) => Observer,
): Handler<Rest> {
  const observers = new Map<string, Observers>();
  const observersOf = (operation: string): Observers => {
    const label = operation.toUpperCase();
    const made = { true: observer(label, "true"), false: observer(label, "false") };
    observers.set(operation, made);
    return made;
  };
  return (attributes, ...rest) => {
    const { operation } = attributes;
    const both = observers.get(operation) ?? observersOf(operation);
    const started = performance.now();
    let answer: ReturnType<AdmissionHandler>;
    try {
      answer = handler(attributes, ...rest);
    } catch (error) {
      both.true(secondsSince(started));
      throw error;
    }
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
