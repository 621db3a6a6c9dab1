import type { RoundTrip } from "#client";
import type { KeelsonServer } from "#server";

/** Carries requests to a server in this process, through its authentication and authorization. */
export function inProcessTransport(
  server: KeelsonServer,
  credentials: Readonly<Record<string, string>>,
): RoundTrip {
  return async ({ method, path: url, headers, body, signal }) => {
    const request = { method, url, headers: { ...headers, ...credentials }, signal };
    const {
      status,
      headers: fields,
      body: answer,
    } = await server.handle(body === undefined ? request : { ...request, body });
    const header = (name: string) => [fields[name] ?? ""].flat().join(", ");
    return { status, header, body: answer };
  };
}
