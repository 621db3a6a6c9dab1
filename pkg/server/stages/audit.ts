import { formatIp, parseIp, printJson } from "#base";
import { type Catalog, goQuote, resolve, StatusError } from "#meta";
import {
  AuditFault,
  type Auditor,
  type AuditTrail,
  type Decision,
  type Query,
  type RequestInfo,
  type User,
} from "#request";
import { sendText } from "../response/response-writer.ts";
import { ResponseRecorder, RecordingBudget } from "./response-recorder.ts";
import type { Stage } from "./middleware-chain.ts";
import { ClientGone, type Exchange } from "../transport/exchange.ts";
import type { Audited } from "./state.ts";
import type { RequestRecord } from "../metrics/requests.ts";

interface Auditable {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
  readonly info: RequestInfo;
  readonly query: Query;
}

interface AuditParts {
  readonly auditor?: Auditor | undefined;
  readonly catalog: Catalog;
}

const unaudited: Audited = { trail: undefined };

/** Begins and completes the audit event of a request, after authentication. */
export function audit(parts: AuditParts): Stage<Auditable & { readonly user: User }, Audited> {
  const { auditor } = parts;
  if (auditor === undefined) return { name: "audit", run: (_, next) => next(unaudited) };
  const memory = new RecordingBudget();
  return {
    name: "audit",
    run: async ({ state: context }, next) => {
      const trail = begin(auditor, context, context.user);
      if (trail === undefined) return next(unaudited);
      if (!(await recordReceived(trail, context))) return;
      const { exchange, record, info } = context;
      const isLong = record.longRunning;
      const keepsBody = trail.includesResponse && isApiPath(info);
      const recorder = new ResponseRecorder({ trail, isLong, keepsBody, memory });
      exchange.response.observer = recorder;
      try {
        await next({ trail });
        await complete(parts, context, { trail, recorder });
      } catch (error) {
        await fail(trail, context, error);
        throw error;
      } finally {
        exchange.response.observer = undefined;
        recorder.release();
      }
    },
  };
}

/** Audits a request that failed authentication; returns its error. */
export function auditRefusal(
  { auditor }: AuditParts,
  context: Auditable,
  refusal: StatusError,
): StatusError {
  const trail = auditor && begin(auditor, context, undefined);
  trail?.responseStatus(refusal.status);
  trail?.started(refusal.code);
  return refusal;
}

/** Records the authorizer's decision and its reason. */
export function noteDecision(
  trail: AuditTrail | undefined,
  { verdict, reason }: Decision,
  { domain }: Catalog,
): void {
  if (trail === undefined) return;
  const decision = verdict === "allow" ? "allow" : "forbid";
  trail.annotate(resolve("authorization.{api}/decision", domain), decision);
  trail.annotate(resolve("authorization.{api}/reason", domain), reason);
}

function begin(
  auditor: Auditor,
  { exchange, info }: Auditable,
  user: User | undefined,
): AuditTrail | undefined {
  const userAgent = exchange.header("user-agent") ?? "";
  const sourceAddresses = sourceAddressesOf(exchange);
  return auditor.begin({
    id: exchange.auditId,
    url: exchange.url,
    info,
    user,
    userAgent,
    sourceAddresses,
  });
}

/** Stage RequestReceived. Responds 500 and returns false if the event cannot be written. */
async function recordReceived(
  trail: AuditTrail,
  { exchange, info, record }: Auditable,
): Promise<boolean> {
  try {
    await trail.received();
    return true;
  } catch (error) {
    if (!(error instanceof AuditFault)) throw error;
    record.code = 500;
    const message = `${goQuote(info.path)}: ${error.message}`;
    sendText(exchange, 500, `Internal Server Error: ${message}\n`);
    return false;
  }
}

async function complete(
  { catalog }: AuditParts,
  { exchange, info, record }: Auditable,
  { trail, recorder }: { readonly trail: AuditTrail; readonly recorder: ResponseRecorder },
): Promise<void> {
  noteDeprecation(trail, catalog, record);
  const resource = catalog.find(info.group, info.version, info.resource);
  const body = await recorder.json(catalog.domain, resource);
  await trail.completed({ code: exchange.response.status, body, cut: recorder.cut });
}

async function fail(
  trail: AuditTrail,
  { exchange, record }: Auditable,
  error: unknown,
): Promise<void> {
  const code = exchange.response.status;
  if (error instanceof ClientGone || exchange.reason instanceof ClientGone) {
    return trail.completed({ code });
  }
  if (!(error instanceof StatusError)) {
    return trail.panicked(error instanceof Error ? error.message : String(error));
  }
  const { status } = error;
  trail.responseStatus(status);
  if (record.longRunning && code === undefined) trail.started(error.code);
  await trail.completed({ code: code ?? error.code, status, body: printJson(status) });
}

function noteDeprecation(
  trail: AuditTrail,
  { domain }: Catalog,
  { removedRelease }: RequestRecord,
): void {
  if (removedRelease === undefined) return;
  trail.annotate(resolve("{api}/deprecated", domain), "true");
  if (removedRelease === "") return;
  trail.annotate(resolve("{api}/removed-release", domain), removedRelease);
}

/** Whether the response is an API object; other responses are not recorded. */
function isApiPath({ isResource, path }: RequestInfo): boolean {
  return isResource || /^\/apis?(?:\/|$)/.test(path);
}

/** Source addresses: those of X-Forwarded-For, then X-Real-Ip, then the connection's peer. */
function sourceAddressesOf(exchange: Exchange): readonly string[] {
  const forwarded = (exchange.header("x-forwarded-for") ?? "").split(",");
  const addresses = forwarded.flatMap((part) => addressIn(part) ?? []);
  const real = addressIn(exchange.header("x-real-ip") ?? "");
  if (real !== undefined && !addresses.includes(real)) addresses.push(real);
  const remote = addressIn(exchange.remoteAddress ?? "");
  if (remote !== undefined && addresses.at(-1) !== remote) addresses.push(remote);
  return addresses;
}

/** Canonical text of an address; an IPv4-mapped one is written as IPv4. */
function addressIn(text: string): string | undefined {
  const address = parseIp(text.trim());
  return address === undefined ? undefined : formatIp(address);
}
