/** Discovery of the store through the stand-in for etcd in the same environment. */
import { parseJsonText } from "#base";
import { UsageError } from "../flags/parse.ts";

/** Store of the API server's objects. */
export type EnvtestStore =
  | { readonly kind: "memory" }
  | { readonly kind: "embedded"; readonly directory: string };

/** Path at which the stand-in serves the store's location. */
export const storePath = "/keelson/store";

/**
 * The store that KEELSON_ENVTEST_STORE selects.
 * @throws UsageError
 */
export function selectedStore(name: string | undefined, dataDirectory: string): EnvtestStore {
  if (name === undefined || name === "" || name === "memory") return { kind: "memory" };
  if (name === "embedded") return { kind: "embedded", directory: dataDirectory };
  throw new UsageError(
    `KEELSON_ENVTEST_STORE: ${JSON.stringify(name)} must be one of memory, embedded, etcd`,
  );
}

const askMs = 2_000;
/** Size limit of the response in bytes; etcd itself responds 404 with a short body. */
const maxBytes = 10_000;

/** The store that the stand-in at `endpoint` serves; undefined if `endpoint` is not a stand-in. */
export async function askStore(endpoint: string): Promise<EnvtestStore | undefined> {
  if (!endpoint.startsWith("http://") || !URL.canParse(endpoint)) return undefined;
  const signal = AbortSignal.timeout(askMs);
  try {
    const response = await fetch(new URL(storePath, endpoint), { signal, redirect: "error" });
    const length = Number(response.headers.get("content-length") ?? 0);
    if (response.status !== 200 || length > maxBytes) {
      await response.body?.cancel();
      return undefined;
    }
    return storeOf(await response.text());
  } catch {
    // Not a stand-in. The API server itself waits for an etcd that is still starting and reports
    // its errors.
    return undefined;
  }
}

function storeOf(text: string): EnvtestStore | undefined {
  const document = parseJsonText(text) as { readonly kind?: unknown; readonly directory?: unknown };
  const { kind, directory } = document;
  if (kind === "memory") return { kind };
  if (kind === "embedded" && typeof directory === "string") return { kind, directory };
  return undefined;
}
