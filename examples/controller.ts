/** A controller: it keeps a ConfigMap `summary` that counts the user's ConfigMaps of a namespace. */

/** Any client that speaks HTTP to the API: the global `fetch` with a base URL, or a server's own. */
export type Fetch = (path: string, init?: RequestInit) => Promise<Response>;

/** Published into every namespace by another controller. */
const rootCa = "kube-root-ca.crt";
const applyPatch = { "content-type": "application/apply-patch+yaml" };

/** Runs until the signal aborts: lists, reconciles, then reconciles after every event of a watch. */
export async function runSummaryController(
  fetch: Fetch,
  namespace: string,
  signal: AbortSignal,
): Promise<void> {
  const collection = `/api/v1/namespaces/${namespace}/configmaps`;
  while (!signal.aborted) {
    const { items, metadata } = await json(await fetch(collection));
    const names = new Set<string>(items.map((item: Named) => item.metadata.name));
    await reconcile(fetch, collection, names);
    const from = `watch=1&resourceVersion=${metadata.resourceVersion}`;
    try {
      for await (const event of events(await fetch(`${collection}?${from}`, { signal }))) {
        if (event.type === "ERROR") break;
        const { name } = event.object.metadata;
        if (event.type === "DELETED") names.delete(name);
        else names.add(name);
        await reconcile(fetch, collection, names);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

interface Named {
  readonly metadata: { readonly name: string };
}

interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: Named;
}

/** Server-side apply is idempotent: an unchanged summary writes nothing and causes no event. */
async function reconcile(
  fetch: Fetch,
  collection: string,
  names: ReadonlySet<string>,
): Promise<void> {
  const others = [...names].filter((name) => name !== "summary" && name !== rootCa);
  const summary = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "summary" },
    data: { count: `${others.length}` },
  };
  await json(
    await fetch(`${collection}/summary?fieldManager=summary-controller&force=true`, {
      method: "PATCH",
      headers: applyPatch,
      body: JSON.stringify(summary),
    }),
  );
}

async function json(response: Response): Promise<any> {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response.json();
}

/** The events of a watch: one JSON document per line. */
async function* events(response: Response): AsyncGenerator<WatchEvent> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line);
  }
}
