/** One log line per finished request. */
import type { LogFields } from "#base";
import type { ClassifiedRequest } from "#flowcontrol";
import { formatDuration } from "#meta";
import type { Exchange } from "../transport/exchange.ts";
import type { RequestRecord } from "../metrics/requests.ts";

/** The detail of the log from which on there are such lines, as in kube-apiserver. */
export const accessLevel = 3;

interface Finished {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
  readonly milliseconds: number;
}

const verbs: ReadonlyMap<string, string> = new Map([
  ["create", "POST"],
  ["update", "PUT"],
]);

export function accessFields({ exchange, record, milliseconds }: Finished): LogFields {
  return {
    verb: verbs.get(record.verb) ?? (record.verb || exchange.method).toUpperCase(),
    URI: withoutSecrets(exchange.url),
    latency: `${milliseconds.toFixed(3)}ms`,
    userAgent: exchange.header("user-agent") ?? "",
    "audit-ID": exchange.auditId,
    srcIP: exchange.remoteAddress ?? "",
    resp: record.code,
    ...(record.flow === undefined ? {} : flowFields(record.flow, record)),
  };
}

const longestFlowName = 64;

/** What API Priority and Fairness decided, under kube-apiserver's names. */
function flowFields(flow: ClassifiedRequest, { verb, seatedMs }: RequestRecord): LogFields {
  const { initialSeats, finalSeats, additionalLatency } = flow.estimate;
  return {
    apf_pl: flow.priorityLevel.slice(0, longestFlowName),
    apf_fs: flow.flowSchema.slice(0, longestFlowName),
    apf_iseats: initialSeats,
    apf_fseats: finalSeats,
    apf_additionalLatency: formatDuration(BigInt(Math.round(additionalLatency * 1e6))),
    [verb === "watch" ? "apf_init_latency" : "apf_execution_time"]: `${seatedMs.toFixed(3)}ms`,
  };
}

const secretParameter =
  /([?&][^=&]*(?:token|secret|passw|auth|credential|api_?key|signature)[^=&]*=)[^&]*/gi;

/** Servers behind a proxy may be sent what proves who asks. */
function withoutSecrets(url: string): string {
  return url.replace(secretParameter, "$1CLASSIFIED");
}
