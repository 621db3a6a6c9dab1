import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Clock } from "#base";
import type { Client } from "#client";
import { configMaps, type Pod } from "#kinds";
import { isNotFound } from "#meta";
import { annotationOf } from "../annotations.ts";
import { type LogPart, withinLimit } from "./container-logs.ts";

/** Interval in ms at which a followed log is looked at. */
const followMs = 1_000;

interface Following {
  readonly clock: Clock;
  readonly query: URLSearchParams;
  /** What has been added; undefined = the container is gone. */
  readonly next: (last: LogPart) => LogPart | undefined;
}

/** Sends a log and what is added to it, until the container ends, the limit is reached or the client goes. */
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
      await clock.sleep(followMs, life.signal, { background: true });
    }
    response.end();
  } catch (error) {
    if (!life.signal.aborted) throw error;
  }
}

/** The text of the ConfigMap that the annotation `log-config-map` names: `name` or `name/key`. */
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
