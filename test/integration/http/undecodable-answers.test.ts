/**
 * Answers of other servers that cannot be decoded: each client must fail, and never take one for an absent
 * field, an empty list or a success. For every field that a client reads, the table has its type; the
 * answers are a valid one with one value replaced by each of the other types.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "#client";
import { systemClock } from "#base";
import { kubernetes } from "#meta";
import { parseKubeconfig, webhookClient } from "#request";
import { imagePolicyWebhook } from "../../../pkg/admission/plugins/pod/image-policy-webhook.ts";
import { decodeReview, validateResponse } from "../../../pkg/admission/webhooks/review.ts";
import {
  decodeAggregated,
  decodeLegacy,
} from "../../../pkg/aggregator/discovery/decode-discovery.ts";
import { IssuerKeys } from "../../../pkg/authn/issuers/issuer-keys.ts";
import { WebhookTokenAuthenticator } from "../../../pkg/authn/tokens/token-webhook.ts";
import { WebhookAuthorizer } from "../../../pkg/authz/webhook/webhook-authorizer.ts";
import { HttpClient } from "../../../pkg/client/http/http-client.ts";
import { MetricsClient } from "../../../pkg/controllers/autoscaling/metrics-client.ts";
import { convertedObjects } from "../../../pkg/crd/conversion.ts";
import { extenderOptions } from "../../../pkg/scheduler/extenders/extender-options.ts";
import { HttpExtender } from "../../../pkg/scheduler/extenders/http-extender.ts";
import { type AnsweredPlace, groupDiscoveries, hostileAnswers } from "./hostile-answers.ts";

const signal = new AbortController().signal;
const user = { name: "jo", uid: "", groups: [], extra: new Map() };
const pod = { metadata: { name: "p", namespace: "ns", uid: "u" }, spec: { containers: [] } };
const node = { name: "a", node: { metadata: { name: "a" } }, pods: [{ pod }] };

/** Discovery of a server with the custom metrics API. */
const metricsGroups = {
  groups: [{ name: "custom.metrics.k8s.io", versions: [{ version: "v1beta2" }] }],
};

describe("answers of other servers that cannot be decoded", () => {
  let server: Server;
  let answer: unknown;
  let url: string;

  before(async () => {
    server = createServer((request, response) => {
      request.resume();
      request.on("end", () => response.end(JSON.stringify(answer)));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const endpoint = () => {
    const text = JSON.stringify({ clusters: [{ name: "c", cluster: { server: url } }] });
    return parseKubeconfig(text, (name) => assert.fail(name));
  };
  /** Lets the server answer while `work` runs with a client of webhooks. */
  const withWebhook = async <T>(
    next: unknown,
    work: (client: ReturnType<typeof webhookClient>) => Promise<T>,
  ): Promise<T> => {
    answer = next;
    const client = webhookClient({ endpoint: endpoint(), timeoutMs: 10_000, clock: systemClock });
    try {
      return await work(client);
    } finally {
      client.close();
    }
  };
  const withExtender = async <T>(
    next: unknown,
    work: (extender: HttpExtender) => Promise<T>,
  ): Promise<T> => {
    answer = next;
    const ended = new AbortController();
    const [options] = extenderOptions([{ urlPrefix: url, nodeCacheCapable: true }]);
    const verbs = { filterVerb: "f", prioritizeVerb: "p", bindVerb: "b", preemptVerb: "e" };
    const extender = new HttpExtender({ ...options!, ...verbs }, ended.signal, systemClock);
    try {
      return await work(extender);
    } finally {
      ended.abort();
    }
  };
  const metrics = (next: unknown): MetricsClient =>
    new MetricsClient({
      domain: kubernetes,
      getRaw: async (path: string) => (path === "/apis" ? metricsGroups : next),
    } as unknown as Client);
  const client = (next: unknown): HttpClient =>
    new HttpClient({
      send: async () => ({
        status: 200,
        header: () => "application/json",
        body: (async function* () {
          yield Buffer.from(JSON.stringify(next));
        })(),
      }),
      domain: kubernetes,
      clock: systemClock,
      userAgent: "test",
      signal,
    });
  const handle = { group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true };
  const review = (kind: string, apiVersion: string, status: object) => ({
    kind,
    apiVersion,
    status,
  });
  const selected = { namespace: "ns", selector: "", metricSelector: "" };

  const places: Readonly<Record<string, AnsweredPlace>> = {
    "a token webhook": {
      valid: review("TokenReview", "authentication.k8s.io/v1", {
        authenticated: true,
        user: { username: "a", uid: "b", groups: ["c"], extra: { k: ["v"] } },
        audiences: ["api"],
        error: "",
      }),
      ask: (next) =>
        withWebhook(next, (hook) =>
          new WebhookTokenAuthenticator({
            client: hook,
            domain: kubernetes,
            version: "v1",
            report: () => {},
          }).authenticateToken("t", ["api"], {}),
        ),
      fields: {
        kind: "kind",
        apiVersion: "kind",
        status: "object",
        "status.authenticated": "boolean",
        "status.error": "string",
        "status.audiences": "array",
        "status.user": "object",
        "status.user.username": "string",
        "status.user.uid": "string",
        "status.user.groups": "array",
        "status.user.groups.0": "string",
        "status.user.extra": "object",
        "status.user.extra.k": "array",
      },
    },
    "an authorization webhook": {
      valid: review("SubjectAccessReview", "authorization.k8s.io/v1", {
        allowed: true,
        denied: false,
        reason: "r",
        evaluationError: "",
      }),
      ask: (next) =>
        withWebhook(next, async (hook) => {
          const authorizer = new WebhookAuthorizer({
            client: hook,
            clock: systemClock,
            domain: kubernetes,
            version: "v1",
            authorizedMs: 0,
            unauthorizedMs: 0,
            onFailure: "deny",
            conditions: [],
            report: () => {},
          });
          const request: any = { isResource: false, path: "/x", verb: "get" };
          const { verdict, error } = await authorizer.authorize({ user, request });
          if (error === undefined) return;
          assert.equal(verdict, "deny");
          throw new Error(error);
        }),
      fields: {
        kind: "kind",
        apiVersion: "kind",
        status: "object",
        "status.allowed": "boolean",
        "status.denied": "boolean",
        "status.reason": "string",
        "status.evaluationError": "string",
      },
    },
    "an image policy webhook": {
      valid: review("ImageReview", "imagepolicy.k8s.io/v1alpha1", {
        allowed: true,
        reason: "r",
        auditAnnotations: { a: "b" },
      }),
      async ask(next) {
        answer = next;
        const life = new AbortController();
        const policy = {
          endpoint: endpoint(),
          allowedMs: 0,
          deniedMs: 0,
          backoffMs: 1,
          allowsByDefault: true,
        };
        const parts: any = { domain: kubernetes, clock: systemClock, life: life.signal };
        const { validate } = imagePolicyWebhook.create!(parts, policy) as any;
        const annotations: string[] = [];
        const notes = { annotate: (key: string) => annotations.push(key) };
        const resource = { keyPrefix: "/pods/" };
        const request = { resource, subresource: "", namespace: "ns", notes, context: { signal } };
        await validate({ request, operation: "create", object: pod });
        life.abort();
        if (annotations.some((key) => key.endsWith("/failed-open"))) throw new Error("failed open");
      },
      fields: {
        kind: "kind",
        apiVersion: "kind",
        status: "object",
        "status.allowed": "boolean",
        "status.reason": "string",
        "status.auditAnnotations": "object",
        "status.auditAnnotations.a": "string",
      },
    },
    "an admission webhook": {
      valid: {
        kind: "AdmissionReview",
        apiVersion: "admission.k8s.io/v1",
        response: { uid: "u", allowed: true, warnings: ["w"], auditAnnotations: { a: "b" } },
      },
      async ask(next) {
        const apiVersion = "admission.k8s.io/v1";
        // The transport has rejected other values; null is an empty review.
        if (typeof next !== "object" || Array.isArray(next)) throw new Error("not an object");
        const decoded = decodeReview(next ?? {}, apiVersion);
        validateResponse(decoded, { apiVersion, uid: "u", body: "", mayPatch: true });
      },
      fields: {
        kind: "kind",
        apiVersion: "kind",
        response: "object",
        "response.uid": "string",
        "response.allowed": "boolean",
        "response.warnings": "array",
        "response.warnings.0": "string",
        "response.auditAnnotations": "object",
        "response.auditAnnotations.a": "string",
      },
    },
    "a conversion webhook": {
      valid: {
        kind: "ConversionReview",
        apiVersion: "apiextensions.k8s.io/v1",
        response: { uid: "u", result: { status: "Success", message: "" }, convertedObjects: [{}] },
      },
      ask: async (next) =>
        convertedObjects(next, {
          kind: "ConversionReview",
          apiVersion: "apiextensions.k8s.io/v1",
          uid: "u",
        }),
      fields: {
        kind: "kind",
        apiVersion: "kind",
        response: "object",
        "response.uid": "string",
        "response.result": "object",
        "response.result.status": "string",
        "response.result.message": "string",
        "response.convertedObjects": "array",
      },
    },
    "an OIDC issuer": {
      valid: { issuer: "https://i", jwks_uri: "https://i/keys", token_endpoint: "https://i/t" },
      ask: (next) => keysOf(next, { keys: [] }),
      fields: { issuer: "string", jwks_uri: "string", token_endpoint: "string" },
    },
    "the keys of an OIDC issuer": {
      valid: { keys: [{ kty: "oct", kid: "k", use: "sig", alg: "HS256" }] },
      ask: (next) => keysOf({ issuer: "https://i", jwks_uri: "https://i/keys" }, next),
      fields: {
        keys: "array",
        "keys.0": "object",
        "keys.0.kty": "string",
        "keys.0.kid": "string",
        "keys.0.use": "string",
        "keys.0.alg": "string",
      },
    },
    "an extender (filter)": {
      valid: { NodeNames: ["a"], FailedNodes: { b: "why" }, Error: "" },
      ask: (next) => withExtender(next, (to) => to.filter(pod as any, [node] as any)),
      fields: {
        NodeNames: "array",
        "NodeNames.0": "string",
        Nodes: "object",
        FailedNodes: "object",
        "FailedNodes.b": "string",
        FailedAndUnresolvableNodes: "object",
        Error: "string",
      },
      takesNull: true,
    },
    "an extender (prioritize)": {
      valid: [{ Host: "a", Score: 3 }],
      ask: (next) => withExtender(next, (to) => to.prioritize(pod as any, [node] as any)),
      fields: { "0": "object", "0.Host": "string", "0.Score": "number" },
      takesNull: true,
    },
    "an extender (bind)": {
      valid: { error: "" },
      ask: (next) => withExtender(next, (to) => to.bind(pod as any, "a")),
      fields: { error: "string" },
      takesNull: true,
    },
    "an extender (preempt)": {
      valid: { NodeNameToMetaVictims: { a: { Pods: [{ UID: "u" }], NumPDBViolations: 1 } } },
      ask: (next) => withExtender(next, (to) => to.preempt(pod as any, [], () => node as any)),
      fields: {
        NodeNameToMetaVictims: "object",
        "NodeNameToMetaVictims.a": "object",
        "NodeNameToMetaVictims.a.Pods": "array",
        "NodeNameToMetaVictims.a.Pods.0": "object",
        "NodeNameToMetaVictims.a.Pods.0.UID": "string",
        "NodeNameToMetaVictims.a.NumPDBViolations": "number",
      },
      takesNull: true,
    },
    "the resource metrics API": {
      valid: {
        kind: "PodMetricsList",
        apiVersion: "metrics.k8s.io/v1beta1",
        items: [
          {
            metadata: { name: "p" },
            timestamp: "2030-01-01T00:00:00Z",
            window: "30s",
            containers: [{ name: "c", usage: { cpu: "1" } }],
          },
        ],
      },
      ask: (next) =>
        metrics(next).resourceMetrics("cpu", { namespace: "ns", selector: "", container: "" }),
      fields: {
        kind: "kind",
        apiVersion: "kind",
        items: "array",
        "items.0": "object",
        "items.0.metadata": "object",
        "items.0.metadata.name": "string",
        "items.0.timestamp": "kind",
        "items.0.window": "kind",
        "items.0.containers": "array",
        "items.0.containers.0": "object",
        "items.0.containers.0.name": "string",
        "items.0.containers.0.usage": "object",
        "items.0.containers.0.usage.cpu": "quantity",
      },
    },
    "the custom metrics API": {
      valid: {
        kind: "MetricValueList",
        items: [{ describedObject: { name: "p" }, value: "1", windowSeconds: 3 }],
      },
      ask: (next) => metrics(next).podsMetric("m", selected),
      fields: {
        kind: "kind",
        items: "array",
        "items.0": "object",
        "items.0.describedObject": "object",
        "items.0.describedObject.name": "string",
        "items.0.value": "quantity",
        "items.0.windowSeconds": "number",
      },
    },
    "the external metrics API": {
      valid: { kind: "ExternalMetricValueList", items: [{ value: "1" }] },
      ask: (next) => metrics(next).externalMetric("m", selected),
      fields: { kind: "kind", items: "array", "items.0": "object", "items.0.value": "quantity" },
    },
    "an API server (list)": {
      valid: { kind: "PodList", metadata: { resourceVersion: "1", continue: "c" }, items: [pod] },
      ask: (next) => client(next).list(handle),
      fields: {
        metadata: "object",
        "metadata.resourceVersion": "string",
        "metadata.continue": "string",
        items: "array",
        "items.0": "object",
      },
    },
    "an API server (get)": {
      valid: pod,
      ask: (next) => client(next).get(handle, { namespace: "ns", name: "p" }),
      fields: {},
    },
    "discovery of an API server": {
      valid: groupDiscoveries,
      ask: (next) => client(next).discover(),
      fields: {
        kind: "kind",
        items: "array",
        "items.0.metadata": "object",
        "items.0.metadata.name": "string",
        "items.0.versions": "array",
        "items.0.versions.0.version": "string",
        "items.0.versions.0.resources": "array",
        "items.0.versions.0.resources.0.resource": "string",
        "items.0.versions.0.resources.0.scope": "string",
        "items.0.versions.0.resources.0.verbs": "array",
        "items.0.versions.0.resources.0.responseKind": "object",
        "items.0.versions.0.resources.0.subresources": "array",
      },
    },
    "aggregated discovery": {
      valid: groupDiscoveries,
      ask: (next) => decodeAggregated(Buffer.from(JSON.stringify(next))),
      fields: {
        kind: "kind",
        items: "array",
        "items.0.metadata": "object",
        "items.0.versions": "array",
        "items.0.versions.0.version": "string",
        "items.0.versions.0.resources": "array",
        "items.0.versions.0.resources.0": "object",
        "items.0.versions.0.resources.0.resource": "string",
        "items.0.versions.0.resources.0.scope": "string",
        "items.0.versions.0.resources.0.verbs": "array",
        "items.0.versions.0.resources.0.verbs.0": "string",
        "items.0.versions.0.resources.0.shortNames": "array",
      },
    },
    "an APIResourceList": {
      valid: {
        kind: "APIResourceList",
        groupVersion: "g/v1",
        resources: [{ name: "r", namespaced: true, kind: "R", verbs: ["get"] }],
      },
      ask: (next) => decodeLegacy(Buffer.from(JSON.stringify(next)), "g/v1"),
      fields: {
        kind: "kind",
        groupVersion: "kind",
        resources: "array",
        "resources.0": "object",
        "resources.0.name": "string",
        "resources.0.namespaced": "boolean",
        "resources.0.kind": "string",
        "resources.0.verbs": "array",
      },
    },
  };

  async function keysOf(document: unknown, keys: unknown): Promise<void> {
    const faults: unknown[] = [];
    const issuer = new IssuerKeys({
      issuer: "https://i",
      discoveryUrl: "",
      algorithms: ["RS256"],
      fetch: async (address) => (address.endsWith("/keys") ? keys : document),
      clock: systemClock,
      report: (error) => void faults.push(error),
    });
    const found = await issuer.known();
    if (faults.length === 0) return;
    assert.equal(found, undefined);
    throw faults[0];
  }

  for (const [name, place] of Object.entries(places)) {
    it(`take the failure path: ${name}`, async () => {
      await place.ask(place.valid);
      for (const hostile of hostileAnswers(place)) {
        await assert.rejects(
          place.ask(hostile),
          (error: unknown) => {
            // Not a fault of this program that happens to throw.
            assert.ok(
              !(error instanceof TypeError),
              `${JSON.stringify(hostile)}: ${String(error)}`,
            );
            return true;
          },
          JSON.stringify(hostile),
        );
      }
    });
  }
});
