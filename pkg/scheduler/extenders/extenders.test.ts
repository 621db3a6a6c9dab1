/** Extenders end to end: a scheduler calls real HTTP servers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { type ControllerTest, startController } from "../../controllers/testing.ts";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { defaultSchedulerSettings, runScheduler } from "../index.ts";
import { extenderOptions } from "./extender-options.ts";

type Answer = (body: any) => unknown;

const podsPath = "v1/pods/ns";

describe("extenders", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  let server: Server;
  let calls: { readonly path: string; readonly body: any }[];
  let answers: Record<string, Answer>;

  beforeEach(async () => {
    calls = [];
    answers = {};
    server = createServer(respond);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    test = await testRegistry({ namespaces: ["ns"] });
    for (const name of ["a", "b", "c"]) {
      const allocatable = { cpu: "4", memory: "8Gi", pods: "10", "example.com/gpu": "0" };
      await test.post("v1/nodes", { metadata: { name }, status: { allocatable } });
    }
  });
  afterEach(async () => {
    await run.stop();
    server.closeAllConnections();
    server.close();
  });

  function respond(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "";
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown;
      calls.push({ path, body });
      const answer = answers[path];
      if (answer === undefined) response.writeHead(500).end();
      else {
        const value = answer(body);
        if (value !== undefined) response.end(JSON.stringify(value));
      }
    });
  }

  async function start(more: object, scheme = "http"): Promise<void> {
    const { port } = server.address() as AddressInfo;
    const urlPrefix = `${scheme}://127.0.0.1:${port}/x/`;
    const extenders = extenderOptions([{ urlPrefix, ...more }]);
    const settings = { ...defaultSchedulerSettings, extenders };
    run = await startController((context) => runScheduler(context, settings), { test });
  }

  const makePod = (name: string, requests: object = {}, more: object = {}) =>
    test.post(podsPath, {
      metadata: { name },
      spec: {
        containers: [{ name: "c", image: "i", resources: { requests, limits: requests } }],
        schedulerName: "default-scheduler",
        ...more,
      },
    });
  const podOf = async (name: string): Promise<any> =>
    (await test.get(`${podsPath}/${name}`)).object;
  const nodeOf = async (name: string) => (await podOf(name)).spec.nodeName;
  const messageOf = async (name: string) =>
    (await podOf(name)).status.conditions?.find(({ type }: any) => type === "PodScheduled")
      ?.message;

  it("filter and prioritize by node names", async () => {
    answers["/x/filter"] = ({ NodeNames }) => ({
      nodenames: NodeNames.filter((name: string) => name !== "a"),
      FailedNodes: { a: "too far" },
    });
    answers["/x/sort"] = () => [
      { Host: "b", Score: 0 },
      { Host: "c", Score: 10 },
    ];
    await start({
      filterVerb: "filter",
      prioritizeVerb: "sort",
      weight: 9,
      nodeCacheCapable: true,
    });
    await makePod("p");
    await run.until(() => nodeOf("p"));
    assert.equal(await nodeOf("p"), "c");
    const [{ path, body } = { path: "", body: {} }] = calls;
    assert.equal(path, "/x/filter");
    assert.deepEqual(Object.keys(body), ["Pod", "Nodes", "NodeNames"]);
    assert.deepEqual([body.Nodes, [...body.NodeNames].sort()], [null, ["a", "b", "c"]]);
    assert.equal(body.Pod.metadata.name, "p");
  });

  it("report why a pod stays pending", async () => {
    answers["/x/filter"] = ({ Nodes }) => {
      assert.equal(Nodes.items.length, 3);
      return {
        Nodes: { items: [] },
        FailedNodes: { a: "full", b: "full" },
        FailedAndUnresolvableNodes: { c: "broken" },
      };
    };
    await start({ filterVerb: "filter" });
    await makePod("p");
    await run.until(() => messageOf("p"));
    assert.match(await messageOf("p"), /^0\/3 nodes are available: 1 broken, 2 full\. /);
  });

  it("bind in place of the scheduler, only for pods with a managed resource", async () => {
    answers["/x/bind"] = ({ PodName, PodNamespace, PodUID, Node }) => {
      assert.deepEqual([PodName, PodNamespace, typeof PodUID], ["gpu", "ns", "string"]);
      return { Error: `no ${Node.length === 1 ? "luck" : "node"}` };
    };
    const managedResources = [{ name: "example.com/gpu" }];
    await start({ bindVerb: "bind", managedResources });
    await makePod("plain");
    await makePod("gpu", { "example.com/gpu": "0" });
    await run.until(() => nodeOf("plain"));
    await run.until(() => messageOf("gpu"));
    assert.equal(await messageOf("gpu"), "no luck");
    assert.ok(calls.every(({ path }) => path === "/x/bind"));
  });

  it("are skipped if they are ignorable and fail or time out", async () => {
    answers["/x/filter"] = () => undefined;
    await start({ filterVerb: "filter", ignorable: true, httpTimeout: "1s" });
    await makePod("p");
    await run.until(() => nodeOf("p"));
    assert.equal(calls.length, 1);
  });

  it("fail the attempt with their error", async () => {
    await start({ filterVerb: "filter" });
    await makePod("p");
    await run.until(() => messageOf("p"));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/x/filter`;
    assert.equal(await messageOf("p"), `failed filter with extender at URL ${url}, code 500`);
  });

  describe("over TLS", () => {
    let authority: KeyPair;
    const validity = { validDays: 1, now: Date.now() };
    const base64 = (text: string) => Buffer.from(text).toString("base64");

    /** Serves with a certificate for `extender.test`, and asks clients for one. */
    beforeEach(async () => {
      authority = await createAuthority("extenders", validity);
      const names = { commonName: "server", hosts: ["extender.test"] };
      const own = await issueCertificate(authority, { ...names, usage: "server", ...validity });
      server.close();
      const tls = { cert: own.certificate, key: own.privateKey, ca: authority.certificate };
      server = createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: false }, respond);
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      answers["/x/filter"] = ({ NodeNames }) => ({ NodeNames });
    });

    const startWith = (tlsConfig: object) =>
      start(
        { filterVerb: "filter", nodeCacheCapable: true, enableHTTPS: true, tlsConfig },
        "https",
      );

    it("verify the server by the configured CA and name, with a client certificate", async () => {
      const names = { commonName: "scheduler", usage: "client" } as const;
      const client = await issueCertificate(authority, { ...names, ...validity });
      const seen: unknown[] = [];
      server.on("request", ({ socket }: IncomingMessage) => {
        const { authorized, getPeerCertificate } = socket as TLSSocket;
        seen.push([authorized, getPeerCertificate.call(socket).subject.CN]);
      });
      await startWith({
        caData: base64(authority.certificate),
        certData: base64(client.certificate),
        keyData: base64(client.privateKey),
        serverName: "extender.test",
      });
      await makePod("p");
      await run.until(() => nodeOf("p"));
      assert.deepEqual(seen, [[true, "scheduler"]]);
    });

    it("reject a server with another CA or name", async () => {
      const other = await createAuthority("others", validity);
      await startWith({ caData: base64(other.certificate), serverName: "extender.test" });
      await makePod("p");
      await run.until(() => messageOf("p"));
      assert.match(await messageOf("p"), /certificate/);
      await run.stop();
      await startWith({ caData: base64(authority.certificate), serverName: "other.test" });
      await makePod("q");
      await run.until(() => messageOf("q"));
      assert.match(await messageOf("q"), /other\.test/);
      assert.deepEqual(calls, []);
    });

    it("do not verify an insecure server", async () => {
      await startWith({ insecure: true });
      await makePod("p");
      await run.until(() => nodeOf("p"));
    });
  });

  describe("with preempt verb", () => {
    const victim = { priority: 1, terminationGracePeriodSeconds: 0 };

    /** Fills the nodes a, b and c with a pod each, which is named after its node. */
    async function fill(): Promise<void> {
      for (const name of ["a", "b", "c"]) {
        await makePod(`on-${name}`, { cpu: "4" }, { ...victim, nodeName: name });
      }
    }

    it("return the accepted candidates with their victims", async () => {
      answers["/x/preempt"] = ({ NodeNameToVictims, NodeNameToMetaVictims }) => {
        assert.deepEqual(Object.keys(NodeNameToMetaVictims).sort(), ["a", "b", "c"]);
        assert.equal(NodeNameToVictims, null);
        return { NodeNameToMetaVictims: { b: NodeNameToMetaVictims.b } };
      };
      await start({ preemptVerb: "preempt", nodeCacheCapable: true });
      await fill();
      await makePod("high", { cpu: "4" }, { priority: 10 });
      await run.until(() => nodeOf("high"));
      assert.equal(await nodeOf("high"), "b");
      assert.deepEqual(await test.names(podsPath), ["high", "on-a", "on-c"]);
    });

    it("receive complete victim pods unless nodeCacheCapable", async () => {
      answers["/x/preempt"] = ({ NodeNameToVictims }) => {
        const [pod] = NodeNameToVictims.c.Pods;
        assert.equal(pod.metadata.name, "on-c");
        const victims = { Pods: [{ UID: pod.metadata.uid }], NumPDBViolations: 0 };
        return { NodeNameToMetaVictims: { c: victims } };
      };
      await start({ preemptVerb: "preempt" });
      await fill();
      await makePod("high", { cpu: "4" }, { priority: 10 });
      await run.until(() => nodeOf("high"));
      assert.equal(await nodeOf("high"), "c");
    });

    it("prevent evictions by returning no candidate, or an unknown pod", async () => {
      answers["/x/preempt"] = () => ({
        NodeNameToMetaVictims: { a: { Pods: [{ UID: "unknown" }], NumPDBViolations: 0 } },
      });
      await start({ preemptVerb: "preempt", nodeCacheCapable: true });
      await fill();
      await makePod("high", { cpu: "4" }, { priority: 10 });
      await run.until(async () => run.reports.length > 0);
      assert.match(run.reports.join(), /claims to preempt pod \(UID: unknown\) on node: a/);
      assert.deepEqual(await test.names(podsPath), ["high", "on-a", "on-b", "on-c"]);
    });
  });
});
