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
  // The signal of a Request follows that of the caller only until the Request is garbage-collected.
  const signal = init.signal ?? undefined;
  signal?.throwIfAborted();
  const answer = await server.handle({
    method: request.method,
    url: path,
    headers,
    ...(signal === undefined ? {} : { signal }),
    ...(body.length > 0 ? { body } : {}),
  });
  const fields = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" ? [[name, value]] : value.map((one) => [name, one]),
  );
  const empty = [101, 204, 205, 304].includes(answer.status) || request.method === "HEAD";
  return new Response(empty ? null : ReadableStream.from(untilAborted(answer.body, signal)), {
    status: answer.status,
    headers: fields,
  });
}

/** Fails with the reason of the signal where the body ends for it, as bodies of `fetch` do. */
async function* untilAborted(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  yield* body;
  signal?.throwIfAborted();
}
