import {
  required,
  type Infer,
  int32,
  named,
  nullablePointer,
  pointer,
  Path,
  value,
  type Problems,
  structs,
  semanticEquality,
} from "#schema";
import { kind, kubernetes, objectMeta } from "#meta";
import { goShape } from "../go/go-shape.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusKeepingMetadata } from "../status-metadata.ts";
import { entry } from "../strategy.ts";
import { checkConditions, conditionsOf } from "./conditions.ts";

const v1 = structs("api/flowcontrol/v1");

const queuingConfiguration = v1(
  "QueuingConfiguration",
  "Configuration of the queues of a priority level, over which flows are distributed by " +
    "shuffle sharding.",
  {
    queues: required(
      1,
      int32,
      "Number of queues. More queues reduce the probability that flows collide; 1 disables " +
        "shuffle sharding. Defaults to 64.",
      { required: false, default: 64 },
    ),
    handSize: required(
      2,
      int32,
      "Number of queues that a flow is assigned to. A request joins the shortest of them. Must " +
        "not exceed queues. Defaults to 8.",
      {
        required: false,
        default: 8,
      },
    ),
    queueLengthLimit: required(
      3,
      int32,
      "Maximum number of requests that wait in a queue. Further requests are rejected with " +
        "status 429. Defaults to 50.",
      {
        required: false,
        default: 50,
      },
    ),
  },
);

const limitResponse = v1(
  "LimitResponse",
  "Handling of requests beyond the concurrency limit.",
  {
    type: required(
      1,
      named("v1.LimitResponseType", "Queue", "Reject"),
      "Type of the response. One of Queue (requests wait in queues, if there is room), Reject " +
        "(requests are rejected with status 429).",
      { openApi: { enum: false } },
    ),
    queuing: pointer(
      2,
      queuingConfiguration,
      "Configuration of the queues. Required for type Queue, and not allowed for Reject.",
    ),
  },
  { unions: [{ discriminator: "type", members: { queuing: "Queuing" } }] },
);

const limitedPriorityLevelConfiguration = v1(
  "LimitedPriorityLevelConfiguration",
  "Limits of a priority level. Its nominal concurrency limit, in seats, is the share of " +
    "nominalConcurrencyShares in the sum of all levels times the server's total.",
  {
    nominalConcurrencyShares: nullablePointer(
      1,
      int32,
      "Shares of the server's total concurrency, relative to those of other levels. With 0, " +
        "the level only has borrowed seats. Defaults to 30.",
      { required: false, default: 30 },
    ),
    limitResponse: value(
      2,
      limitResponse,
      "Handling of requests that cannot be executed immediately.",
    ),
    lendablePercent: pointer(
      3,
      int32,
      "Percentage of the nominal concurrency limit that other levels can borrow, 0 to 100. " +
        "Defaults to 0.",
      {
        default: 0,
      },
    ),
    borrowingLimitPercent: pointer(
      4,
      int32,
      "Percentage of the nominal concurrency limit that the level can borrow from others, " +
        "which can exceed 100. Unlimited if absent.",
    ),
  },
);

const exemptPriorityLevelConfiguration = v1(
  "ExemptPriorityLevelConfiguration",
  "Seats of an exempt priority level. Its own requests are never limited.",
  {
    nominalConcurrencyShares: pointer(
      1,
      int32,
      "Shares of the server's total concurrency, relative to those of other levels, which they " +
        "can borrow. Defaults to 0.",
      {
        default: 0,
      },
    ),
    lendablePercent: pointer(
      2,
      int32,
      "Percentage of the nominal concurrency limit that other levels can borrow, 0 to 100. " +
        "Defaults to 0.",
      {
        default: 0,
      },
    ),
  },
);

const priorityLevelConfigurationSpec = v1(
  "PriorityLevelConfigurationSpec",
  "Specification of a priority level.",
  {
    type: required(
      1,
      named("v1.PriorityLevelEnablement", "Exempt", "Limited"),
      "Type of the priority level. One of Exempt (requests are dispatched immediately, without " +
        "limits), Limited (subject to `limited`). Only the built-in level `exempt` is Exempt.",
      { openApi: { enum: false } },
    ),
    limited: pointer(
      2,
      limitedPriorityLevelConfiguration,
      "Limits of the priority level. Required for type Limited, and not allowed for Exempt.",
    ),
    exempt: pointer(
      3,
      exemptPriorityLevelConfiguration,
      "Seats that other levels can borrow. Only for type Exempt.",
    ),
  },
  { unions: [{ discriminator: "type", members: { exempt: "Exempt", limited: "Limited" } }] },
);

const priorityLevelConfigurationStatus = v1(
  "PriorityLevelConfigurationStatus",
  "Observed state of a PriorityLevelConfiguration.",
  { conditions: conditionsOf(v1, "PriorityLevelConfigurationCondition") },
);

const priorityLevelConfigurationV1 = v1(
  "PriorityLevelConfiguration",
  "PriorityLevelConfiguration defines a priority level of API Priority and Fairness: the " +
    "limits for the requests assigned to it.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, priorityLevelConfigurationSpec, "Type and limits of the priority level."),
    status: value(
      3,
      priorityLevelConfigurationStatus,
      "Conditions reported by the API servers. Read-only.",
    ),
  },
);

type Level = Infer<typeof priorityLevelConfigurationV1>;
export type PriorityLevel = Level;
type Spec = Level["spec"];
type Limited = NonNullable<Spec["limited"]>;
type Queuing = Infer<typeof queuingConfiguration>;

const path = Path.of("spec");
const exemptName = "exempt";
const catchAllName = "catch-all";
const maxQueues = 10_000_000;
/** Bits of the request hash available for shuffle sharding. */
const hashBits = 60;
const zeroShares = "v1beta3-preserve-zero-concurrency-shares";
const zeroSharesAnnotation = `flowcontrol.${kubernetes.api}/${zeroShares}`;
const notNegativeMessage = "must be a non-negative integer";
const percentageMessage = "must be between 0 and 100, inclusive";

const fixedCatchAll: Spec = {
  type: "Limited",
  limited: {
    nominalConcurrencyShares: 5,
    limitResponse: { type: "Reject" },
    lendablePercent: 0,
  },
};

/** Mandatory priority levels. Only field `exempt` of level exempt may change. */
export const fixedLevels: Readonly<Record<string, Spec>> = {
  [exemptName]: { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  [catchAllName]: fixedCatchAll,
};

function checkPercentage(value: number | undefined, path: Path, problems: Problems): void {
  if (value === undefined || (value >= 0 && value <= 100)) return;
  problems.invalid(path, value, percentageMessage);
}

function checkShares(value: number | null | undefined, path: Path, problems: Problems): void {
  if (value !== undefined && value !== null && value < 0)
    problems.invalid(path, value, notNegativeMessage);
}

function checkQueuing(queuing: Queuing, path: Path, problems: Problems): void {
  const { queues, handSize, queueLengthLimit } = queuing;
  const positive = "must be positive";
  if (queueLengthLimit <= 0) {
    problems.invalid(path.child("queueLengthLimit"), queueLengthLimit, positive);
  }
  const queuesPath = path.child("queues");
  if (queues <= 0) problems.invalid(queuesPath, queues, positive);
  else if (queues > maxQueues) {
    problems.invalid(queuesPath, queues, `must not be greater than ${maxQueues}`);
  }
  const handPath = path.child("handSize");
  if (handSize <= 0) problems.invalid(handPath, handSize, positive);
  else if (handSize > queues) {
    problems.invalid(handPath, handSize, `should not be greater than queues (${queues})`);
  } else if (Math.ceil(Math.log2(queues) * handSize) > hashBits) {
    const sizes = `deckSize ${queues} and handSize ${handSize}`;
    const detail = `required entropy bits of ${sizes} should not be greater than ${hashBits}`;
    problems.invalid(handPath, handSize, detail);
  }
}

function checkResponse({ type, queuing }: Limited["limitResponse"], problems: Problems): void {
  const limitResponsePath = path.child("limited", "limitResponse");
  const queuingPath = limitResponsePath.child("queuing");
  if (type === "Reject") {
    const detail = "must be nil if limited.limitResponse.type is not Limited";
    if (queuing !== undefined) problems.forbidden(queuingPath, detail);
  } else if (type !== "Queue") {
    problems.notSupported(limitResponsePath.child("type"), type, ["Queue", "Reject"]);
  } else if (queuing === undefined) {
    const detail = "must not be empty if limited.limitResponse.type is Limited";
    problems.required(queuingPath, detail);
  } else checkQueuing(queuing, queuingPath, problems);
}

function checkLimited(limited: Limited, problems: Problems): void {
  const limitedPath = path.child("limited");
  const { nominalConcurrencyShares, limitResponse: response, lendablePercent } = limited;
  checkShares(nominalConcurrencyShares, limitedPath.child("nominalConcurrencyShares"), problems);
  checkResponse(response, problems);
  checkPercentage(lendablePercent, limitedPath.child("lendablePercent"), problems);
  const { borrowingLimitPercent: borrowing } = limited;
  if (borrowing === undefined || borrowing >= 0) return;
  const detail = `if specified, ${notNegativeMessage}`;
  problems.invalid(limitedPath.child("borrowingLimitPercent"), borrowing, detail);
}

function checkSpec({ metadata, spec }: Level, problems: Problems): void {
  const { type, limited, exempt } = spec;
  const typePath = path.child("type");
  if ((metadata.name === exemptName) !== (type === "Exempt")) {
    problems.invalid(typePath, type, "must be 'Exempt' if and only if `name` is 'exempt'");
  }
  if (type === "Exempt") {
    const detail = "must be nil if the type is not Limited";
    if (limited !== undefined) problems.forbidden(path.child("limited"), detail);
    const exemptPath = path.child("exempt");
    const sharesPath = exemptPath.child("nominalConcurrencyShares");
    checkShares(exempt?.nominalConcurrencyShares, sharesPath, problems);
    checkPercentage(exempt?.lendablePercent, exemptPath.child("lendablePercent"), problems);
  } else if (type === "Limited") {
    const detail = "must be nil if the type is Limited";
    if (exempt !== undefined) problems.forbidden(path.child("exempt"), detail);
    if (limited !== undefined) checkLimited(limited, problems);
    else problems.required(path.child("limited"), "must not be empty when type is Limited");
  } else problems.notSupported(typePath, type, ["Exempt", "Limited"]);
}

/** Rejects changes of mandatory levels other than of `exempt`. */
function checkFixed({ metadata, spec }: Level, problems: Problems): void {
  if (metadata.name === exemptName && (spec.type !== "Exempt" || spec.limited !== undefined)) {
    const detail = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value";
    problems.invalid(path, goShape(priorityLevelConfigurationSpec, spec), detail);
  }
  if (
    metadata.name !== catchAllName ||
    semanticEquality(priorityLevelConfigurationSpec)(spec, fixedCatchAll)
  )
    return;
  const detail = "spec of 'catch-all' must equal the fixed value";
  problems.invalid(path, goShape(priorityLevelConfigurationSpec, spec), detail);
}

const conditionsPath = Path.of("status.conditions");

function validate(level: Level, problems: Problems): void {
  if (entry(level.metadata.annotations, zeroSharesAnnotation) !== undefined) {
    const detail = `annotation '${zeroSharesAnnotation}' is forbidden`;
    problems.forbidden(Path.of("metadata.annotations"), detail);
  }
  checkSpec(level, problems);
  checkFixed(level, problems);
  checkConditions(level.status.conditions, conditionsPath, problems);
}

export const priorityLevelConfiguration = kind(priorityLevelConfigurationV1, {
  group: "flowcontrol.apiserver.{api}",
  kind: "PriorityLevelConfiguration",
  plural: "prioritylevelconfigurations",
  scope: "Cluster",
  versions: [
    { version: "v1", struct: priorityLevelConfigurationV1, onByDefault: true, convert: "hub" },
  ],
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
      else checkConditions(object.status.conditions, conditionsPath, problems);
    },
  },
  columns: [
    nameColumn,
    column("Type", "Whether the level is Limited or Exempt."),
    column("NominalConcurrencyShares", "Share of the server's seats relative to the other levels."),
    column("Queues", "Number of queues."),
    column("HandSize", "Queues dealt to each flow."),
    column("QueueLengthLimit", "Requests that may wait in one queue."),
    ageColumn,
  ],
  row: (object, context) => {
    const { type, limited } = object.spec;
    const queuing = limited?.limitResponse.queuing;
    return [
      nameOf(object),
      type,
      limited?.nominalConcurrencyShares ?? "<none>",
      queuing?.queues ?? "<none>",
      queuing?.handSize ?? "<none>",
      queuing?.queueLengthLimit ?? "<none>",
      ageOf(object, context),
    ];
  },
});
