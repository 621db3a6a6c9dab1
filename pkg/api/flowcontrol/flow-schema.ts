import { Path, type Problems, semanticEquality } from "#schema";
import { isDns1123Subdomain, kind } from "#meta";
import { goShape } from "../go/go-shape.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusKeepingMetadata } from "../status-metadata.ts";
import { entry, invalidEach } from "../strategy.ts";
import { checkConditions } from "./conditions.ts";
import { checkRule } from "./flow-schema-rules.ts";
import { type FlowSchema, flowSchemaSpec, flowSchemaV1 } from "./flow-schema-types.ts";

export type { FlowSchema };

const path = Path.of("spec");
const maxPrecedence = 10_000;
const exemptName = "exempt";
const methods = ["ByNamespace", "ByUser"];

/** Rules that match all requests. */
const allRequests = {
  resourceRules: [
    {
      verbs: ["*"],
      apiGroups: ["*"],
      resources: ["*"],
      clusterScope: true,
      namespaces: ["*"],
    },
  ],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};

const everyoneIn = (name: string) => ({ kind: "Group", group: { name } });

/** Mandatory FlowSchemas, which together match all requests; their specs are immutable. */
export const fixedFlowSchemas: Readonly<Record<string, FlowSchema["spec"]>> = {
  exempt: {
    priorityLevelConfiguration: { name: exemptName },
    matchingPrecedence: 1,
    rules: [{ subjects: [everyoneIn("system:masters")], ...allRequests }],
  },
  "catch-all": {
    priorityLevelConfiguration: { name: "catch-all" },
    matchingPrecedence: maxPrecedence,
    distinguisherMethod: { type: "ByUser" },
    rules: [
      {
        subjects: [everyoneIn("system:unauthenticated"), everyoneIn("system:authenticated")],
        ...allRequests,
      },
    ],
  },
};

function checkPrecedence({ metadata, spec }: FlowSchema, problems: Problems): void {
  const { matchingPrecedence: precedence } = spec;
  const matchingPrecedencePath = path.child("matchingPrecedence");
  if (precedence <= 0)
    problems.invalid(matchingPrecedencePath, precedence, "must be a positive value");
  if (precedence > maxPrecedence) {
    problems.invalid(
      matchingPrecedencePath,
      precedence,
      `must not be greater than ${maxPrecedence}`,
    );
  }
  if (precedence !== 1 || metadata.name === exemptName) return;
  const detail = "only the schema named 'exempt' may have matchingPrecedence 1";
  problems.invalid(matchingPrecedencePath, precedence, detail);
}

function validate(schema: FlowSchema, problems: Problems): void {
  const { metadata, spec, status } = schema;
  checkPrecedence(schema, problems);
  const { distinguisherMethod: method, priorityLevelConfiguration: level, rules = [] } = spec;
  if (method !== undefined && !methods.includes(method.type)) {
    // The reported value is formatted as Go's struct.
    const typePath = path.child("distinguisherMethod", "type");
    problems.notSupported(typePath, { Type: method.type }, methods);
  }
  const namePath = path.child("priorityLevelConfiguration", "name");
  if (level.name === "") problems.required(namePath, "must reference a priority level");
  else {
    const messages = isDns1123Subdomain(level.name);
    invalidEach(problems, namePath, { value: level.name, messages });
  }
  for (const [index, rule] of rules.entries()) {
    checkRule(rule, path.child("rules").index(index), problems);
  }
  const fixed = entry(fixedFlowSchemas, metadata.name ?? "");
  if (fixed !== undefined && !semanticEquality(flowSchemaSpec)(spec, fixed)) {
    const detail = `spec of '${metadata.name}' must equal the fixed value`;
    problems.invalid(path, goShape(flowSchemaSpec, spec), detail);
  }
  checkConditions(status.conditions, Path.of("status.conditions"), problems);
}

/** Table cell of the condition Dangling: whether the priority level is missing. */
function isDangling({ status }: FlowSchema): string {
  return status.conditions?.findLast(({ type }) => type === "Dangling")?.status ?? "?";
}

export const flowSchema = kind(flowSchemaV1, {
  group: "flowcontrol.apiserver.{api}",
  kind: "FlowSchema",
  plural: "flowschemas",
  scope: "Cluster",
  versions: [{ version: "v1", struct: flowSchemaV1, onByDefault: true, convert: "hub" }],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: {
    metadataOnUpdate: { "": ["object"], status: [] },
    generation: true,
    resets: { status: ["metadata", "spec"] },
  },
  hooks: {
    ...splitByStatusKeepingMetadata(() => ({})),
    validate,
    validateUpdate: (object, _old, problems, { subresource }) => {
      if (subresource === "") validate(object, problems);
      else checkConditions(object.status.conditions, Path.of("status.conditions"), problems);
    },
  },
  columns: [
    nameColumn,
    column("PriorityLevel", "Priority level that handles the matching requests."),
    column(
      "MatchingPrecedence",
      "Order among the FlowSchemas that match a request; the lowest wins.",
    ),
    column("DistinguisherMethod", "How the requests are split into flows."),
    ageColumn,
    column("MissingPL", "Whether the priority level is missing."),
  ],
  row: (object, context) => [
    nameOf(object),
    object.spec.priorityLevelConfiguration.name || "<none>",
    object.spec.matchingPrecedence,
    object.spec.distinguisherMethod?.type ?? "<none>",
    ageOf(object, context),
    isDangling(object),
  ],
  // Objects of equal precedence keep the order of the list, which is by name.
  rowOrder: (left, right) => left.spec.matchingPrecedence - right.spec.matchingPrecedence,
});
