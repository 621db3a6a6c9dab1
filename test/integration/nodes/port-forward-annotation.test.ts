/** The annotation port-forward of simulated pods, which proxies, webhooks and aggregated APIs follow. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import { startServer } from "../../../cmd/keelson/index.ts";
import {
  pods,
  services,
  slices,
  Dials,
  answerOf,
  callWebhook,
  inService,
  callAggregated,
  podSpec,
} from "./address-clients.ts";
import { Cluster, type Json } from "./cluster.ts";

describe("the annotation port-forward of a simulated pod", () => {
  let authority: KeyPair;
  let program: Server;
  let cluster: Cluster;

  before(async () => {
    authority = await createAuthority("ca", { now: Date.now(), validDays: 1 });
    const { certificate, privateKey } = await issueCertificate(authority, {
      commonName: "hook",
      hosts: ["hook.default.svc"],
      usage: "server",
      validDays: 1,
      now: Date.now(),
    });
    program = createServer({ cert: certificate, key: privateKey }, (incoming, response) => {
      let body = "";
      incoming.on("data", (chunk: Buffer) => (body += chunk.toString()));
      incoming.on("end", () => {
        response.setHeader("content-type", "application/json");
        const isReview = incoming.method === "POST";
        const { request, ...review } = JSON.parse(isReview ? body : `{"request":{}}`);
        const answer = { uid: request.uid, allowed: false, status: { message: "by the program" } };
        response.end(
          JSON.stringify(isReview ? { ...review, response: answer } : { path: incoming.url }),
        );
      });
    });
    await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
    const { port } = program.address() as AddressInfo;
    cluster = new Cluster(await startServer({ nodes: { count: 1 } }));
    const annotations = { "simulated.keelson.dev/port-forward": `8443=127.0.0.1:${port}` };
    const metadata = { name: "web", labels: { app: "web" }, annotations };
    await cluster.create(pods, { metadata, spec: podSpec("hollow-0") });
    const spec = { selector: { app: "web" }, ports: [{ port: 443, targetPort: 8443 }] };
    await cluster.create(services, { metadata: { name: "hook" }, spec });
    await cluster.until(`${slices}?labelSelector=kubernetes.io/service-name%3Dhook`, ({ items }) =>
      items[0]?.endpoints?.some((each: Json) => each.conditions.ready),
    );
  });
  after(async () => {
    await cluster?.server.close();
    program?.closeAllConnections();
    program?.close();
  });

  it("is the target of proxies", async () => {
    const pod = await answerOf(cluster.server, `${pods}/https:web:8443/proxy/a?b=1`);
    assert.equal(pod, '200 {"path":"/a?b=1"}');
    const service = await answerOf(cluster.server, `${services}/https:hook:443/proxy/a`);
    assert.equal(service, '200 {"path":"/a"}');
  });

  it("is the target of webhooks, whose certificate is verified", async () => {
    const caBundle = Buffer.from(authority.certificate).toString("base64");
    const place = { cluster, name: "web", addresses: [] };
    assert.match(await callWebhook(place, { ...inService("hook"), caBundle }), /by the program/);
    const other = await createAuthority("other", { now: Date.now(), validDays: 1 });
    const wrong = Buffer.from(other.certificate).toString("base64");
    const failed = await callWebhook(place, { ...inService("hook"), caBundle: wrong });
    assert.match(failed, /failed to verify certificate/);
  });

  it("is the target of aggregated APIs", async () => {
    const place = { cluster, name: "web", addresses: [] };
    assert.match(await callAggregated(place, "hook"), /Passed/);
  });

  it("does not apply to other ports", async () => {
    const answer = await answerOf(cluster.server, `${pods}/web:80/proxy/`);
    assert.match(answer, /^503 .*simulated pod default\/web: no program runs there/);
  });

  it("is limited to the allowed targets", async () => {
    using dials = new Dials();
    const annotations = { "simulated.keelson.dev/port-forward": "192.0.2.1:80" };
    await cluster.create(pods, {
      metadata: { name: "out", annotations },
      spec: podSpec("hollow-0"),
    });
    await cluster.until(`${pods}/out`, (pod) => pod.status?.podIP !== undefined);
    const answer = await answerOf(cluster.server, `${pods}/out:80/proxy/`);
    assert.match(answer, /^503 .*192\.0\.2\.1 is outside of --port-forward-targets/);
    assert.deepEqual(dials.hosts, []);
  });
});
