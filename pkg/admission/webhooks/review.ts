import { randomUuid, printJson } from "#base";
import { escapeHtml, goModules, goQuote, type Resource } from "#meta";
import { CallFault } from "#request";
import { DecodeFault, fromJson, parseJson } from "#schema";
import { type DecodedReview, type Response, reviewV1, reviewV1beta1 } from "./review-types.ts";
import { admissionRequest, requestTail, type VersionedAttributes } from "../dynamic/index.ts";

/** An AdmissionReview to send. */
export interface Review {
  /** `admission.k8s.io/v1` */
  readonly apiVersion: string;
  readonly uid: string;
  readonly body: string;
}

const spokenVersions = ["v1", "v1beta1"];
/** Maximum number of warnings taken from a response; more would not fit into response headers. */
const maxWarnings = 256;

/** AdmissionReview in the first version that both sides support. @throws CallFault if there is none */
export async function reviewOf(
  reviewed: VersionedAttributes,
  as: Resource,
  { versions, api }: { readonly versions: readonly string[]; readonly api: string },
): Promise<Review> {
  const version = versions.find((each) => spokenVersions.includes(each));
  if (version === undefined) {
    throw new CallFault("webhook does not accept known AdmissionReview versions (v1, v1beta1)");
  }
  const uid = randomUuid();
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
  return escapeHtml(printJson(value)).slice(1, -1);
}

/** Validated response of a webhook. */
export interface WebhookResponse {
  readonly allowed: boolean;
  /** Status of a rejection. */
  readonly result: Readonly<Record<string, unknown>> | undefined;
  /** Undefined = no changes. */
  readonly patch: ReviewPatch | undefined;
  readonly warnings: readonly string[];
  readonly annotations: readonly (readonly [string, string])[];
}

interface ReviewPatch {
  readonly type: string;
  /** JSON, not yet parsed. */
  readonly text: string;
}

interface Expected extends Review {
  readonly mayPatch: boolean;
}

const schemeSource = `in scheme "${goModules}/apiserver/pkg/util/webhook/client.go:71"`;

/**
 * Decodes an AdmissionReview. Another kind, another version than that of the request, and wrong types
 * fail as in Go's decoder; an absent kind is that of the request.
 * @throws DecodeFault
 */
export function decodeReview(review: unknown, apiVersion: string): DecodedReview {
  const struct = apiVersion.endsWith("/v1") ? reviewV1 : reviewV1beta1;
  const { apiVersion: version = "", kind = "" } = review as DecodedReview;
  if (kind !== "" && version !== "") checkReviewType({ kind, version }, apiVersion);
  const decoded = fromJson(struct, review, { root: true }) as DecodedReview;
  return { ...decoded, apiVersion: String(version), kind: String(kind) };
}

function checkReviewType(
  { kind, version }: { readonly kind: string; readonly version: string },
  apiVersion: string,
): void {
  const [group, wanted] = apiVersion.split("/");
  const got = spokenVersions.find((each) => version === `${group}/${each}`);
  if (kind !== "AdmissionReview" || got === undefined) {
    const named = `no kind ${goQuote(String(kind))} is registered for version`;
    throw new DecodeFault(`${named} ${goQuote(String(version))} ${schemeSource}`);
  }
  if (got === wanted) return;
  throw new DecodeFault(
    `converting (${got}.AdmissionReview) to (${wanted}.AdmissionReview): unknown conversion`,
  );
}

/** @throws CallFault for a response that does not match the request, or violates the API */
export function validateResponse(review: DecodedReview, expected: Expected): WebhookResponse {
  const { response } = review;
  if (response === undefined) throw new CallFault("webhook response was absent");
  const isLatest = expected.apiVersion.endsWith("/v1");
  if (isLatest) checkIdentity(review, response, expected);
  const { allowed = false, status, warnings = [], auditAnnotations = {} } = response;
  return {
    allowed,
    result: status,
    patch: patchIn(response, { ...expected, isLatest }),
    warnings: warnings.slice(0, maxWarnings),
    annotations: Object.entries(auditAnnotations),
  };
}

function checkIdentity(review: DecodedReview, response: Response, expected: Expected): void {
  const { uid = "" } = response;
  if (uid !== expected.uid) {
    const wanted = `expected response.uid=${goQuote(expected.uid)}`;
    throw new CallFault(`${wanted}, got ${goQuote(uid)}`);
  }
  const { apiVersion = "", kind = "" } = review;
  const wanted = `${expected.apiVersion}, Kind=AdmissionReview`;
  const got = `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
  if (got !== wanted) throw new CallFault(`expected webhook response of ${wanted}, got ${got}`);
}

function patchIn(
  { patch = "", patchType }: Response,
  { mayPatch, isLatest }: { readonly mayPatch: boolean; readonly isLatest: boolean },
): ReviewPatch | undefined {
  const text = Buffer.from(patch, "base64").toString("utf8");
  if (!isLatest) {
    return mayPatch && patch !== "" ? { type: "JSONPatch", text } : undefined;
  }
  if (!mayPatch) {
    if (patch !== "") throw new CallFault("validating webhook may not return response.patch");
    if (patchType === undefined) return undefined;
    throw new CallFault("validating webhook may not return response.patchType");
  }
  if (patch !== "" && patchType === undefined) {
    throw new CallFault("webhook returned response.patch but not response.patchType");
  }
  if (patch === "" && patchType !== undefined) {
    throw new CallFault("webhook returned response.patchType but not response.patch");
  }
  if (patchType === undefined) return undefined;
  if (patchType !== "") return { type: patchType, text };
  throw new CallFault('webhook returned invalid response.patchType of ""');
}

/**
 * Operations of a JSON patch; empty for `null` and `[]`.
 * @throws JsonFault for invalid JSON, DecodeFault for JSON that is not a list of operations
 */
export function operationsIn({ text }: ReviewPatch): readonly object[] {
  const { value } = parseJson(text);
  if (value === null) return [];
  const type = "jsonpatch.Patch";
  if (!Array.isArray(value)) throw mismatch(value, type);
  const wrong = value.find((each) => typeof each !== "object" || Array.isArray(each));
  if (wrong !== undefined) throw mismatch(wrong, "jsonpatch.Operation");
  return value;
}

function mismatch(value: unknown, type: string): DecodeFault {
  const json = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return new DecodeFault(`json: cannot unmarshal ${json} into Go value of type ${type}`);
}
