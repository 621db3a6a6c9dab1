/** A server in memory with a wide ConfigMap and large custom resources, and requests with large bodies. */
import { acceptedBodies } from "../accepted-bodies.ts";
import { definition, many, numbered } from "../build-body.ts";
import { hostileBodies } from "../hostile-bodies.ts";
import { storedObjects } from "../stored-objects.ts";
import { post, type Scene, serving, untilServed } from "./scene.ts";

export const bodies: Scene = {
  name: "bodies",
  async prepare(start) {
    const server = await start(serving);
    const named = (kind: string, name: string): object => {
      return { apiVersion: "v1", kind, metadata: { name } };
    };
    const core = "/api/v1/namespaces/default";
    await post(server, `${core}/serviceaccounts`, named("ServiceAccount", "default"));
    await post(server, `${core}/configmaps`, named("ConfigMap", "there"));
    const data = numbered(24_000);
    await post(server, `${core}/configmaps`, { ...named("ConfigMap", "wide"), data });
    await post(server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    await untilServed(server, "/apis/example.com/v1");
    const large = { apiVersion: "example.com/v1", kind: "Large" };
    const wide = { ...large, metadata: { name: "wide" }, spec: { open: numbered(47_000, 1) } };
    const items = many(16_000, (i) => ({ name: `i${i}`, size: i }));
    const long = { ...large, metadata: { name: "long" }, spec: { items } };
    const larges = "/apis/example.com/v1/namespaces/default/larges";
    const version = await post(server, larges, wide);
    await post(server, larges, long);
    return { server, version };
  },
  requests: [...hostileBodies, ...acceptedBodies, ...storedObjects],
};
