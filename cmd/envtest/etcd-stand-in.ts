import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { UsageError } from "../flags/parse.ts";
import { type EnvtestStore, storePath } from "./store.ts";

export interface EtcdStandIn {
  /** URLs that the stand-in listens on. */
  readonly urls: readonly string[];
  close(): Promise<void>;
}

/**
 * Listens on etcd's client URLs and responds to the request that envtest sends, `/health`. The API
 * server of the same environment reads the location of its store from it. Other requests get 501
 * with the reason.
 * @throws UsageError for URLs other than http://host:port
 */
export async function startEtcdStandIn(
  urls: readonly string[],
  store: EnvtestStore,
): Promise<EtcdStandIn> {
  const addresses = urls.map(addressOf);
  const servers: Server[] = [];
  const close = async () => void (await Promise.all(servers.map(closeServer)));
  try {
    for (const { host, port } of addresses) {
      const server = createServer(respondWith(store));
      server.listen({ host, port });
      await once(server, "listening");
      servers.push(server);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { urls: servers.map(urlOf), close };
}

/** etcd's probe endpoints, and that of `askStore`. */
function respondWith(store: EnvtestStore): RequestListener {
  const documents: ReadonlyMap<string, unknown> = new Map<string, unknown>([
    ["/health", { health: "true", reason: "" }],
    [storePath, store],
  ]);
  return (request, response) => {
    const document = documents.get((request.url ?? "").replace(/\?.*$/s, ""));
    request.resume();
    if (document !== undefined) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(document));
      return;
    }
    response.writeHead(501, { "content-type": "text/plain" });
    response.end("This is Keelson's stand-in for etcd; KEELSON_ENVTEST_STORE=etcd runs etcd.\n");
  };
}

function addressOf(text: string): { readonly host: string; readonly port: number } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" || url.hostname === "") {
    throw new UsageError(
      `--listen-client-urls: ${JSON.stringify(text)} must be a URL such as ` +
        "http://127.0.0.1:2379; for others run etcd with KEELSON_ENVTEST_STORE=etcd",
    );
  }
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 80) };
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on TCP");
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
