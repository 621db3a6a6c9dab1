import { parseYaml, YamlFault } from "#meta";
import { JsonFault, parseJson } from "#schema";
import { CallFault } from "./call-fault.ts";

/** An HTTP response of a webhook. */
export interface WebhookResponse {
  readonly code: number;
  /** "" if the header is absent. */
  readonly contentType: string;
  readonly text: string;
}

/** Maximum number of bytes of a response in messages. */
const maxQuote = 2048;

/**
 * Parses a response as JSON, or as YAML unless it starts with a brace, regardless of its media type: Go
 * servers that set none send `text/plain`, which client-go decodes. Error messages are client-go's.
 * @throws CallFault
 */
export function parseResponse({ code, contentType, text }: WebhookResponse): unknown {
  const mediaType = contentType.split(";", 1)[0]!.trim().toLowerCase();
  if (code < 200 || code > 206) {
    const status = failureIn(text);
    if (status !== undefined) throw new CallFault(status);
    const isText = mediaType === "" || mediaType.startsWith("text/");
    throw new CallFault(failureOf(code, isText ? quote(text) : "unknown"));
  }
  if (text === "") {
    const type = contentType === "" ? "application/json" : contentType;
    throw new CallFault(`0-length response with status code: ${code} and content type: ${type}`);
  }
  const value = jsonIn(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  if (value === null) return {};
  throw undecodable(`json: cannot unmarshal ${kind} into Go value of type ${typeMeta}`);
}

const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; ' +
  'Kind string "json:\\"kind,omitempty\\"" }';

function jsonIn(text: string): unknown {
  try {
    return /^\s*\{/.test(text) ? parseJson(text).value : parseYaml(text).value;
  } catch (fault) {
    if (fault instanceof JsonFault) throw undecodable(fault.message);
    if (fault instanceof YamlFault) throw new CallFault(fault.message);
    throw fault;
  }
}

function undecodable(why: string): CallFault {
  return new CallFault(`couldn't get version/kind; json parse error: ${why}`);
}

function quote(text: string): string {
  return Buffer.from(text).subarray(0, maxQuote).toString().trim();
}

/** The message of a Status in a failed response; undefined if it has none. */
function failureIn(text: string): string | undefined {
  let value: unknown;
  try {
    value = parseJson(text).value;
  } catch (fault) {
    if (fault instanceof JsonFault) return undefined;
    throw fault;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { kind = "Status", apiVersion = "v1", status, message } = value as StatusParts;
  if (kind !== "Status" || apiVersion !== "v1" || status !== "Failure") return undefined;
  return typeof message === "string" ? message : "";
}

interface StatusParts {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: unknown;
  readonly message?: unknown;
}

/** client-go's messages by status code. */
const failures: ReadonlyMap<number, string> = new Map([
  [400, "the server rejected our request for an unknown reason"],
  [401, "the server has asked for the client to provide credentials"],
  [404, "the server could not find the requested resource"],
  [405, "the server does not allow this method on the requested resource"],
  [409, "the server reported a conflict"],
  [422, "the server rejected our request due to an error in our request"],
  [429, "the server has received too many requests and has asked us to try again later"],
  [503, "the server is currently unable to handle the request"],
  [
    504,
    "the server was unable to return a response in the time allotted, but may still be " +
      "processing the request",
  ],
]);

function failureOf(code: number, text: string): string {
  if (code === 403 || code === 415) return text;
  if (code === 406) {
    const isEmpty = text === "" || text === "unknown";
    const unable = "the server was unable to respond with a content type that the client supports";
    return isEmpty ? unable : text;
  }
  const known = failures.get(code);
  if (known !== undefined) return known;
  if (code >= 500) {
    const what = `an error on the server (${JSON.stringify(text)})`;
    return `${what} has prevented the request from succeeding`;
  }
  return `the server responded with the status code ${code} but did not return more information`;
}
