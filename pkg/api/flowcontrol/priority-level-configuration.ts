import { deepEqual } from "#base";
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
  "Queues of a priority level. Shuffle sharding spreads the flows over them.",
  {
    queues: required(
      1,
      int32,
      "Number of queues. More queues reduce collisions between flows; 1 disables shuffle " +
        "sharding. Defaults to 64.",
      { required: false, default: 64 },
    ),
    handSize: required(
      2,
      int32,
      "Number of queues dealt to each flow; a request joins the shortest of them. Must not " +
        "exceed queues. Defaults to 8.",
      {
        required: false,
        default: 8,
      },
    ),
    queueLengthLimit: required(
      3,
      int32,
      "Requests that may wait in one queue; further ones are rejected with 429. Defaults to 50.",
      {
        required: false,
        default: 50,
      },
    ),
  },
);

const limitResponse = v1(
  "LimitResponse",
  "Handling of requests that cannot be executed right now.",
  {
    type: required(
      1,
      named("v1.LimitResponseType", "Queue", "Reject"),
      "One of Queue (wait for a seat, up to the limits in queuing), Reject (respond 429 at once).",
      { openApi: { enum: false } },
    ),
    queuing: pointer(
      2,
      queuingConfiguration,
      "Sizes of the queues. Required for type Queue; must be absent for Reject.",
    ),
  },
  { unions: [{ discriminator: "type", members: { queuing: "Queuing" } }] },
);

const limitedPriorityLevelConfiguration = v1(
  "LimitedPriorityLevelConfiguration",
  "Concurrency limits of a priority level. Its nominal limit is the server's total times " +
    "nominalConcurrencyShares divided by the sum over all levels.",
  {
    nominalConcurrencyShares: nullablePointer(
      1,
      int32,
      "Share of the server's seats relative to the other levels. 0 lets the level run only " +
        "on borrowed seats. Defaults to 30.",
      { required: false, default: 30 },
    ),
    limitResponse: value(2, limitResponse, "What happens to requests when the limit is reached."),
    lendablePercent: pointer(
      3,
      int32,
      "Percentage of the nominal seats that other levels may borrow, 0 to 100. Defaults to 0.",
      {
        default: 0,
      },
    ),
    borrowingLimitPercent: pointer(
      4,
      int32,
      "Percentage of the nominal seats that the level may borrow from others; may exceed " +
        "100. No limit when absent.",
    ),
  },
);

const exemptPriorityLevelConfiguration = v1(
  "ExemptPriorityLevelConfiguration",
  "Seats set aside for an exempt level. Its own requests are never limited.",
  {
    nominalConcurrencyShares: pointer(
      1,
      int32,
      "Share of the server's seats relative to the other levels. Defaults to 0.",
      {
        default: 0,
      },
    ),
    lendablePercent: pointer(
      2,
      int32,
      "Percentage of the nominal seats that other levels may borrow, 0 to 100. Defaults to 0.",
      {
        default: 0,
      },
    ),
  },
);

const priorityLevelConfigurationSpec = v1(
  "PriorityLevelConfigurationSpec",
  "Desired concurrency of a priority level.",
  {
    type: required(
      1,
      named("v1.PriorityLevelEnablement", "Exempt", "Limited"),
      "One of Exempt (requests are dispatched without limits or queues), Limited (subject to " +
        "`limited`). Exempt is reserved for the built-in level of that name.",
      { openApi: { enum: false } },
    ),
    limited: pointer(
      2,
      limitedPriorityLevelConfiguration,
      "Limits of the level. Required for type Limited; must be absent for Exempt.",
    ),
    exempt: pointer(
      3,
      exemptPriorityLevelConfiguration,
      "Settings of an exempt level. Must be absent for type Limited.",
    ),
  },
  { unions: [{ discriminator: "type", members: { exempt: "Exempt", limited: "Limited" } }] },
);

const priorityLevelConfigurationStatus = v1(
  "PriorityLevelConfigurationStatus",
  "Observed state of a priority level.",
  { conditions: conditionsOf(v1, "PriorityLevelConfigurationCondition") },
);

const priorityLevelConfigurationV1 = v1(
  "PriorityLevelConfiguration",
  "PriorityLevelConfiguration limits how many requests of a priority level are executed " +
    "at the same time.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, priorityLevelConfigurationSpec, "Type and limits of the level."),
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
  if (metadata.name !== catchAllName || deepEqual(spec, fixedCatchAll)) return;
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
