import { printJson } from "#base";
import { escapeHtml, formatMicros, goQuote, type Status } from "#meta";
import type { RequestInfo, User } from "#request";
import type { Level, Stage } from "./policy-file.ts";

/** An audit event: one stage of a request. */
export interface AuditEvent {
  readonly level: Level;
  readonly stage: Stage;
  readonly id: string;
  readonly url: string;
  readonly info: RequestInfo;
  /** Undefined = authentication failed. */
  readonly user: User | undefined;
  readonly actingAs: User | undefined;
  readonly sourceAddresses: readonly string[];
  readonly userAgent: string;
  /** Fields of objectRef from the object, for those that the path does not have; "" = unknown. */
  readonly object: ObjectNames;
  readonly response: EventResponse | undefined;
  /** Request body as JSON text. */
  readonly requestObject: string | undefined;
  readonly responseObject: string | undefined;
  /** Time at which the request was received, in microseconds since 1970. */
  readonly received: number;
  /** Time at which the stage was reached, in microseconds since 1970. */
  readonly reached: number;
  readonly annotations: ReadonlyMap<string, string>;
}

export interface ObjectNames {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** responseStatus; only `code` unless the response is a Status. */
export type EventResponse =
  | { readonly [K in "status" | "message" | "reason" | "details" | "code"]: Status[K] | undefined }
  | {
      readonly code: number;
    };

/** Annotation of truncated events; resolved by `resolve`. */
export const truncatedKey = "audit.{api}/truncated";

/** Encodes an event as one line of JSON; items of an EventList omit apiVersion and kind. */
export function eventJson(event: AuditEvent, apiVersion: string | undefined): string {
  const typeMeta = apiVersion === undefined ? {} : { kind: "Event", apiVersion };
  const { requestObject, responseObject } = event;
  const head = printJson({
    ...typeMeta,
    level: event.level,
    auditID: event.id,
    stage: event.stage,
    requestURI: event.url,
    verb: event.info.verb,
    user: userInfo(event.user),
    ...(event.actingAs === undefined ? {} : { impersonatedUser: userInfo(event.actingAs) }),
    ...(event.sourceAddresses.length === 0 ? {} : { sourceIPs: event.sourceAddresses }),
    userAgent: event.userAgent || undefined,
    objectRef: reference(event),
    ...(event.response === undefined
      ? {}
      : { responseStatus: { metadata: {}, ...event.response } }),
  });
  const times = {
    requestReceivedTimestamp: timestamp(event.received),
    stageTimestamp: timestamp(event.reached),
  };
  const tail = printJson({ ...times, annotations: sorted(event.annotations) });
  const bodies = [
    ...(requestObject === undefined ? [] : [`"requestObject":${requestObject}`]),
    ...(responseObject === undefined ? [] : [`"responseObject":${responseObject}`]),
  ];
  return escapeHtml([head.slice(0, -1), ...bodies, tail.slice(1)].join(","));
}

function userInfo(user: User | undefined): object {
  if (user === undefined) return {};
  const { name, uid, groups, extra } = user;
  return {
    username: name || undefined,
    uid: uid || undefined,
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra.size === 0 ? {} : { extra: sorted(extra) }),
  };
}

function reference({ info, object }: AuditEvent): object | undefined {
  if (!info.isResource) return undefined;
  return {
    resource: info.resource || undefined,
    namespace: info.namespace || object.namespace || undefined,
    name: info.name || object.name || undefined,
    uid: object.uid || undefined,
    apiGroup: info.group || undefined,
    apiVersion: info.version || undefined,
    resourceVersion: object.resourceVersion || undefined,
    subresource: info.subresource || undefined,
  };
}

/** Object with sorted keys, as in Go's maps; undefined = empty. */
function sorted(entries: ReadonlyMap<string, unknown>): object | undefined {
  if (entries.size === 0) return undefined;
  const object: Record<string, unknown> = Object.create(null);
  for (const key of [...entries.keys()].sort()) object[key] = entries.get(key);
  return object;
}

function timestamp(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  return formatMicros({ seconds, nanos: (micros - seconds * 1_000_000) * 1000 });
}

/** Formats an event as legacy text (`--audit-log-format=legacy`): one line of `name="value"`. */
export function eventLine(event: AuditEvent): string {
  const { user, actingAs, info, object } = event;
  const quotedList = (list: readonly string[]) => list.map(goQuote).join(",");
  const hasUser = user !== undefined && user.name !== "";
  const parts: readonly (readonly [string, string])[] = [
    ["id", event.id],
    ["stage", event.stage],
    ["ip", event.sourceAddresses[0] ?? "<unknown>"],
    ["method", info.verb],
    ["user", hasUser ? user.name : "<none>"],
    ["groups", hasUser && user.groups.length > 0 ? quotedList(user.groups) : "<none>"],
    ["as", actingAs?.name ?? "<self>"],
    ["asgroups", actingAs === undefined ? "<lookup>" : quotedList(actingAs.groups)],
    ["user-agent", event.userAgent],
    ["namespace", (info.isResource && (info.namespace || object.namespace)) || "<none>"],
    ["uri", event.url],
  ];
  const fields = parts.map(([name, value]) => `${name}=${goQuote(value)}`);
  const response = event.response?.code ?? "<deferred>";
  const time = timestamp(event.received).replace(/\.?0*Z$/, "Z");
  return `${time} AUDIT: ${fields.join(" ")} response="${response}"`;
}
