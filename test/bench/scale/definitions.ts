/**
 * Many stored CustomResourceDefinitions of 9 KB when a server starts: time until it is ready and
 * until it is idle, memory, discovery, and the first object of a kind.
 */
import { Client, durationMs, medianMs, residentMib, type Scenario, untilIdle } from "./scenario.ts";
import { custom, definition, definitions as definitionsPath } from "../load/custom.ts";
import { cpuOfTree } from "../load/processes.ts";
import { digits, storeClones } from "./stored.ts";

const width = 5;
const first = 10 ** (width - 1);
const base = custom(first);
const group = "scale.example.com";
const plural = (n: number): string => `things${digits(n, width)}`;
const kind = (n: number): string => `Thing${digits(n, width)}`;
const collection = (n: number): string => `/apis/${group}/v1/namespaces/default/${plural(n)}`;
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** The definition of the benches, with names of equal length in one group. */
function scaled(n: number): object {
  const text = JSON.stringify(definition(first))
    .replaceAll(base.group, group)
    .replaceAll(base.plural, plural(n))
    .replaceAll(base.kind, kind(n));
  return JSON.parse(text);
}

export const definitions: Scenario = {
  sizeName: "definitions",
  sizes: [1_000, 3_000, 10_000],
  smallSizes: [4, 8, 16],
  async *measure(scene, sizes) {
    const empty = await scene.start();
    await untilIdle(empty);
    const baseMib = residentMib(empty);
    const client = new Client(empty.aim);
    await client.create(definitionsPath, scaled(0));
    const stored = `${definitionsPath}/${plural(0)}.${group}`;
    for (let isServed = false; !isServed;) {
      const { status } = await client.getObject(stored);
      isServed = status?.conditions?.some((each: any) => {
        return each.type === "Established" && each.status === "True";
      });
    }
    client.close();
    await scene.stop();
    let there = 1;
    for (const size of sizes) {
      await storeClones({
        endpoint: scene.endpoint,
        key: `/registry/apiextensions.k8s.io/customresourcedefinitions/${plural(0)}.${group}`,
        replace: (n) => [
          [plural(0), plural(n)],
          [kind(0), kind(n)],
        ],
        from: there,
        to: size,
      });
      there = size;
      yield { size, costs: await costsOfStart(size) };
    }

    async function costsOfStart(size: number): Promise<Readonly<Record<string, number>>> {
      const began = performance.now();
      const server = await scene.start();
      await untilIdle(server);
      const idleMs = performance.now() - began;
      const [mib, cpuMs] = [residentMib(server), cpuOfTree(server.pid) / 1_000];
      const own = new Client(server.aim);
      const calls = Math.min(scene.calls, size);
      const discovery = await durationMs(() => own.call("GET", "/apis", { accept: aggregated }));
      const firstObjects = await medianMs(calls, (n) =>
        own.create(collection(n), {
          apiVersion: `${group}/v1`,
          kind: kind(n),
          metadata: { name: `one-${size}` },
          spec: { size: "1" },
        }),
      );
      const costs = {
        "ready ms": server.readyMs,
        "idle ms": idleMs,
        "CPU ms until idle": cpuMs,
        "resident MiB": mib,
        "of them by definitions": Math.max(0.001, mib - baseMib),
        "discovery ms": discovery,
        "first object of a kind p50 ms": firstObjects,
        "LIST definitions ms": await durationMs(() => own.get(definitionsPath)),
        "MiB after these calls": residentMib(server),
      };
      own.close();
      await scene.stop();
      return costs;
    }
  },
};
