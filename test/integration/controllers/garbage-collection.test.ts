/** Garbage collection while the definition of the owners changes. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const maps = "/api/v1/namespaces/default/configmaps";
const schema = {
  openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
};
const version = (name: string, served: boolean, storage: boolean) => ({
  name,
  served,
  storage,
  schema,
});
const old = [version("v1alpha1", true, true), version("v1", true, false)];
const later = [version("v1alpha1", false, false), version("v1", true, true)];

const versionGone = "StatusError: the server could not find the requested resource";

describe("garbage collection of custom resources", () => {
  let server: RunningServer;
  const reports: string[] = [];
  before(async () => {
    const report = (what: string, error: unknown) => void reports.push(`${what}: ${String(error)}`);
    server = await startServer({ port: 0, report });
  });
  after(() => server.close());

  async function send(method: string, path: string, object?: object): Promise<any> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const init = { method, headers: { "content-type": type } };
    const body = object === undefined ? {} : { body: JSON.stringify(object) };
    const response = await server.fetch(path, { ...init, ...body });
    // The 404 of a path that is not served is plain text.
    const text = await response.text();
    return { ...(text.startsWith("{") ? JSON.parse(text) : {}), code: response.status };
  }

  async function until(path: string, wanted: (found: any) => boolean): Promise<any> {
    for (let tries = 0; ; tries++) {
      const found = await send("GET", path);
      if (wanted(found)) return found;
      assert.ok(tries < 6000, `${path}: ${JSON.stringify(found)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  const isGone = ({ code }: any) => code === 404;

  const define = async (plural: string, kind: string) => {
    const group = "mig.io";
    const names = { plural, kind, singular: kind.toLowerCase() };
    const spec = { group, scope: "Namespaced", names, versions: old };
    await send("POST", definitions, { metadata: { name: `${plural}.${group}` }, spec });
    await until(`/apis/mig.io/v1/namespaces/default/${plural}`, ({ items }) => items !== undefined);
    await until(
      `/apis/mig.io/v1alpha1/namespaces/default/${plural}`,
      ({ items }) => items !== undefined,
    );
  };
  const dropOldVersion = async (plural: string) => {
    await send("PATCH", `${definitions}/${plural}.mig.io`, { spec: { versions: later } });
    await until(`/apis/mig.io/v1alpha1/namespaces/default/${plural}`, isGone);
  };
  const pathOf = (plural: string, name = "") =>
    `/apis/mig.io/v1/namespaces/default/${plural}/${name}`;

  async function makeOwner(kind: string, plural: string, name: string): Promise<string> {
    const made = await send("POST", pathOf(plural), {
      apiVersion: "mig.io/v1",
      kind,
      metadata: { name },
    });
    return made.metadata.uid;
  }
  const own = (name: string, owner: object, more: object = {}) =>
    send("POST", maps, {
      metadata: { name, ownerReferences: [{ ...owner, blockOwnerDeletion: true }], ...more },
    });

  it("continues when a version is removed, for ownerReferences with another one", async () => {
    const [plural, kind, apiVersion] = ["keptcogs", "KeptCog", "mig.io/v1"];
    await define(plural, kind);
    for (const name of ["plain", "foreground", "living"]) {
      const uid = await makeOwner(kind, plural, name);
      await own(`of-kept-${name}`, { apiVersion, kind, name, uid });
    }
    await dropOldVersion(plural);
    const told = reports.length;
    await send("DELETE", pathOf(plural, "plain"));
    const foreground = { propagationPolicy: "Foreground" };
    await send("DELETE", pathOf(plural, "foreground"), foreground);
    for (const name of ["plain", "foreground"]) {
      await until(`${maps}/of-kept-${name}`, isGone);
      await until(pathOf(plural, name), isGone);
    }
    // Objects created after the change are watched, too.
    const uid = await makeOwner(kind, plural, "late");
    await own("of-kept-late", { apiVersion, kind, name: "late", uid });
    await send("DELETE", pathOf(plural, "late"));
    await until(`${maps}/of-kept-late`, isGone);
    assert.equal((await send("GET", `${maps}/of-kept-living`)).code, 200);
    // The collector tries again if it asks for the old version before it knows of the change.
    const unexpected = reports.slice(told).filter((report) => !report.endsWith(versionGone));
    assert.deepEqual(unexpected, []);
  });

  it("keeps dependents whose ownerReferences have a removed version", async () => {
    const [plural, kind] = ["droppedcogs", "DroppedCog"];
    await define(plural, kind);
    const uid = await makeOwner(kind, plural, "owner");
    const owner = { kind, name: "owner", uid };
    await own("of-dropped", { ...owner, apiVersion: "mig.io/v1alpha1" });
    await own("of-current", { ...owner, apiVersion: "mig.io/v1" });
    await dropOldVersion(plural);
    await send("DELETE", pathOf(plural, "owner"));
    await until(`${maps}/of-current`, isGone);
    assert.equal((await send("GET", `${maps}/of-dropped`)).code, 200);
  });

  it("deletes what instances own when their definition is deleted", async () => {
    await define("wheels", "Wheel");
    // The collector ends a deletion in the foreground once it watches the new kind.
    const first = await makeOwner("Wheel", "wheels", "first");
    await own("of-first", { apiVersion: "mig.io/v1", kind: "Wheel", name: "first", uid: first });
    await send("DELETE", pathOf("wheels", "first"), { propagationPolicy: "Foreground" });
    await until(`${maps}/of-first`, isGone);
    await until(pathOf("wheels", "first"), isGone);
    const uid = await makeOwner("Wheel", "wheels", "w");
    await own("of-wheel", { apiVersion: "mig.io/v1", kind: "Wheel", name: "w", uid });
    await send("DELETE", `${definitions}/wheels.mig.io`);
    await until(`${definitions}/wheels.mig.io`, isGone);
    await until(`${maps}/of-wheel`, isGone);
  });

  it("keeps an object whose owner's kind is not served yet", async () => {
    const uid = "00000000-0000-0000-0000-000000000000";
    await own("of-future", { apiVersion: "mig.io/v1", kind: "Future", name: "f", uid });
    await define("nows", "Now");
    assert.equal((await send("GET", `${maps}/of-future`)).code, 200);
    await define("futures", "Future");
    await until(`${maps}/of-future`, isGone);
  });
});
