/** Malformed responses of webhooks. */
import assert from "node:assert/strict";
import { CallFault } from "#request";
import { DecodeFault, JsonFault } from "#schema";
import { decodeReview, operationsIn, validateResponse } from "./review.ts";

describe("AdmissionReview of a webhook", () => {
  const outcome = (review: object, { version = "v1", mayPatch = true } = {}): unknown => {
    const apiVersion = `admission.k8s.io/${version}`;
    try {
      const found = decodeReview({ apiVersion, kind: "AdmissionReview", ...review }, apiVersion);
      const verdict = validateResponse(found, { apiVersion, uid: "u", body: "", mayPatch });
      const { allowed, warnings, patch } = verdict;
      return { allowed, warnings, patch: patch && [patch.type, operationsIn(patch)] };
    } catch (fault) {
      const known = [CallFault, DecodeFault, JsonFault].some((type) => fault instanceof type);
      if (known) return (fault as Error).message;
      throw fault;
    }
  };
  const response = (fields: object) => ({ response: { uid: "u", ...fields } });
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  const patched = (text: string, patchType: unknown = "JSONPatch") =>
    response({ allowed: true, patch: encoded(text), patchType });
  const unmarshal = (value: string, field: string, type: string) =>
    `json: cannot unmarshal ${value} into Go struct field ${field} of type ${type}`;
  const allowed = { allowed: true, warnings: [], patch: undefined };

  const rows: readonly (readonly [string, unknown, unknown])[] = [
    ["allowed", outcome(response({ allowed: true })), allowed],
    ["refused", outcome(response({ allowed: false })), { ...allowed, allowed: false }],
    ["no allowed", outcome(response({})), { ...allowed, allowed: false }],
    ["allowed: null", outcome(response({ allowed: null })), { ...allowed, allowed: false }],
    ...(
      [
        ["string", "true"],
        ["number", 1],
        ["object", {}],
        ["array", []],
      ] as const
    ).map(
      ([type, value]) =>
        [
          `allowed as ${type}`,
          outcome(response({ allowed: value })),
          unmarshal(type, "AdmissionResponse.response.allowed", "bool"),
        ] as const,
    ),
    [
      "warnings as a text",
      outcome(response({ allowed: true, warnings: "w" })),
      unmarshal("string", "AdmissionResponse.response.warnings", "[]string"),
    ],
    [
      "a warning as a number",
      outcome(response({ allowed: true, warnings: [1] })),
      unmarshal("number", "AdmissionResponse.response.warnings", "string"),
    ],
    [
      "an annotation as a number",
      outcome(response({ allowed: true, auditAnnotations: { a: 1 } })),
      unmarshal("number", "AdmissionResponse.response.auditAnnotations", "string"),
    ],
    [
      "a message as a number",
      outcome(response({ status: { message: 1 } })),
      unmarshal("number", "Status.response.status.message", "string"),
    ],
    [
      "no base64",
      outcome(response({ allowed: true, patch: "%", patchType: "JSONPatch" })),
      "illegal base64 data at input byte 0",
    ],
    ["no response", outcome({}), "webhook response was absent"],
    ["response: null", outcome({ response: null }), "webhook response was absent"],
    ["another uid", outcome({ response: { uid: "v" } }), 'expected response.uid="u", got "v"'],
    ["no uid", outcome({ response: {} }), 'expected response.uid="u", got ""'],
    [
      "no uid in v1beta1",
      outcome({ response: { allowed: true } }, { version: "v1beta1" }),
      allowed,
    ],
    [
      "no type",
      outcome({ ...response({}), apiVersion: undefined, kind: undefined }),
      "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    ],
    [
      "another kind",
      outcome({ ...response({}), apiVersion: "v1", kind: "Pod" }),
      'no kind "Pod" is registered for version "v1" ' +
        'in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"',
    ],
    [
      "another version",
      outcome({ ...response({}), apiVersion: "admission.k8s.io/v1beta1" }),
      "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ],
    [
      "a patch",
      outcome(patched('[{"op":"remove","path":"/a"}]')),
      { ...allowed, patch: ["JSONPatch", [{ op: "remove", path: "/a" }]] },
    ],
    ["an empty patch", outcome(patched("[]")), { ...allowed, patch: ["JSONPatch", []] }],
    ["a patch of null", outcome(patched("null")), { ...allowed, patch: ["JSONPatch", []] }],
    [
      "a patch that is no JSON",
      outcome(patched("nope")),
      "invalid character 'o' in literal null (expecting 'u')",
    ],
    [
      "a patch that is no list",
      outcome(patched("{}")),
      "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
    ],
    [
      "a patch of texts",
      outcome(patched('["a"]')),
      "json: cannot unmarshal string into Go value of type jsonpatch.Operation",
    ],
    [
      "a patch without a type",
      outcome(patched("[]", null)),
      "webhook returned response.patch but not response.patchType",
    ],
    [
      "a patch of type nothing",
      outcome(patched("[]", "")),
      'webhook returned invalid response.patchType of ""',
    ],
    [
      "a type without a patch",
      outcome(response({ patchType: "JSONPatch" })),
      "webhook returned response.patchType but not response.patch",
    ],
    [
      "any type in v1beta1",
      outcome(patched("[]", "Odd"), { version: "v1beta1" }),
      { ...allowed, patch: ["JSONPatch", []] },
    ],
    [
      "a validating webhook with a patch",
      outcome(patched("[]"), { mayPatch: false }),
      "validating webhook may not return response.patch",
    ],
    [
      "a validating webhook with a type",
      outcome(response({ patchType: "JSONPatch" }), { mayPatch: false }),
      "validating webhook may not return response.patchType",
    ],
    [
      "a validating webhook with a patch in v1beta1",
      outcome(patched("[]"), { mayPatch: false, version: "v1beta1" }),
      allowed,
    ],
  ];
  for (const [name, found, expected] of rows) it(name, () => assert.deepEqual(found, expected));
});
