/** The CustomResourceDefinition of Stages. */
import type { ApiObject, Client, Handle } from "#client";
import type { Condition } from "#kinds";
import { type Domain, resolve } from "#meta";
import { stagesOf } from "#kinds";

export interface Definition extends ApiObject {
  readonly spec: object;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export function definitionsOf(domain: Domain): Handle<Definition> {
  return {
    group: resolve("apiextensions.{api}", domain),
    version: "v1",
    plural: "customresourcedefinitions",
    kind: "CustomResourceDefinition",
    namespaced: false,
  };
}

export function stageDefinitionName(domain: Domain): string {
  const { plural, group } = stagesOf(domain);
  return `${plural}.${group}`;
}

const text = { type: "string" };
const flag = { type: "boolean" };
const time = { type: "integer", format: "int64", minimum: 0 };
const texts = { type: "object", additionalProperties: text };
const user = object({ username: text }, ["username"]);
const cel = object({ expression: text });
const from = object({ cel, jq: object({ expression: text }), expressionFrom: text });
const requirement = { key: text, operator: text, values: list(text) };
const finalizers = list(object({ value: text }));
const event = object({ type: text, reason: text, message: text });
const changes = object({ add: finalizers, remove: finalizers, empty: flag });
const patch = object({
  subresource: text,
  root: text,
  template: text,
  type: { type: "string", enum: ["json", "merge", "strategic"] },
  impersonation: user,
});
const apply = object({
  template: text,
  subresource: text,
  type: { type: "string", enum: ["apply", "merge", "strategic"] },
  impersonation: user,
});
const spec = object(
  {
    resourceRef: object({ apiGroup: { ...text, default: "v1" }, kind: text }, ["kind"]),
    selector: object({
      matchLabels: texts,
      matchAnnotations: texts,
      matchExpressions: list(object({ cel, jq: object(requirement), ...requirement })),
    }),
    weight: { type: "integer", minimum: 0, default: 0 },
    weightFrom: from,
    delay: object({
      durationMilliseconds: time,
      durationFrom: from,
      jitterDurationMilliseconds: time,
      jitterDurationFrom: from,
    }),
    next: object({
      event,
      finalizers: changes,
      delete: flag,
      patches: list(patch),
      statusTemplate: text,
      statusSubresource: { ...text, default: "status" },
      statusPatchAs: user,
    }),
    steps: list(object({ event, finalizers: changes, patch, delete: flag, apply })),
    immediateNextStage: flag,
  },
  ["resourceRef"],
);
const condition = object(
  {
    type: text,
    status: text,
    reason: text,
    message: text,
    lastTransitionTime: { type: "string", format: "date-time" },
  },
  ["type", "status", "reason", "message", "lastTransitionTime"],
);
const conditions = {
  ...list(condition),
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
};

function object(properties: object, required: readonly string[] = []): object {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

function list(items: object): object {
  return { type: "array", items };
}

/** Creates the definition unless there is one. */
export async function installStages(client: Client): Promise<void> {
  const { domain } = client;
  const { group, version, plural, kind } = stagesOf(domain);
  const schema = object({ apiVersion: text, kind: text, spec, status: object({ conditions }) }, [
    "spec",
  ]);
  const names = { plural, singular: "stage", kind, listKind: "StageList" };
  const served = {
    name: version,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    subresources: { status: {} },
  };
  await client.create(definitionsOf(domain), {
    metadata: { name: stageDefinitionName(domain) },
    spec: { group, scope: "Cluster", names, versions: [served] },
  });
}
