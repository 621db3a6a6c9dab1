/** Admission plugins that are off by default, enabled and configured as by flags. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { send } from "./testing.ts";

/** Starts a server with the plugins enabled; null for a plugin without configuration. */
function admitting(plugins: Readonly<Record<string, object | null>>): Promise<RunningServer> {
  const told = Object.entries(plugins).filter(([, configuration]) => configuration !== null);
  const text = JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: told.map(([name, configuration]) => ({ name, configuration })),
  });
  return startServer({
    controllers: false,
    admissionPlugins: { enable: Object.keys(plugins), disable: ["ServiceAccount"] },
    admissionConfiguration: { text },
  });
}

describe("admission plugins with configuration", () => {
  let server: RunningServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  const container = { name: "c", image: "example.com/good:1" };
  const pod = (spec: object, name = "p", annotations = {}) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations },
    spec: { containers: [container], ...spec },
  });
  const namespaced = (name: string, annotations = {}) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, annotations },
  });
  const namespaces = "/api/v1/namespaces";
  const pods = (namespace: string) => `${namespaces}/${namespace}/pods`;
  const post = (at: string, body: object): ReturnType<typeof send> =>
    send(server!, "POST", at, body);

  it("PodNodeSelector applies the namespace's selector within the configured one", async () => {
    const podNodeSelectorPluginConfig = {
      clusterDefaultNodeSelector: "pool=all",
      own: "disk=fast",
    };
    server = await admitting({ PodNodeSelector: { podNodeSelectorPluginConfig } });
    const annotation = { "scheduler.alpha.kubernetes.io/node-selector": "disk=fast" };
    await post(namespaces, namespaced("own", annotation));
    const usual = await post(pods("default"), pod({ nodeSelector: { zone: "a" } }));
    assert.deepEqual(usual.body.spec.nodeSelector, { pool: "all", zone: "a" });
    const own = await post(pods("own"), pod({}));
    assert.deepEqual(own.body.spec.nodeSelector, { disk: "fast" });
    const against = await post(pods("own"), pod({ nodeSelector: { disk: "slow" } }, "q"));
    assert.equal(against.status, 403);
    assert.match(against.body.message, /^pods "q" is forbidden: pod node label selector conflicts/);
    const beyond = await post(pods("own"), pod({ nodeSelector: { zone: "a" } }, "q"));
    assert.match(beyond.body.message, /labels conflict with its namespace whitelist$/);
  });

  it("PodTolerationRestriction adds default tolerations and rejects others", async () => {
    const dedicated = { key: "dedicated", operator: "Exists" };
    server = await admitting({
      PodTolerationRestriction: {
        apiVersion: "podtolerationrestriction.admission.k8s.io/v1alpha1",
        kind: "Configuration",
        default: [dedicated],
        whitelist: [dedicated, { operator: "Exists", effect: "NoExecute" }],
      },
    });
    const key = "scheduler.alpha.kubernetes.io";
    const annotations = {
      [`${key}/defaultTolerations`]: "",
      [`${key}/tolerationsWhitelist`]: '[{"operator":"Exists"}]',
    };
    await post(namespaces, namespaced("lax", annotations));
    const usual = await post(pods("default"), pod({}));
    const keys = usual.body.spec.tolerations.map((each: any) => each.key);
    assert.ok(keys.includes("dedicated"), JSON.stringify(keys));
    const tolerations = [{ key: "gpu", operator: "Equal", value: "a" }];
    const other = await post(pods("default"), pod({ tolerations }, "q"));
    assert.equal(other.status, 500);
    assert.match(other.body.message, /^pod tolerations .* conflict with its cluster whitelist$/);
    const lax = await post(pods("lax"), pod({ tolerations }));
    assert.deepEqual(
      lax.body.spec.tolerations.filter((each: any) => each.effect !== "NoExecute"),
      tolerations,
    );
    const limits = { cpu: "1" };
    const busy = pod({ containers: [{ ...container, resources: { limits } }] }, "busy");
    const { body } = await post(pods("lax"), busy);
    assert.ok(body.spec.tolerations.some((each: any) => each.key.endsWith("/memory-pressure")));
  });

  it("EventRateLimit limits the rate of Events", async () => {
    server = await admitting({
      EventRateLimit: {
        apiVersion: "eventratelimit.admission.k8s.io/v1alpha1",
        kind: "Configuration",
        limits: [
          { type: "SourceAndObject", qps: 1, burst: 2 },
          { type: "Namespace", qps: 1, burst: 100 },
        ],
      },
    });
    const event = (name: string, uid: string) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name },
      involvedObject: { namespace: "default", uid },
    });
    const events = `${namespaces}/default/events`;
    const codes: number[] = [];
    for (const name of ["a", "b", "c", "d", "e"]) {
      codes.push((await post(events, event(name, "one"))).status);
    }
    assert.deepEqual(codes.slice(0, 2), [201, 201]);
    assert.ok(codes.includes(429), String(codes));
    assert.equal((await post(events, event("f", "two"))).status, 201);
    const refused = [];
    for (const name of ["g", "h", "i", "j"]) refused.push(await post(events, event(name, "one")));
    const { body } = refused.find(({ status }) => status === 429)!;
    assert.equal(body.reason, "TooManyRequests");
    assert.match(
      body.message,
      /^Too many requests: limit reached on type SourceAndObject for key /,
    );
  });

  it("NamespaceAutoProvision creates missing namespaces", async () => {
    server = await admitting({ NamespaceAutoProvision: null });
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" } };
    const dry = await post(`${namespaces}/late/configmaps?dryRun=All`, map);
    assert.equal(dry.status, 404);
    assert.equal((await post(`${namespaces}/late/configmaps`, map)).status, 201);
    assert.equal((await send(server, "GET", `${namespaces}/late`)).body.status.phase, "Active");
  });

  it("plugins fail the start without their required configuration", async () => {
    const needing = startServer({ admissionPlugins: { enable: ["EventRateLimit"] } });
    await assert.rejects(needing, /plugin "EventRateLimit" needs its part of admission-control/);
    const wrong = { EventRateLimit: { kind: "Configuration" } };
    await assert.rejects(admitting(wrong), /expected eventratelimit.admission.k8s.io\/v1/);
    const odd = { podNodeSelectorPluginConfig: {}, typo: 1 };
    await assert.rejects(admitting({ PodNodeSelector: odd }), /has no field "typo"/);
  });

  describe("ImagePolicyWebhook", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "keelson-images-"));
    let webhook: Server;
    const asked: any[] = [];
    let answers: (spec: any) => object | undefined;
    before(async () => {
      webhook = createServer((request, response) => {
        const chunks: Uint8Array[] = [];
        request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
        request.on("end", () => {
          const review = JSON.parse(Buffer.concat(chunks).toString()) as any;
          asked.push(review);
          const status = answers(review.spec);
          if (status === undefined) response.writeHead(400).end();
          else response.end(JSON.stringify({ ...review, status }));
        });
      });
      await new Promise<void>((resolve) => webhook.listen(0, "127.0.0.1", resolve));
    });
    after(() => {
      webhook.closeAllConnections();
      webhook.close();
      rmSync(folder, { recursive: true });
    });

    async function asking(more: object): Promise<void> {
      const { port } = webhook.address() as AddressInfo;
      const clusters = [{ name: "c", cluster: { server: `http://127.0.0.1:${port}/review` } }];
      const kubeConfigFile = path.join(folder, "kubeconfig");
      writeFileSync(kubeConfigFile, JSON.stringify({ clusters }));
      asked.length = 0;
      server = await admitting({
        ImagePolicyWebhook: { imagePolicy: { kubeConfigFile, ...more } },
      });
    }

    it("sends equal reviews once", async () => {
      await asking({});
      answers = ({ containers }) => {
        const bad = containers.find(({ image }: any) => image.includes("bad"));
        return bad === undefined
          ? { allowed: true }
          : { allowed: false, reason: `${bad.image} is bad` };
      };
      const annotations = { "mine.image-policy.k8s.io/ticket": "1", other: "2" };
      assert.equal((await post(pods("default"), pod({}, "a", annotations))).status, 201);
      assert.equal((await post(pods("default"), pod({}, "b", annotations))).status, 201);
      assert.equal(asked.length, 1);
      assert.equal(asked[0].apiVersion, "imagepolicy.k8s.io/v1alpha1");
      assert.deepEqual(asked[0].spec, {
        containers: [{ image: container.image }],
        annotations: { "mine.image-policy.k8s.io/ticket": "1" },
        namespace: "default",
      });
      const initContainers = [{ name: "i", image: "bad" }];
      const refused = await post(pods("default"), pod({ initContainers }, "c"));
      assert.equal(refused.status, 403);
      assert.match(refused.body.message, /backend denied one or more images: bad is bad$/);
    });

    for (const defaultAllow of [true, false]) {
      it(`applies defaultAllow=${defaultAllow} when the webhook fails`, async () => {
        await asking({ defaultAllow });
        answers = () => undefined;
        const { status } = await post(pods("default"), pod({}));
        assert.equal(status, defaultAllow ? 201 : 403);
      });
    }
  });
});
