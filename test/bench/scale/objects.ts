/** Many objects of a kind: LISTs that select a few (KEP-2340), pages, single objects, memory. */
import { configMap } from "../load/client.ts";
import { Client, medianMs, residentMib, type Scenario } from "./scenario.ts";
import { digits, storeClones } from "./stored.ts";

const namespace = "scale-objects";
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
/** Number of objects that the selective LIST returns, for any number of objects. */
const selected = 100;
const width = 4;

export const objects: Scenario = {
  sizeName: "objects",
  sizes: [30_000, 100_000, 300_000],
  smallSizes: [300, 600, 1_200],
  async *measure(scene, sizes) {
    const server = await scene.start();
    const client = new Client(server.aim);
    await client.createNamespace(namespace);
    for (const [name, app] of [
      ["few", "selected"],
      ["all", "other"],
    ] as const) {
      const object = JSON.parse(configMap({ name: `${name}-${digits(0)}` }).toString());
      object.metadata.labels.app = app;
      await client.create(collection, object);
    }
    const fill = (name: string, from: number, to: number) =>
      storeClones({
        endpoint: scene.endpoint,
        key: `/registry/configmaps/${namespace}/${name}-${digits(0)}`,
        replace: (n) => [[`${name}-${digits(0)}`, `${name}-${digits(n)}`]],
        from,
        to,
      });
    await fill("few", 1, selected);
    let there = 1;
    for (const size of sizes) {
      await fill("all", there, size - selected);
      there = size - selected;
      const whole = await medianMs(3, () => client.get(collection));
      const selective = `${collection}?labelSelector=app%3Dselected`;
      const object = `${collection}/all-${digits(size >> 1)}`;
      const costs = {
        "selective LIST p50 ms": await medianMs(scene.calls, () => client.get(selective)),
        "LIST all ms": whole,
        "LIST limit=500 p50 ms": await medianMs(scene.calls, () =>
          client.get(`${collection}?limit=500`),
        ),
        "GET p50 ms": await medianMs(scene.calls, () => client.get(object), width),
        "create p50 ms": await medianMs(
          scene.calls,
          (n) => client.call("POST", collection, { body: configMap({ name: `c-${size}-${n}` }) }),
          width,
        ),
        "resident MiB": residentMib(server),
      };
      yield { size, costs };
    }
    client.close();
  },
};
