import { type Clock, isJsonObject, type JsonObject } from "#base";
import { type Domain, formatDuration, printJson, resolve, type Status } from "#meta";
import {
  AuditFault,
  type AuditedResponse,
  type AuditedRequest,
  type AuditTrail,
  type SentBody,
  type User,
} from "#request";
import { parseJson } from "#schema";
import type { Backend } from "./backend.ts";
import { type AuditEvent, type EventResponse, truncatedKey } from "./event.ts";
import { isAtLeast, type AuditDecision } from "./policy.ts";
import type { Stage } from "./policy-file.ts";

export interface RequestAuditParts {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly domain: Domain;
  /** Called for each event. */
  readonly onEvent: () => void;
  /** Called for a request that is rejected because its event could not be written. */
  readonly onRejection: () => void;
}

const maxUserAgentLength = 1024;
/** Latency in microseconds above which events have latency annotations. */
const slowThresholdMicros = 500_000;
const noAnnotations: ReadonlyMap<string, string> = new Map();

/** Initial event of a request. */
function initialEvent(
  request: AuditedRequest,
  { level }: AuditDecision,
  received: number,
): AuditEvent {
  const { id, url, info, user, userAgent, sourceAddresses } = request;
  const isTooLong = userAgent.length > maxUserAgentLength;
  return {
    level,
    stage: "RequestReceived",
    id,
    url: withoutTokens(url),
    info,
    user,
    actingAs: undefined,
    sourceAddresses,
    userAgent: isTooLong ? `${userAgent.slice(0, maxUserAgentLength)}...TRUNCATED` : userAgent,
    object: { namespace: "", name: "", uid: "", resourceVersion: "" },
    response: undefined,
    requestObject: undefined,
    responseObject: undefined,
    received,
    reached: received,
    annotations: noAnnotations,
  };
}

/** Audit trail of one request. */
export class RequestAudit implements AuditTrail {
  readonly includesResponse: boolean;
  private event: AuditEvent;
  private readonly annotations = new Map<string, string>();
  /** Pending writes of ResponseStarted events, for which the response does not wait. */
  private pending: Promise<void> | undefined;
  private isLongRunning = false;
  private queuedMs = 0;

  constructor(
    request: AuditedRequest,
    private readonly decision: AuditDecision,
    private readonly parts: RequestAuditParts,
  ) {
    this.includesResponse = isAtLeast(decision.level, "RequestResponse");
    this.event = initialEvent(request, decision, parts.clock.nowMicros());
    for (const [key, value] of request.user?.remarks ?? noAnnotations) this.annotate(key, value);
  }

  annotate(key: string, value: string): void {
    if (!this.annotations.has(key)) this.annotations.set(key, value);
  }

  annotateContent(key: string, value: () => string): void {
    if (isAtLeast(this.decision.level, "Request")) this.annotate(key, value());
  }

  actsAs(user: User): void {
    this.event = { ...this.event, actingAs: user };
  }

  sent({ metadata = {}, json }: SentBody): void {
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
    const object = { namespace, name, uid, resourceVersion };
    const recordsBody = isAtLeast(this.decision.level, "Request");
    const body = recordsBody ? json() : undefined;
    const requestObject = body === undefined ? undefined : this.bodyJson(body);
    this.event = { ...this.event, object, requestObject };
  }

  responseStatus({ status, message, reason, details, code }: Status): void {
    this.event = { ...this.event, response: { status, message, reason, details, code } };
  }

  received(): Promise<void> | undefined {
    return this.write("RequestReceived")?.catch(() => {
      this.parts.onRejection();
      throw new AuditFault("failed to store audit event");
    });
  }

  queued(milliseconds: number): void {
    this.queuedMs = milliseconds;
  }

  started(code: number): void {
    this.isLongRunning = true;
    this.setCode(code);
    this.pending = this.write("ResponseStarted")?.catch(ignoreLostEvent);
  }

  async completed({ code, status, body, cut = false }: AuditedResponse): Promise<void> {
    await this.pending;
    if (status !== undefined) this.responseStatus(status);
    if (code !== undefined) this.setCode(code);
    else if (this.event.response === undefined) this.setResponse(closedEarly);
    if (this.includesResponse && body !== undefined) {
      this.event = { ...this.event, responseObject: this.bodyJson(body) };
    }
    if (cut) this.annotate(resolve(truncatedKey, this.parts.domain), "true");
    this.annotateLatency();
    await this.write("ResponseComplete")?.catch(ignoreLostEvent);
  }

  async panicked(message: string): Promise<void> {
    await this.pending;
    const failure = { status: "Failure", reason: "InternalError", code: 500 } as const;
    this.setResponse({ ...failure, message: `APIServer panic'd: ${message}` });
    await this.write("Panic")?.catch(ignoreLostEvent);
  }

  private setCode(code: number): void {
    this.setResponse({ ...this.event.response, code });
  }

  private setResponse(response: EventResponse): void {
    this.event = { ...this.event, response };
  }

  /** Annotates a slow request with its latency. */
  private annotateLatency(): void {
    const micros = this.parts.clock.nowMicros() - this.event.received;
    if (this.isLongRunning || micros <= slowThresholdMicros) return;
    const key = resolve("apiserver.latency.{api}/total", this.parts.domain);
    this.annotate(key, formatDuration(BigInt(Math.round(micros)) * 1000n));
    if (this.queuedMs === 0) return;
    const queueKey = resolve("apiserver.latency.{api}/apf-queue-wait", this.parts.domain);
    this.annotate(queueKey, formatDuration(BigInt(Math.round(this.queuedMs * 1e6))));
  }

  private bodyJson(json: string): string {
    return this.decision.omitsManagedFields ? withoutManagedFields(json) : json;
  }

  private write(stage: Stage): Promise<void> | undefined {
    if (this.decision.omittedStages.has(stage)) return undefined;
    const { clock, backend, onEvent } = this.parts;
    const reached = stage === "RequestReceived" ? this.event.received : clock.nowMicros();
    const annotations = this.annotations.size === 0 ? noAnnotations : new Map(this.annotations);
    onEvent();
    return backend.write([{ ...this.event, stage, reached, annotations }]);
  }
}

const closedEarly: EventResponse = {
  status: "Success",
  message: "Connection closed early",
  code: 200,
};

/** Ignores a lost event: it has been counted, and the response is already being sent. */
function ignoreLostEvent(): void {}

/** Query parameters with credentials, which are redacted. */
const secretParameter = /([?&](?:access_token|id_token|token)=)[^&]*/gi;

function withoutTokens(url: string): string {
  return url.replace(secretParameter, "$1REDACTED");
}

/** Removes managedFields from an object, a list's items and a table's objects. */
function withoutManagedFields(json: string): string {
  if (!json.includes('"managedFields"')) return json;
  const { value } = parseJson(json);
  for (const object of objectsIn(value)) {
    const { metadata } = object;
    if (isJsonObject(metadata)) delete metadata["managedFields"];
  }
  return printJson(value);
}

function objectsIn(value: unknown): readonly JsonObject[] {
  if (!isJsonObject(value)) return [];
  const { items, rows } = value;
  const listItems = Array.isArray(items) ? items : [];
  const rowObjects = Array.isArray(rows)
    ? rows.map((row: unknown) => (isJsonObject(row) ? row["object"] : undefined))
    : [];
  return [value, ...listItems, ...rowObjects].filter(isJsonObject);
}
