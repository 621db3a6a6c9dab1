/** A local conversion webhook with configurable behaviour. */
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority, issueCertificate } from "#pki";

type Objects = readonly any[];

/** Converts the objects, or returns another response. */
export type Behaviour = (objects: Objects, to: string, response: ServerResponse) => Objects | null;

export class ConversionWebhook {
  behaviour: Behaviour = renamed;
  /** UID of the response; absent for that of the request. */
  uid: string | undefined;
  /** The objects of each request. */
  readonly asked: number[] = [];
  /** Host name of the last call. */
  host = "";

  private constructor(
    private readonly server: Server,
    readonly port: number,
    readonly caBundle: string,
  ) {}

  get clientConfig(): object {
    return { url: `https://127.0.0.1:${this.port}/convert`, caBundle: this.caBundle };
  }

  static async start(): Promise<ConversionWebhook> {
    const validity = { validDays: 1, now: Date.now() };
    const authority = await createAuthority("webhooks", validity);
    const { certificate: cert, privateKey: key } = await issueCertificate(authority, {
      commonName: "webhook",
      hosts: ["localhost", "127.0.0.1", "hook.default.svc"],
      usage: "server",
      ...validity,
    });
    const late: { webhook?: ConversionWebhook } = {};
    const server = createServer({ cert, key }, (request, response) => {
      const chunks: Uint8Array[] = [];
      request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      request.on("end", () => {
        if (late.webhook === undefined) return;
        late.webhook.host = request.headers.host ?? "";
        late.webhook.answer(Buffer.concat(chunks).toString(), response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
    const { port } = server.address() as AddressInfo;
    const caBundle = Buffer.from(authority.certificate).toString("base64");
    late.webhook = new ConversionWebhook(server, port, caBundle);
    return late.webhook;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private answer(body: string, response: ServerResponse): void {
    const review = JSON.parse(body) as any;
    const { uid, desiredAPIVersion, objects } = review.request;
    this.asked.push(objects.length);
    const convertedObjects = this.behaviour(objects, desiredAPIVersion, response);
    if (convertedObjects === null) return;
    const { kind, apiVersion } = review;
    const result = { status: "Success" };
    const answered = { uid: this.uid ?? uid, result, convertedObjects };
    response.end(JSON.stringify({ kind, apiVersion, response: answered }));
  }
}

/** Converts between `spec.size` of v1 and `spec.length` of v2. */
export function renamed(objects: Objects, to: string): Objects {
  return objects.map(({ spec, ...rest }) => {
    const { size, length, ...others } = spec ?? {};
    const value = size ?? length;
    const named = to.endsWith("/v2") ? { length: value } : { size: value };
    return { ...rest, apiVersion: to, spec: { ...others, ...(value === undefined ? {} : named) } };
  });
}
