import { createHash } from "node:crypto";
import path from "node:path";
import type { ApiObject, DiscoveredResource } from "#client";

/** A JSON object of an API server, with `apiVersion` and `kind`. */
export interface RecordedObject {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata: Record<string, any>;
  readonly [field: string]: any;
}

type RecordedResource = Pick<DiscoveredResource, "group" | "version" | "plural" | "kind">;

/** Value of every key of a recorded Secret. */
const redacted = Buffer.from("REDACTED").toString("base64");
/** Keys whose value must be JSON, because Kubernetes validates it by the type of the Secret. */
const jsonKeys: ReadonlySet<string> = new Set([".dockerconfigjson", ".dockercfg"]);
const redactedJson = Buffer.from("{}").toString("base64");
/**
 * Annotation in which `kubectl apply` stores a copy of the object, including the data of Secrets.
 */
const lastApplied = /^kubectl\.[^/]+\/last-applied-configuration$/;

/**
 * Returns an object as it is recorded: with uid, times, status and managedFields, without
 * resourceVersion and selfLink. The values of Secrets are replaced, their keys are kept.
 */
export function recordedObject(resource: RecordedResource, object: ApiObject): RecordedObject {
  const { group, version, kind, plural } = resource;
  const { resourceVersion: _version, ...metadata } = { ...object.metadata } as Record<string, any>;
  delete metadata["selfLink"];
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const recorded: RecordedObject = { ...object, apiVersion, kind, metadata };
  return group === "" && plural === "secrets" ? withoutValues(recorded) : recorded;
}

function withoutValues({ stringData: _text, ...secret }: RecordedObject): RecordedObject {
  const keys = Object.keys(secret["data"] ?? {});
  const data = keys.map((key) => [key, jsonKeys.has(key) ? redactedJson : redacted]);
  const { annotations, ...metadata } = secret.metadata;
  const kept = Object.entries(annotations ?? {}).filter(([name]) => !lastApplied.test(name));
  return {
    ...secret,
    metadata: { ...metadata, ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }) },
    ...(keys.length > 0 && { data: Object.fromEntries(data) }),
  };
}

/** Maximum length of a file or directory name without extension; file systems allow 255 bytes. */
const maxNameLength = 200;

/**
 * Path of an object's file in a recording: `namespaces/shop/deployments.apps/web.yaml`,
 * `cluster/nodes/n1.yaml`. Characters that are invalid in file names are percent-encoded.
 */
export function fileOf({ group, plural }: RecordedResource, { metadata }: ApiObject): string {
  const { namespace = "", name } = metadata;
  const folder = namespace === "" ? ["cluster"] : ["namespaces", fileName(namespace)];
  const resource = fileName(group === "" ? plural : `${plural}.${group}`);
  return path.join(...folder, resource, `${fileName(name)}.yaml`);
}

function fileName(name: string): string {
  const encoded = encodeURIComponent(name).replace(/^\.+$/, (dots) => "%2E".repeat(dots.length));
  if (encoded.length <= maxNameLength) return encoded;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 16);
  return `${encoded.slice(0, maxNameLength - digest.length - 1)}-${digest}`;
}
