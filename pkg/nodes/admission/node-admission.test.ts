/** Pods that a node refuses, and those that it ends to make room. */
import assert from "node:assert/strict";
import type { PodSpec } from "#kinds";
import { type NodesTest, startNodes } from "../testing.ts";

const requesting = (requests: Readonly<Record<string, string>>, limits = {}) => ({
  containers: [{ name: "app", image: "nginx", resources: { requests, limits } }],
});

describe("node admission", () => {
  let run: NodesTest;
  beforeEach(async () => {
    run = await startNodes({
      capacity: { cpu: "8", memory: "32Gi", "ephemeral-storage": "100Gi", pods: "5" },
    });
  });
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });

  const outcome = async (name: string, spec: PodSpec, metadata = {}) => {
    const { status } = await run.createPod(name, { spec: spec as object, metadata });
    return [status?.reason ?? status?.phase, status?.message?.replace("Pod was rejected: ", "")];
  };
  const critical = { priority: 2_000_000_000 };

  it("counts the pods of the node, except terminated ones", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await run.createPod(name, {});
    assert.deepEqual(await outcome("f", {}), [
      "OutOfpods",
      "Node didn't have enough resource: pods, requested: 1, used: 5, capacity: 5",
    ]);
    await run.test.remove("v1/pods/ns/a");
    await run.pass(0);
    assert.deepEqual(await outcome("g", {}), ["Running", undefined]);
  });

  it("counts pod-level requests, overhead and sidecars", async () => {
    const sidecar = { name: "s", image: "i", restartPolicy: "Always" };
    const resources = { requests: { cpu: "2" } };
    await run.createPod("a", { spec: { initContainers: [{ ...sidecar, resources }] } });
    await run.createPod("b", { spec: { resources: { requests: { cpu: "3" } } } });
    assert.deepEqual(await outcome("c", { ...requesting({ cpu: "3" }), overhead: { cpu: "1m" } }), [
      "OutOfcpu",
      "Node didn't have enough resource: cpu, requested: 3001, used: 5000, capacity: 8000",
    ]);
  });

  it("ignores extended resources unknown to the node", async () => {
    const gpu = { "example.com/gpu": "1" };
    assert.equal((await outcome("gpu", requesting(gpu, gpu)))[0], "Running");
    const pages = { "hugepages-2Mi": "2Mi", memory: "1Gi" };
    assert.deepEqual(await outcome("pages", requesting(pages, pages)), [
      "OutOfhugepages-2Mi",
      "Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, capacity: 0",
    ]);
  });

  it("rejects pods whose host ports are in use", async () => {
    const listening = (hostIP: string, protocol = "TCP") => ({
      containers: [
        { name: "app", image: "i", ports: [{ containerPort: 80, hostPort: 80, hostIP, protocol }] },
      ],
    });
    await run.createPod("a", { spec: listening("127.0.0.1") });
    assert.equal((await outcome("b", listening("127.0.0.2")))[0], "Running");
    assert.equal((await outcome("c", listening("", "UDP")))[0], "Running");
    assert.deepEqual(await outcome("d", listening("0.0.0.0")), [
      "NodePorts",
      "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    ]);
  });

  it("rejects sysctls that are not namespaced", async () => {
    const setting = (name: string) => ({ securityContext: { sysctls: [{ name, value: "1" }] } });
    assert.equal((await outcome("a", setting("net/ipv4/tcp_syncookies")))[0], "Running");
    assert.deepEqual(await outcome("b", setting("kernel.msgmax")), [
      "SysctlForbidden",
      'forbidden sysctl: "kernel.msgmax" not allowlisted',
    ]);
  });

  it("rejects pods of another operating system", async () => {
    const labels = { "kubernetes.io/os": "windows" };
    assert.deepEqual(await outcome("a", {}, { labels }), [
      "PodOSSelectorNodeLabelDoesNotMatch",
      "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    ]);
    assert.deepEqual(await outcome("b", { os: { name: "windows" } }), [
      "PodOSNotSupported",
      "Failed to admit pod as the OS field doesn't match node OS",
    ]);
  });

  it("evicts the fewest pods of the lowest QoS classes for a critical pod", async () => {
    const limited = (cpu: string) => ({ cpu, memory: "1Gi" });
    await run.createPod("guaranteed", { spec: requesting(limited("2"), limited("2")) });
    await run.createPod("small", { spec: requesting({ cpu: "1" }) });
    await run.createPod("large", { spec: requesting({ cpu: "4" }) });
    assert.deepEqual(await outcome("critical", { ...requesting({ cpu: "4" }), ...critical }), [
      "Running",
      undefined,
    ]);
    await run.pass(0);
    const { status } = await run.pod("large");
    assert.deepEqual(
      [status?.phase, status?.reason, status?.message],
      ["Failed", "Preempting", "Preempted in order to admit critical pod"],
    );
    const target = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    assert.deepEqual(
      [target?.reason, target?.message],
      ["TerminationByKubelet", "Pod was preempted by Kubelet to accommodate a critical pod."],
    );
    const phases = ["guaranteed", "small"].map(async (name) => (await run.pod(name)).status?.phase);
    assert.deepEqual(await Promise.all(phases), ["Running", "Running"]);
  });

  it("rejects a critical pod if evictions cannot make room", async () => {
    await run.createPod("other", { spec: { ...requesting({ cpu: "5" }), ...critical } });
    assert.deepEqual(await outcome("critical", { ...requesting({ cpu: "4" }), ...critical }), [
      "UnexpectedAdmissionError",
      "Unexpected error while attempting to recover from admission failure: preemption: error " +
        "finding a set of pods to preempt: no set of running pods found to reclaim resources: " +
        "[(res: cpu, q: 1000), ]",
    ]);
  });
});
