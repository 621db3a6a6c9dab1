import assert from "node:assert/strict";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Http2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { bytes, fromProtobuf, int64, list, pointer, value, string, structs } from "#schema";
import { type RunningServer, startServer, type StartOptions } from "../index.ts";

/** The part of OTLP (opentelemetry/proto/trace/v1) that the tests read. */
const otlp = structs("opentelemetry");
const anyValue = otlp("AnyValue", "One of several.", {
  stringValue: pointer(1, string, ""),
  intValue: pointer(3, int64, ""),
});
const keyValue = otlp("KeyValue", "", {
  key: value(1, string, ""),
  value: pointer(2, anyValue, ""),
});
const link = otlp("Link", "", { traceId: value(1, bytes, "") });
const spanMessage = otlp("Span", "", {
  traceId: value(1, bytes, ""),
  spanId: value(2, bytes, ""),
  parentSpanId: value(4, bytes, ""),
  name: value(5, string, ""),
  attributes: value(9, list(keyValue), ""),
  links: value(13, list(link), ""),
});
const scopeSpans = otlp("ScopeSpans", "", { spans: value(2, list(spanMessage), "") });
const resourceSpans = otlp("ResourceSpans", "", { scopeSpans: value(2, list(scopeSpans), "") });
const exportRequest = otlp("ExportTraceServiceRequest", "", {
  resourceSpans: value(1, list(resourceSpans), ""),
});

interface SeenSpan {
  readonly trace: string;
  readonly id: string;
  readonly parent: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly links: readonly string[];
}

const hex = (base64 = "") => Buffer.from(base64, "base64").toString("hex");

/** A collector that receives spans over gRPC, in which a length precedes each message. */
class Collector {
  readonly spans: SeenSpan[] = [];
  private readonly server: Http2Server = createServer();

  async start(): Promise<string> {
    this.server.on("stream", (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const service = "opentelemetry.proto.collector.trace.v1.TraceService";
        assert.equal(headers[":path"], `/${service}/Export`);
        this.take(Buffer.concat(chunks).subarray(5));
        stream.respond(
          { ":status": 200, "content-type": "application/grpc+proto" },
          { waitForTrailers: true },
        );
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(Buffer.alloc(5));
      });
    });
    return `127.0.0.1:${await listening(this.server)}`;
  }

  close(): void {
    this.server.close();
  }

  get(name: string): SeenSpan {
    const found = this.spans.filter((span) => span.name === name);
    assert.equal(found.length, 1, `${name}: ${this.spans.map((span) => span.name).join(", ")}`);
    return found[0]!;
  }

  within(span: SeenSpan): readonly string[] {
    return this.spans.filter(({ parent }) => parent === span.id).map(({ name }) => name);
  }

  private take(message: Uint8Array): void {
    const { resourceSpans: resources = [] } = fromProtobuf(exportRequest, message);
    const all = resources.flatMap(({ scopeSpans: scopes = [] }) => scopes);
    for (const each of all.flatMap(({ spans = [] }) => spans)) {
      const { attributes = [], links = [] } = each;
      this.spans.push({
        trace: hex(each.traceId),
        id: hex(each.spanId),
        parent: hex(each.parentSpanId),
        name: each.name ?? "",
        attributes: Object.fromEntries(
          attributes.map(({ key = "", value }) => [
            key,
            value?.stringValue ?? String(value?.intValue),
          ]),
        ),
        links: links.map(({ traceId }) => hex(traceId)),
      });
    }
  }
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

const traceId = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const configMaps = "/api/v1/namespaces/default/configmaps";
const created = "POST /api/v1/namespaces/{:namespace}/configmaps";

describe("tracing", () => {
  let collector: Collector;
  let endpoint: string;
  let server: RunningServer | undefined;
  const afterwards: (() => void)[] = [];

  beforeEach(async () => {
    collector = new Collector();
    endpoint = await collector.start();
  });

  afterEach(async () => {
    await server?.close();
    server = undefined;
    collector.close();
    for (const work of afterwards.splice(0)) work();
  });

  const start = async (rate: number, options: StartOptions = {}) => {
    const configuration = {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "TracingConfiguration",
      endpoint,
      samplingRatePerMillion: rate,
    };
    const tracing = JSON.stringify(configuration);
    server = await startServer({ controllers: false, ...options, tracing });
    return server;
  };
  const create = async (headers: Record<string, string> = {}) => {
    const answer = await server!.fetch(configMaps, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ metadata: { name: "a" } }),
    });
    await answer.text();
    return answer;
  };
  /** Closes the server, which exports all recorded spans. */
  const end = async () => {
    await server?.close();
    server = undefined;
  };

  it("records a request, its stages and calls to the store in the trace of its traceparent", async () => {
    await start(0);
    const answer = await create({ traceparent, tracestate: "vendor=1" });
    assert.equal(answer.status, 201);
    await end();
    const root = collector.get(created);
    assert.equal(root.trace, traceId);
    assert.equal(root.parent, "b7ad6b7169203331");
    assert.equal(root.attributes["audit-id"], answer.headers.get("audit-id"));
    assert.equal(root.attributes["url.path"], configMaps);
    assert.equal(root.attributes["http.response.status_code"], "201");
    const stages = ["audit", "authorize", "dispatch", "flowControl", "impersonate"];
    assert.deepEqual([...collector.within(root)].sort(), stages);
    const dispatch = collector.get("dispatch");
    assert.ok(collector.within(dispatch).includes("etcd txn"));
    const written = collector.get("etcd txn").attributes["key"];
    assert.equal(written, "/registry/configmaps/default/a");
    assert.ok(collector.spans.every((span) => span.trace === traceId));
  });

  it("starts no traces without a sampling rate", async () => {
    await start(0);
    assert.equal((await create()).status, 201);
    await end();
    assert.deepEqual(collector.spans, []);
  });

  it("follows the sampling decision of trusted clients only, and links to traces of others", async () => {
    const tokens = 'eve-token,eve,1,"makers"';
    await start(1_000_000, { tokens, authorization: ["AlwaysAllow"] });
    const authorization = "Bearer eve-token";
    assert.equal((await create({ traceparent, authorization })).status, 201);
    await end();
    const root = collector.get(created);
    assert.notEqual(root.trace, traceId);
    assert.equal(root.parent, "");
    assert.deepEqual(root.links, [traceId]);
  });

  /**
   * Starts a server with an authorization webhook; returns the trace headers that the webhook
   * receives.
   */
  const startAsking = async (rate: number, group: string): Promise<readonly unknown[]> => {
    const heard: unknown[] = [];
    const webhook = createHttpServer((request, response) => {
      heard.push(request.headers["traceparent"]);
      request.resume();
      response.end(JSON.stringify({ status: { allowed: true } }));
    });
    afterwards.push(() => (webhook.closeAllConnections(), webhook.close()));
    const folder = mkdtempSync(path.join(tmpdir(), "keelson-tracing-"));
    afterwards.push(() => rmSync(folder, { recursive: true }));
    const kubeconfigFile = path.join(folder, "webhook.kubeconfig");
    const cluster = { server: `http://127.0.0.1:${await listening(webhook)}` };
    writeFileSync(kubeconfigFile, JSON.stringify({ clusters: [{ name: "a", cluster }] }));
    await start(rate, {
      tokens: `eve-token,eve,1,"${group}"`,
      authorization: ["Webhook"],
      authorizationWebhook: { kubeconfigFile },
    });
    return heard;
  };

  it("continues a trace in webhooks", async () => {
    const heard = await startAsking(1_000_000, "makers");
    assert.equal((await create({ authorization: "Bearer eve-token" })).status, 201);
    await end();
    const call = collector.get("webhook");
    assert.equal(call.parent, collector.get("authorize").id);
    assert.deepEqual(heard, [`00-${call.trace}-${call.id}-01`]);
  });

  it("propagates unsampled traces to webhooks", async () => {
    const heard = await startAsking(1_000_000, "system:monitoring");
    const unwanted = traceparent.replace(/01$/, "00");
    const authorization = "Bearer eve-token";
    assert.equal((await create({ authorization, traceparent: unwanted })).status, 201);
    await end();
    assert.match(String(heard), new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    assert.ok(collector.spans.every(({ name, trace }) => name !== created && trace !== traceId));
  });

  it("reports a collector that accepts no spans, and shuts down nevertheless", async () => {
    const told: string[] = [];
    endpoint = "127.0.0.1:1";
    const report = (what: string) => void told.push(what);
    await start(1_000_000, { report });
    assert.equal((await create()).status, 201);
    await end();
    assert.ok(told.includes("Failed to export spans"));
  });
});
