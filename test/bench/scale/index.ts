/** Scenarios by name, and the function that runs them. */
import { mkdtempSync } from "node:fs";
import path from "node:path";
import type { Launcher } from "../load/servers.ts";
import { definitions } from "./definitions.ts";
import { leases } from "./leases.ts";
import { namespaces } from "./namespaces.ts";
import { objects } from "./objects.ts";
import { pods } from "./pods.ts";
import { replicas, workers } from "./replicas.ts";
import { Scene, type Scenario } from "./scenario.ts";
import { GrowthTable, type Point } from "./slope.ts";
import { watchLists } from "./watch-lists.ts";
import { watchers } from "./watchers.ts";

export const scenarios: Readonly<Record<string, Scenario>> = {
  objects,
  pods,
  watchers,
  "watch-lists": watchLists,
  definitions,
  namespaces,
  leases,
  replicas,
  workers,
};

export interface ScaleOptions {
  readonly launcher: Launcher;
  /** Existing directory for files of the servers. */
  readonly folder: string;
  /** Few and small sizes, and short loads. */
  readonly isSmall: boolean;
  /** Sizes instead of those of the scenario. */
  readonly sizes?: readonly number[] | undefined;
  readonly print: (line: string) => void;
}

/** Measures one scenario on one server and prints its table. */
export async function runScenario(
  { sizeName, sizes, smallSizes, measure }: Scenario,
  { launcher, folder, isSmall, sizes: chosen, print }: ScaleOptions,
): Promise<readonly Point[]> {
  const extent = isSmall ? { calls: 5, seconds: 0.2 } : { calls: 100, seconds: 8 };
  const own = mkdtempSync(path.join(folder, "scene-"));
  await using scene = await Scene.open(launcher, { folder: own, ...extent });
  const points: Point[] = [];
  const table = new GrowthTable(sizeName, print);
  for await (const point of measure(scene, chosen ?? (isSmall ? smallSizes : sizes))) {
    points.push(point);
    table.add(point);
  }
  table.end();
  return points;
}
