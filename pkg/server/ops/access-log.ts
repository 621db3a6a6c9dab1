/** The access log: one line per finished request. */
import type { LogFields } from "#base";
import type { ClassifiedRequest } from "#flowcontrol";
import { formatDuration } from "#meta";
import type { Exchange } from "../transport/exchange.ts";
import type { RequestRecord } from "../metrics/requests.ts";

/** Log verbosity of the access log, as in kube-apiserver. */
export const accessLevel = 3;

interface FinishedRequest {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
  readonly milliseconds: number;
}

const verbs: ReadonlyMap<string, string> = new Map([
  ["create", "POST"],
  ["update", "PUT"],
]);

export function accessFields({ exchange, record, milliseconds }: FinishedRequest): LogFields {
  return {
    verb: verbs.get(record.verb) ?? (record.verb || exchange.method).toUpperCase(),
    URI: redactSecrets(exchange.url),
    latency: `${milliseconds.toFixed(3)}ms`,
    userAgent: exchange.header("user-agent") ?? "",
    "audit-ID": exchange.auditId,
    srcIP: exchange.remoteAddress ?? "",
    resp: record.code,
    ...(record.flow === undefined ? {} : flowFields(record.flow, record)),
  };
}

const maxFlowNameLength = 64;

/** The classification by API Priority and Fairness, with the field names of kube-apiserver. */
function flowFields(flow: ClassifiedRequest, { verb, seatedMs }: RequestRecord): LogFields {
  const { initialSeats, finalSeats, additionalLatency } = flow.estimate;
  return {
    apf_pl: flow.priorityLevel.slice(0, maxFlowNameLength),
    apf_fs: flow.flowSchema.slice(0, maxFlowNameLength),
    apf_iseats: initialSeats,
    apf_fseats: finalSeats,
    apf_additionalLatency: formatDuration(BigInt(Math.round(additionalLatency * 1e6))),
    [verb === "watch" ? "apf_init_latency" : "apf_execution_time"]: `${seatedMs.toFixed(3)}ms`,
  };
}

const secretParameter =
  /([?&][^=&]*(?:token|secret|passw|auth|credential|api_?key|signature)[^=&]*=)[^&]*/gi;

/** Redacts query parameters that may be credentials, for example of proxied requests. */
function redactSecrets(url: string): string {
  return url.replace(secretParameter, "$1CLASSIFIED");
}
