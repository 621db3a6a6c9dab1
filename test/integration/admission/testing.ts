/** Helpers of admission tests: requests to the server, and webhooks that it calls. */
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority, issueCertificate, type KeyPair } from "#pki";
import { type RunningServer, startServer, type StartOptions } from "../../../cmd/keelson/index.ts";

export interface Answer {
  readonly status: number;
  readonly body: any;
  /** Texts of the Warning headers. */
  readonly warnings: string;
}

/** Sends a request as the administrator, or with a token. */
export async function send(
  server: RunningServer,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const answer = await server.fetch(path, {
    method,
    headers: { "content-type": type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const warnings = answer.headers.get("warning") ?? "";
  return { status: answer.status, body: await answer.json(), warnings };
}

/** Repeats a request until a new configuration, which the server receives by a watch, is in effect. */
export async function eventually<T>(ask: () => Promise<T>, holds: (value: T) => boolean) {
  for (let attempt = 0; ; attempt++) {
    const value = await ask();
    if (holds(value) || attempt === 200) return value;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const configMaps = "/api/v1/namespaces/default/configmaps";

export function configMap(name: string, more: object = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, ...more };
}

export function startForTests(options: StartOptions = {}): Promise<RunningServer> {
  return startServer({ controllers: false, ...options });
}

type Respond = (review: any, path: string) => unknown;

/** A webhook server that responds by path with an AdmissionReview of the given response. */
export class TestWebhook {
  readonly seen: any[] = [];
  #server: Server | undefined;
  #authority: KeyPair | undefined;
  #respond: Respond = () => ({ allowed: true });

  async start(): Promise<void> {
    const validity = { validDays: 1, now: Date.now() };
    this.#authority = await createAuthority("webhooks", validity);
    const names = { commonName: "webhook", hosts: ["127.0.0.1", "hook.default.svc"] };
    const leaf = await issueCertificate(this.#authority, {
      ...names,
      ...validity,
      usage: "server",
    });
    const tls = { cert: leaf.certificate, key: leaf.privateKey };
    this.#server = createServer(tls, (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const review = JSON.parse(Buffer.concat(chunks).toString("utf8"));
        this.seen.push(review);
        const path = (request.url ?? "").replace(/\?.*/, "");
        const answered = this.#respond(review, path);
        if (answered === undefined) return;
        if (typeof answered === "string") return void response.end(answered);
        const { apiVersion, request: asked } = review;
        const told = { uid: asked.uid, ...(answered as object) };
        response.end(JSON.stringify({ kind: "AdmissionReview", apiVersion, response: told }));
      });
    });
    await new Promise<void>((resolve) => this.#server?.listen(0, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server?.address() as AddressInfo | undefined)?.port ?? 0;
  }

  /** The clientConfig for a path. */
  at(path: string) {
    return { url: `https://127.0.0.1:${this.port}${path}`, caBundle: this.caBundle };
  }

  get caBundle(): string {
    return Buffer.from(this.#authority?.certificate ?? "").toString("base64");
  }

  /** Sets the response; undefined to never respond, a string to send it unchanged. */
  answers(respond: Respond): void {
    this.seen.length = 0;
    this.#respond = respond;
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}

export function patchOf(...operations: readonly object[]) {
  const patch = Buffer.from(JSON.stringify(operations)).toString("base64");
  return { allowed: true, patchType: "JSONPatch", patch };
}
