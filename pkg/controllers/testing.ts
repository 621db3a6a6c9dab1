import { setMaxListeners } from "node:events";
import { type Clock, seededRandom, systemClock } from "#base";
import { Informers, RegistryClient } from "#client";
import { type Catalog, internalError } from "#meta";
import type { Registry } from "#registry";
import { noInstruments, type User } from "#request";
import { type TestRegistry, testRegistry } from "../registry/testing.ts";
import type { ControllerContext } from "./controller-context.ts";

const tester: User = { name: "tester", uid: "", groups: ["system:masters"], extra: new Map() };

interface Parts {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
}

/** What controllers are given, with nothing between them and the registry. */
export function contextOn(parts: Parts): ControllerContext {
  const client = new RegistryClient({ ...parts, user: tester, userAgent: "test" });
  const common = { ...parts, client, random: seededRandom(1) };
  return { ...common, informers: new Informers(common), instruments: noInstruments };
}

type Verb = "get" | "list" | "create" | "update" | "patch" | "delete" | "deleteCollection";

/** A controller that runs on a registry in memory, with its failures recorded. */
export interface ControllerTest {
  readonly test: TestRegistry;
  /** What the controller reported, as `what: error`. */
  readonly reports: readonly string[];
  /** Lets the next calls of the controller's client fail with a 500. */
  failNext(verb: Verb, plural: string, times: number): void;
  /** Calls of the controller's client so far, failed ones included. */
  calls(verb: Verb, plural: string): number;
  /** Resolves once `what` answers something truthy, with that; fails after some seconds. */
  until<T>(what: () => Promise<T>): Promise<NonNullable<T>>;
  /** Ends the controller; rejects if it failed. */
  stop(): Promise<void>;
}

/** Starts a controller on a registry of its own, or on `test`. */
export async function startController(
  run: (context: ControllerContext) => Promise<void>,
  options: { readonly test?: TestRegistry; readonly clock?: Clock } = {},
): Promise<ControllerTest> {
  const test = options.test ?? (await testRegistry());
  const { clock = systemClock } = options;
  const life = new AbortController();
  setMaxListeners(0, life.signal);
  const reports: string[] = [];
  const report = (what: string, error: unknown) => void reports.push(`${what}: ${String(error)}`);
  const context = contextOn({ ...test, clock, signal: life.signal, report });
  const failures = new Map<string, number>();
  const calls = new Map<string, number>();
  const client = new Proxy(context.client, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return (...words: readonly [{ readonly plural: string }, ...unknown[]]) => {
        const key = `${String(property)} ${words[0]?.plural}`;
        calls.set(key, (calls.get(key) ?? 0) + 1);
        const left = failures.get(key) ?? 0;
        failures.set(key, Math.max(left - 1, 0));
        if (left > 0) return Promise.reject(internalError("injected"));
        return value.apply(target, words) as unknown;
      };
    },
  });
  const running = run({ ...context, client });
  return {
    test,
    reports,
    failNext: (verb, plural, times) => void failures.set(`${verb} ${plural}`, times),
    calls: (verb, plural) => calls.get(`${verb} ${plural}`) ?? 0,
    until,
    stop: async () => {
      life.abort();
      await running;
      await context.informers.ended();
    },
  };
}

async function until<T>(what: () => Promise<T>): Promise<NonNullable<T>> {
  for (let tries = 0; ; tries++) {
    const found = await what();
    if (found) return found;
    if (tries > 1000) throw new Error("the expected state was never reached");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
