import type { KeelsonServer } from "#server";

/** Sends a request to a server in this process, with the signature of the global `fetch`. */
export async function fetchInProcess(
  server: KeelsonServer,
  path: string,
  init: RequestInit & { readonly token: string },
): Promise<Response> {
  // The path is passed beside the Request: URL would normalize or refuse it.
  const request = new Request("http://keelson.invalid/", init);
  const headers: Record<string, string> = Object.fromEntries(request.headers);
  headers["authorization"] ??= `Bearer ${init.token}`;
  const body = new Uint8Array(await request.arrayBuffer());
  const answer = await server.handle({
    method: request.method,
    url: path,
    headers,
    signal: request.signal,
    ...(body.length > 0 ? { body } : {}),
  });
  const fields = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" ? [[name, value]] : value.map((one) => [name, one]),
  );
  const empty = [101, 204, 205, 304].includes(answer.status) || request.method === "HEAD";
  return new Response(empty ? null : ReadableStream.from(answer.body), {
    status: answer.status,
    headers: fields,
  });
}
