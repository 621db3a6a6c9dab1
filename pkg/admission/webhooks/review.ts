import { randomUUID } from "node:crypto";
import { escapeHtml, type Resource } from "#meta";
import { CallFault } from "#request";
import { admissionRequest, requestTail, type VersionedAttributes } from "../dynamic/index.ts";

/** An AdmissionReview that is to be sent. */
export interface Review {
  /** `admission.k8s.io/v1` */
  readonly apiVersion: string;
  readonly uid: string;
  readonly body: string;
}

const spokenVersions = ["v1", "v1beta1"];
/** More than these would not fit into the headers of an answer. */
const mostWarnings = 256;

/** In the first version of those that both sides know. Throws CallFault if there is none. */
export async function reviewOf(
  reviewed: VersionedAttributes,
  as: Resource,
  { versions, api }: { readonly versions: readonly string[]; readonly api: string },
): Promise<Review> {
  const version = versions.find((each) => spokenVersions.includes(each));
  if (version === undefined) {
    throw new CallFault("webhook does not accept known AdmissionReview versions (v1, v1beta1)");
  }
  const uid = randomUUID();
  const apiVersion = `admission.${api}/${version}`;
  const head = membersOf({ uid, ...admissionRequest(reviewed, as) });
  const tail = membersOf(requestTail(reviewed, api));
  const object = await reviewed.text("object", as);
  const old = await reviewed.text("old", as);
  const request = `{${head},"object":${object},"oldObject":${old},${tail}}`;
  const typeMeta = `"kind":"AdmissionReview","apiVersion":${JSON.stringify(apiVersion)}`;
  return { apiVersion, uid, body: `{${typeMeta},"request":${request}}` };
}

function membersOf(value: object): string {
  return escapeHtml(JSON.stringify(value)).slice(1, -1);
}

/** What a webhook says, as far as it is what it may say. */
export interface Verdict {
  readonly allowed: boolean;
  /** The Status of a refusal, as it came. */
  readonly result: Readonly<Record<string, unknown>> | undefined;
  /** Operations of a JSON patch; undefined = nothing is to be changed. */
  readonly patch: readonly object[] | undefined;
  readonly warnings: readonly string[];
  readonly annotations: readonly (readonly [string, string])[];
}

interface Expected extends Review {
  readonly mayPatch: boolean;
}

/** Believes nothing of an answer before it has been looked at. Throws CallFault. */
export function verdictOf(answer: unknown, expected: Expected): Verdict {
  const { response, apiVersion, kind } = recordOf(answer) ?? {};
  const found = recordOf(response);
  if (found === undefined) throw new CallFault("webhook response was absent");
  const isLatest = expected.apiVersion.endsWith("/v1");
  if (isLatest) {
    checkUid(expected.uid, found["uid"]);
    const wanted = `${expected.apiVersion}, Kind=AdmissionReview`;
    const got = `${textOf(apiVersion)}, Kind=${textOf(kind)}`;
    if (got !== wanted) throw new CallFault(`expected webhook response of ${wanted}, got ${got}`);
  }
  const { allowed, status, warnings, auditAnnotations } = found;
  return {
    allowed: allowed === true,
    result: recordOf(status),
    patch: patchIn(found, { ...expected, isLatest }),
    warnings: Array.isArray(warnings) ? warnings.slice(0, mostWarnings).filter(isText) : [],
    annotations: Object.entries(recordOf(auditAnnotations) ?? {}).filter(
      (entry): entry is [string, string] => isText(entry[1]),
    ),
  };
}

function checkUid(wanted: string, uid: unknown): void {
  if (uid === wanted) return;
  const got = JSON.stringify(textOf(uid));
  throw new CallFault(`expected response.uid=${JSON.stringify(wanted)}, got ${got}`);
}

function patchIn(
  { patch, patchType }: Readonly<Record<string, unknown>>,
  { mayPatch, isLatest }: { readonly mayPatch: boolean; readonly isLatest: boolean },
): readonly object[] | undefined {
  const text = textOf(patch);
  const typed = patchType !== undefined && patchType !== null;
  if (!mayPatch) {
    if (!isLatest) return undefined;
    if (text !== "") throw new CallFault("validating webhook may not return response.patch");
    if (typed) throw new CallFault("validating webhook may not return response.patchType");
    return undefined;
  }
  if (isLatest) {
    if (text !== "" && !typed) {
      throw new CallFault("webhook returned response.patch but not response.patchType");
    }
    if (text === "" && typed) {
      throw new CallFault("webhook returned response.patchType but not response.patch");
    }
  }
  if (text === "") return undefined;
  if (typed && patchType !== "JSONPatch") {
    const told = JSON.stringify(textOf(patchType));
    throw new CallFault(`webhook returned invalid response.patchType of ${told}`);
  }
  return operationsIn(text);
}

/** Throws SyntaxError for what is no JSON. */
function operationsIn(text: string): readonly object[] {
  const value: unknown = JSON.parse(Buffer.from(text, "base64").toString("utf8"));
  if (Array.isArray(value) && value.every((each) => recordOf(each) !== undefined)) return value;
  throw new SyntaxError("a JSON patch is a list of operations");
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function textOf(value: unknown): string {
  return isText(value) ? value : "";
}
