/** A Keelson as aggregated API server of another one. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { getWhenAvailable, register, send, untilReason } from "./aggregated-backend.ts";
import { customResourceDefinition } from "../../../pkg/crd/testing.ts";

const group = "plants.example.com";
const tokens = 'usertoken,vera,uid-1,"gardeners"\n';

const definition = customResourceDefinition({ plural: "plants", kind: "Plant" }, { group });

/** RBAC objects for gardeners, created on both servers. */
const role = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "gardener" },
  rules: [{ apiGroups: [group], resources: ["*"], verbs: ["*"] }],
};
const binding = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "gardener" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "gardener" },
  subjects: [{ kind: "Group", name: "gardeners", apiGroup: "rbac.authorization.k8s.io" }],
};

describe("Keelson behind Keelson", () => {
  let directory: string;
  let front: RunningServer;
  let back: RunningServer;

  before(async () => {
    directory = mkdtempSync(path.join(tmpdir(), "keelson-aggregation-"));
    const certificateDirectory = path.join(directory, "front");
    front = await startServer({ port: 0, controllers: false, certificateDirectory, tokens });
    back = await startServer({
      port: 0,
      controllers: false,
      frontProxy: {
        ca: { file: path.join(certificateDirectory, "front-proxy-ca.crt") },
        allowedNames: ["front-proxy-client"],
        headers: {
          username: ["X-Remote-User"],
          uid: ["X-Remote-Uid"],
          group: ["X-Remote-Group"],
          extraPrefix: ["X-Remote-Extra-"],
        },
      },
    });
    assert.match(
      readFileSync(path.join(certificateDirectory, "front-proxy-client.key"), "utf8"),
      /PRIVATE/,
    );
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert.equal((await send(back, "POST", definitions, definition)).status, 201);
    for (const server of [front, back]) {
      const rbac = "/apis/rbac.authorization.k8s.io/v1";
      assert.equal((await send(server, "POST", `${rbac}/clusterroles`, role)).status, 201);
      assert.equal(
        (await send(server, "POST", `${rbac}/clusterrolebindings`, binding)).status,
        201,
      );
    }
    await register(front, { group, port: Number(new URL(back.url).port) });
    await untilReason(front, group, "Passed");
  });
  after(async () => {
    await front.close();
    await back.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const plants = `/apis/${group}/v1/namespaces/default/plants`;
  const asUser = { headers: { authorization: "Bearer usertoken" } };

  it("serves its resources to users whom only the aggregating server authenticates", async () => {
    assert.equal((await getWhenAvailable(front, plants)).status, 200);
    const plant = { apiVersion: `${group}/v1`, kind: "Plant", metadata: { name: "rose" } };
    const created = await front.fetch(plants, {
      method: "POST",
      headers: { ...asUser.headers, "content-type": "application/json" },
      body: JSON.stringify({ ...plant, spec: { colour: "red" } }),
    });
    assert.equal(created.status, 201, await created.clone().text());
    const { metadata } = (await created.json()) as any;
    assert.equal(metadata.managedFields[0].operation, "Update");
    const stored = (await (await send(back, "GET", `${plants}/rose`)).json()) as any;
    assert.equal(stored.metadata.uid, metadata.uid);
    assert.equal(stored.spec.colour, "red");
  });

  it("serves watches", async () => {
    const left = new AbortController();
    const init = { ...asUser, signal: left.signal };
    const watch = await front.fetch(`${plants}?watch=true`, init);
    const reader = watch.body!.getReader();
    const plant = { apiVersion: `${group}/v1`, kind: "Plant", metadata: { name: "tulip" } };
    assert.equal((await send(back, "POST", plants, plant)).status, 201);
    let text = "";
    while (!text.includes('"tulip"')) {
      const { value, done } = await reader.read();
      assert.ok(!done, text);
      text += Buffer.from(value).toString("utf8");
    }
    left.abort();
  });

  it("lists, patches and deletes, and passes its errors through", async () => {
    const list = (await (await front.fetch(plants, asUser)).json()) as any;
    assert.equal(list.kind, "PlantList");
    const patched = await send(front, "PATCH", `${plants}/rose`, { spec: { colour: "white" } });
    assert.equal(((await patched.json()) as any).spec.colour, "white");
    const missing = (await (await send(front, "GET", `${plants}/oak`)).json()) as any;
    assert.equal(missing.message, `plants.${group} "oak" not found`);
    const removed = await send(front, "DELETE", `${plants}/rose`);
    assert.equal(((await removed.json()) as any).status, "Success");
    assert.equal((await send(back, "GET", `${plants}/rose`)).status, 404);
  });
});
