import { Readable } from "node:stream";
import type { Clock } from "#base";
import { ConnectionError, HttpClient, type HttpRequest, type HttpResponse } from "#client";
import type { Domain } from "#meta";
import type { User } from "#request";
import { type ApiServices, isAvailable } from "../api-services.ts";
import { BackendError, type BackendResponse, type BackendTransport } from "../contract.ts";

export interface BackendClientOptions {
  readonly apiServices: ApiServices;
  readonly transport: BackendTransport;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly user: User;
  readonly userAgent: string;
  /** Lifetime of the client: aborts calls in flight. */
  readonly signal: AbortSignal;
}

/** A client of the servers behind APIServices; the path of each call selects the server. */
export function backendClient(options: BackendClientOptions): HttpClient {
  return new HttpClient({ ...options, send: (request) => send(options, request) });
}

async function send(
  { apiServices, transport, user }: BackendClientOptions,
  { method, path, headers, body, signal }: HttpRequest,
): Promise<HttpResponse> {
  const apiService = apiServices.remoteFor(path);
  if (apiService === undefined) return errorResponse(404, "404 page not found");
  if (!isAvailable(apiService)) return errorResponse(503, "service unavailable");
  try {
    const request = { method, path, headers, body, user, signal };
    return httpResponse(await transport.send(apiService, request));
  } catch (error) {
    throw connectionError(error);
  }
}

function httpResponse({ status, headers, body }: BackendResponse): HttpResponse {
  return { status, header: (name) => String(headers[name] ?? ""), body: chunksOf(body) };
}

async function* chunksOf(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (error) {
    throw connectionError(error);
  }
}

function connectionError(error: unknown): unknown {
  return error instanceof BackendError ? new ConnectionError(error.message, false) : error;
}

/** An error response that this server generates. */
function errorResponse(status: number, text: string): HttpResponse {
  return { status, header: () => "", body: Readable.from([Buffer.from(text)]) };
}
