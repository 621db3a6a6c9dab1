/** Static pods from manifests in a folder, and their mirror pods. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { refusal } from "../../registry/testing.ts";
import { type NodesTest, startNodes } from "../testing.ts";

const manifest = (name: string, image = "proxy:1", rest = "") =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: ns, labels: {app: ${name}}}\n` +
  `spec:\n  containers: [{name: app, image: "${image}"}]\n${rest}`;

const both = ["proxy-hollow-0", "proxy-hollow-1"];

describe("static pods", () => {
  let run: NodesTest;
  let folder: string;
  const start = async (known?: NodesTest["test"]) =>
    (run = await startNodes({ count: 2, staticPodPath: folder }, known));
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "manifests-"));
  });
  afterEach(async () => {
    await run.stop();
    rmSync(folder, { recursive: true });
  });

  const write = (file: string, text: string) => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  };
  const names = async () => (await run.test.names("v1/pods/ns")).toSorted();
  /** Lets the nodes read their manifests, which takes real time, until the condition holds. */
  const until = async (condition: () => Promise<boolean>) => {
    for (let left = 1_000; left > 0 && !(await condition()); left--) {
      await setTimeout(2);
      await run.pass(100);
    }
  };
  const untilNames = async (wanted: readonly string[]) => {
    await until(async () => String(await names()) === String(wanted));
    assert.deepEqual(await names(), wanted);
  };

  it("run on each node, or on the node of their subdirectory", async () => {
    write("proxy.yaml", manifest("proxy"));
    write("hollow-1/etcd.json", manifest("etcd"));
    write(".hidden.yaml", manifest("hidden"));
    await start();
    await untilNames(["etcd-hollow-1", "proxy-hollow-0", "proxy-hollow-1"]);
    const { metadata, spec, status } = await run.pod("proxy-hollow-0");
    const { uid } = (await run.test.get("v1/nodes//hollow-0")).object.metadata;
    assert.deepEqual(metadata.ownerReferences, [
      { apiVersion: "v1", kind: "Node", name: "hollow-0", uid, controller: true },
    ]);
    const {
      "kubernetes.io/config.hash": hash,
      "kubernetes.io/config.seen": seen,
      ...annotations
    } = metadata.annotations ?? {};
    assert.match(seen ?? "", /^2030-01-01T00:00:\d\d/);
    assert.match(hash ?? "", /^[0-9a-f]{32}$/);
    assert.deepEqual(annotations, {
      "kubernetes.io/config.mirror": hash,
      "kubernetes.io/config.source": "file",
    });
    assert.deepEqual(spec?.tolerations, [{ operator: "Exists", effect: "NoExecute" }]);
    assert.deepEqual([metadata.labels, status?.phase], [{ app: "proxy" }, "Running"]);
    assert.deepEqual(run.reports, []);
  });

  it("keep running when a client deletes their mirror pod, which is recreated", async () => {
    write("proxy.yaml", manifest("proxy"));
    await start();
    await untilNames(both);
    const before = await run.pod("proxy-hollow-0");
    await run.pass(5_000);
    await run.test.remove("v1/pods/ns/proxy-hollow-0");
    await run.pass(0);
    const after = await run.pod("proxy-hollow-0");
    assert.notEqual(after.metadata.uid, before.metadata.uid);
    assert.equal(after.metadata.deletionTimestamp, undefined);
    assert.deepEqual(after.metadata.annotations, before.metadata.annotations);
    assert.deepEqual(after.status?.containerStatuses, before.status?.containerStatuses);
    assert.deepEqual(after.status?.podIPs, before.status?.podIPs);
  });

  it("follow their files: a changed file is another pod, and deleted files terminate pods", async () => {
    write("proxy.yaml", manifest("proxy"));
    await start();
    await untilNames(both);
    const before = await run.pod("proxy-hollow-0");
    write("proxy.yaml", manifest("proxy", "proxy:2"));
    const imageOf = async () => {
      if (!(await names()).includes("proxy-hollow-0")) return undefined;
      return (await run.pod("proxy-hollow-0")).spec?.containers?.[0]?.image;
    };
    await until(async () => (await imageOf()) === "proxy:2");
    const after = await run.pod("proxy-hollow-0");
    const idOf = ({ status }: typeof after) => status?.containerStatuses?.[0]?.containerID;
    assert.equal(after.status?.containerStatuses?.[0]?.image, "proxy:2");
    assert.notEqual(idOf(after), idOf(before));
    rmSync(path.join(folder, "proxy.yaml"));
    await untilNames([]);
  });

  it("are recognized after a restart, and mirror pods without a manifest are deleted", async () => {
    write("proxy.yaml", manifest("proxy"));
    write("old.yaml", manifest("old"));
    await start();
    await untilNames(["old-hollow-0", "old-hollow-1", ...both]);
    const before = await run.pod("proxy-hollow-0");
    await run.stop();
    rmSync(path.join(folder, "old.yaml"));
    await start(run.test);
    await untilNames(both);
    const after = await run.pod("proxy-hollow-0");
    assert.deepEqual([after.metadata.uid, after.status], [before.metadata.uid, before.status]);
  });

  it("preempt other pods, and are not rejected because of taints", async () => {
    await start();
    await until(async () => (await run.test.names("v1/nodes/")).length === 2);
    const app = { name: "app", image: "i", resources: { requests: { cpu: "6" } } };
    await run.createPod("other", { spec: { containers: [app] } });
    await run.test.patch("v1/nodes//hollow-0", {
      spec: { taints: [{ key: "k", effect: "NoExecute" }] },
    });
    const resources = `  resources: {requests: {cpu: "4"}}\n`;
    write("hollow-0/proxy.yaml", manifest("proxy", "proxy:1", resources));
    await untilNames(["other", "proxy-hollow-0"]);
    await run.pass(0);
    const reasons = ["other", "proxy-hollow-0"].map(async (name) => {
      const { status } = await run.pod(name);
      return status?.reason ?? status?.phase;
    });
    assert.deepEqual(await Promise.all(reasons), ["Preempting", "Running"]);
  });

  it("are not created from files that refer to API objects, or that are not pods", async () => {
    const claim = "  volumes: [{name: d, persistentVolumeClaim: {claimName: c}}]\n";
    write("claim.yaml", manifest("claim", "i", claim));
    write("account.yaml", manifest("account", "i", "  serviceAccountName: a\n"));
    write("env.yaml", manifest("env").replace('"proxy:1"', "i, envFrom: [{secretRef: {name: s}}]"));
    write("text.yaml", "hello");
    write("good.yaml", manifest("good"));
    await start();
    await untilNames(["good-hollow-0", "good-hollow-1"]);
    const told = run.reports.map((report) => report.replace(`${folder}/`, ""));
    assert.deepEqual(told, [
      "Failed to read the static pods of account.yaml: Error: static pods may not reference serviceaccounts",
      "Failed to read the static pods of claim.yaml: Error: static pods may not reference " +
        "persistentvolumeclaims",
      "Failed to read the static pods of env.yaml: Error: static pods may not reference secrets",
      "Failed to read the static pods of text.yaml: Error: manifest is not a v1 Pod",
    ]);
    assert.match(await refusal(run.test.get("v1/pods/ns/claim-hollow-0")), /^404/);
  });
});
