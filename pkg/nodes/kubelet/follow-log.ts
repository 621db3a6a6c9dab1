import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Clock } from "#base";
import type { Client } from "#client";
import { configMaps, type Pod } from "#kinds";
import { isNotFound } from "#meta";
import { annotationOf } from "../annotations.ts";
import { type LogPart, withinLimit } from "./container-logs.ts";

/** Poll interval in ms of a followed log. */
const pollMs = 1_000;

interface Following {
  readonly clock: Clock;
  readonly query: URLSearchParams;
  /** Lines added since `last`; undefined = the container no longer exists. */
  readonly next: (last: LogPart) => LogPart | undefined;
}

/** Sends a log and its additions until the container exits, the limit is reached or the client leaves. */
export async function followLog(
  response: ServerResponse,
  first: LogPart,
  { clock, query, next }: Following,
): Promise<void> {
  const life = new AbortController();
  response.once("close", () => life.abort());
  response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
  response.flushHeaders();
  let written = 0;
  try {
    for (let part: LogPart | undefined = first; part !== undefined; part = next(part)) {
      const text = withinLimit(part.text, query, written);
      written += text.length;
      if (text.length > 0 && !response.write(text)) {
        await once(response, "drain", { signal: life.signal });
      }
      if (!part.isRunning || text.length < part.text.length) break;
      await clock.sleep(pollMs, life.signal, { background: true });
    }
    response.end();
  } catch (error) {
    if (!life.signal.aborted) throw error;
  }
}

/** Text from the ConfigMap in the annotation `log-config-map`: `name` or `name/key`. */
export async function configuredLog(pod: Pod, client: Client): Promise<string | undefined> {
  const [name = "", key = "log"] = (annotationOf(pod, "log-config-map") ?? "").split("/");
  if (name === "") return undefined;
  const { namespace = "" } = pod.metadata;
  try {
    const { data } = await client.get(configMaps, { namespace, name });
    return data?.[key] ?? `simulated: the ConfigMap ${name} has no key ${key}`;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return `simulated: there is no ConfigMap ${name}`;
  }
}
