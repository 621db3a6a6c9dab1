/** Many pods, 30 to a node: a kubelet's LIST, a namespace's, bindings of new ones, memory. */
import { Client, durationMs, medianMs, residentMib, type Scenario } from "./scenario.ts";
import { digits, storeClones } from "./stored.ts";

const podsPerNode = 30;
const namespace = "scale-pods";
const small = "scale-small";
const all = "/api/v1/pods";
const collection = `/api/v1/namespaces/${namespace}/pods`;
const podName = (n: number): string => `web-${digits(n)}`;
const nodeName = (n: number): string => `node-${digits(Math.floor(n / podsPerNode))}`;

function pod(name: string, node: string): object {
  const probe = { httpGet: { path: "/healthz", port: 8080 } };
  const container = {
    name: "main",
    image: "registry.example.com/team/main:v1",
    env: [{ name: "MODE", value: "production" }],
    resources: { requests: { cpu: "100m", memory: "64Mi" } },
    livenessProbe: probe,
    readinessProbe: probe,
  };
  const spec = { nodeName: node, containers: [container] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, labels: { app: "web" } }, spec };
}

export const pods: Scenario = {
  sizeName: "pods",
  sizes: [15_000, 50_000, 150_000],
  smallSizes: [60, 120, 240],
  async *measure(scene, sizes) {
    const server = await scene.start();
    const client = new Client(server.aim);
    for (const name of [namespace, small]) await client.createNamespace(name);
    await client.create(collection, pod(podName(0), nodeName(0)));
    await client.create(`/api/v1/namespaces/${small}/pods`, pod(podName(0), nodeName(0)));
    let there = 1;
    for (const size of sizes) {
      await storeClones({
        endpoint: scene.endpoint,
        key: `/registry/pods/${namespace}/${podName(0)}`,
        replace: (n) => [
          [podName(0), podName(n)],
          [nodeName(0), nodeName(n)],
        ],
        from: there,
        to: size,
      });
      there = size;
      const whole = await durationMs(() => client.get(all));
      const node = `${all}?fieldSelector=spec.nodeName%3D${nodeName(size >> 1)}`;
      const status = { status: { phase: "Running", podIP: "10.0.0.1" } };
      const costs = {
        "LIST of a node p50 ms": await medianMs(scene.calls, () => client.get(node)),
        "same, resourceVersion=0": await medianMs(scene.calls, () =>
          client.get(`${node}&resourceVersion=0`),
        ),
        "LIST of a namespace p50 ms": await medianMs(scene.calls, () =>
          client.get(`/api/v1/namespaces/${small}/pods`),
        ),
        "LIST all ms": whole,
        "create p50 ms": await medianMs(scene.calls, (n) =>
          client.create(collection, pod(`new-${size}-${n}`, nodeName(n))),
        ),
        "status p50 ms": await medianMs(scene.calls, (n) =>
          client.call("PATCH", `${collection}/new-${size}-${n}/status`, {
            contentType: "application/strategic-merge-patch+json",
            body: Buffer.from(JSON.stringify(status)),
          }),
        ),
        "resident MiB": residentMib(server),
      };
      yield { size, costs };
    }
    client.close();
  },
};
