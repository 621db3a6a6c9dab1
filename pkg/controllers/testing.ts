import { type Clock, seededRandom } from "#base";
import { Informers, RegistryClient } from "#client";
import type { Catalog } from "#meta";
import type { Registry } from "#registry";
import { noInstruments, type User } from "#request";
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
