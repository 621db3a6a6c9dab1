/** Many namespaces, each with a ConfigMap: the first write into one, LISTs of one and of all. */
import { configMap } from "../load/client.ts";
import { Client, durationMs, medianMs, residentMib, type Scenario } from "./scenario.ts";
import { digits, storeClones } from "./stored.ts";

const nameOf = (n: number): string => `scale-${digits(n)}`;
const configMaps = (n: number): string => `/api/v1/namespaces/${nameOf(n)}/configmaps`;

export const namespaces: Scenario = {
  sizeName: "namespaces",
  sizes: [1_000, 3_000, 10_000],
  smallSizes: [30, 60, 120],
  async *measure(scene, sizes) {
    const server = await scene.start();
    const client = new Client(server.aim);
    await client.createNamespace(nameOf(0));
    await client.call("POST", configMaps(0), { body: configMap({ name: "one" }) });
    let there = 1;
    for (const size of sizes) {
      for (const key of [`namespaces/${nameOf(0)}`, `configmaps/${nameOf(0)}/one`]) {
        await storeClones({
          endpoint: scene.endpoint,
          key: `/registry/${key}`,
          replace: (n) => [[nameOf(0), nameOf(n)]],
          from: there,
          to: size,
        });
      }
      const first = there;
      there = size;
      const whole = await durationMs(() => client.get("/api/v1/configmaps"));
      const calls = Math.min(scene.calls, size - first);
      const costs = {
        "LIST namespaces ms": await medianMs(5, () => client.get("/api/v1/namespaces")),
        "LIST ConfigMaps of all ms": whole,
        "LIST of one p50 ms": await medianMs(calls, (n) => client.get(configMaps(first + n))),
        "first create in one p50 ms": await medianMs(calls, (n) =>
          client.call("POST", configMaps(first + n), { body: configMap({ name: "two" }) }),
        ),
        "create a namespace p50 ms": await medianMs(scene.calls, (n) =>
          client.create("/api/v1/namespaces", {
            apiVersion: "v1",
            kind: "Namespace",
            metadata: { name: `new-${size}-${n}` },
          }),
        ),
        "resident MiB": residentMib(server),
      };
      yield { size, costs };
    }
    client.close();
  },
};
