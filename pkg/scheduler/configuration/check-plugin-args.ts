/** Validation of plugin arguments, with kube-scheduler's messages. */
import { isQualifiedName } from "#meta";
import type { Path, Problems } from "#schema";
import type {
  ArgsName,
  ArgsOf,
  GivenArgs,
  ResourceSpecs,
  ShapePoints,
} from "./plugin-args-structs.ts";

type Check<N extends ArgsName> = (args: ArgsOf<N>, path: Path, problems: Problems) => void;

const strategies = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];
const operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

const checks: { readonly [N in ArgsName]: Check<N> } = {
  DefaultPreemption: (args, path, problems) => {
    const {
      minCandidateNodesPercentage: percentage = 10,
      minCandidateNodesAbsolute: absolute = 100,
    } = args;
    const percentagePath = path.child("minCandidateNodesPercentage");
    const absolutePath = path.child("minCandidateNodesAbsolute");
    if (percentage < 0 || percentage > 100) {
      problems.invalid(percentagePath, percentage, "not in valid range [0, 100]");
    }
    if (absolute < 0) problems.invalid(absolutePath, absolute, "not in valid range [0, inf)");
    if (percentage !== 0 || absolute !== 0) return;
    const detail = "cannot be zero at the same time as";
    problems.invalid(percentagePath, 0, `${detail} minCandidateNodesAbsolute`);
    problems.invalid(absolutePath, 0, `${detail} minCandidateNodesPercentage`);
  },
  DynamicResources: ({ filterTimeout }, path, problems) => {
    if (!filterTimeout?.startsWith("-")) return;
    problems.invalid(path.child("filterTimeout"), filterTimeout, "must be zero or positive");
  },
  InterPodAffinity: ({ hardPodAffinityWeight: weight = 1 }, path, problems) => {
    if (weight >= 0 && weight <= 100) return;
    problems.invalid(path.child("hardPodAffinityWeight"), weight, "not in valid range [0, 100]");
  },
  NodeAffinity: checkAddedAffinity,
  NodeResourcesBalancedAllocation: ({ resources = [] }, path, problems) => {
    const seen = new Set<string>();
    for (const [at, { name = "", weight }] of resources.entries()) {
      const place = path.child("resources").index(at);
      if (seen.has(name)) problems.duplicate(place.child("name"), name);
      seen.add(name);
      if ((weight || 1) !== 1) problems.invalid(place.child("weight"), weight, "must be 1");
    }
  },
  NodeResourcesFit: checkFit,
  PodTopologySpread: checkSpread,
  VolumeBinding: ({ bindTimeoutSeconds = 600, shape }, path, problems) => {
    if (bindTimeoutSeconds < 0) {
      const detail = "invalid BindTimeoutSeconds, should not be a negative value";
      problems.invalid(path.child("bindTimeoutSeconds"), bindTimeoutSeconds, detail);
    }
    if (shape === undefined) return;
    const given = shape.map(({ utilization: Utilization = 0, score: Score = 0 }) => {
      return { Utilization, Score };
    });
    const detail =
      "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring";
    problems.invalid(path.child("shape"), given, detail);
  },
};

/** Validates the arguments of one plugin. */
export function checkPluginArgs<N extends ArgsName>(
  name: N,
  args: NonNullable<GivenArgs[N]>,
  path: Path,
  problems: Problems,
): void {
  checks[name](args as ArgsOf<N>, path, problems);
}

/** Validates NodeResourcesFit, which kube-scheduler does when it creates the plugin. */
export function checkFit(
  {
    ignoredResources = [],
    ignoredResourceGroups = [],
    scoringStrategy,
  }: ArgsOf<"NodeResourcesFit">,
  path: Path,
  problems: Problems,
): void {
  for (const [at, name] of ignoredResources.entries()) {
    checkLabelName(name, path.child("ignoredResources").index(at), problems);
  }
  for (const [at, name] of ignoredResourceGroups.entries()) {
    const place = path.child("ignoredResourceGroups").index(at);
    if (name.includes("/")) problems.invalid(place, name, "resource group name can't contain '/'");
    checkLabelName(name, place, problems);
  }
  if (scoringStrategy === undefined) return;
  const place = path.child("scoringStrategy");
  const { type = "", resources = [], requestedToCapacityRatio } = scoringStrategy;
  if (!strategies.includes(type)) problems.notSupported(place.child("type"), type, strategies);
  checkWeights(resources, place.child("resources"), problems);
  if (requestedToCapacityRatio === undefined) return;
  checkShape(requestedToCapacityRatio.shape ?? [], place.child("shape"), problems);
}

function checkWeights(resources: ResourceSpecs, path: Path, problems: Problems): void {
  for (const [at, { name = "", weight }] of resources.entries()) {
    const given = Number(weight || 1);
    if (given > 0 && given <= 100) continue;
    const detail = `resource weight of ${name} not in valid range (0, 100]`;
    problems.invalid(path.index(at).child("weight"), given, detail);
  }
}

function checkShape(shape: ShapePoints, path: Path, problems: Problems): void {
  if (shape.length === 0) problems.required(path, "at least one point must be specified");
  const values = shape.map(({ utilization = 0 }) => utilization);
  const unsorted = values.findIndex((value, at) => at > 0 && values[at - 1]! >= value);
  if (unsorted > 0) {
    const place = path.index(unsorted).child("utilization");
    problems.invalid(place, values[unsorted], "values must be sorted in increasing order");
  }
  for (const [at, { utilization = 0, score = 0 }] of shape.entries()) {
    const place = path.index(at);
    if (utilization < 0 || utilization > 100) {
      problems.invalid(place.child("utilization"), utilization, "not in valid range [0, 100]");
    }
    if (score < 0 || score > 10) {
      problems.invalid(place.child("score"), score, "not in valid range [0, 10]");
    }
  }
}

function checkSpread(args: ArgsOf<"PodTopologySpread">, path: Path, problems: Problems): void {
  const { defaultConstraints = [], defaultingType = "System" } = args;
  const typePath = path.child("defaultingType");
  if (defaultingType !== "System" && defaultingType !== "List") {
    inOrder(problems, typePath, defaultingType, ["System", "List"]);
  } else if (defaultingType === "System" && defaultConstraints.length > 0) {
    problems.invalid(typePath, defaultingType, "when .defaultConstraints are not empty");
  }
  const seen = new Set<string>();
  for (const [at, constraint] of defaultConstraints.entries()) {
    const place = path.child("defaultConstraints").index(at);
    const { maxSkew = 0, topologyKey = "", whenUnsatisfiable = "" } = constraint;
    if (maxSkew <= 0) {
      problems.invalid(place.child("maxSkew"), maxSkew, "not in valid range (0, inf)");
    }
    if (topologyKey === "") problems.required(place.child("topologyKey"), "can not be empty");
    else checkLabelName(topologyKey, place.child("topologyKey"), problems);
    const actions = ["DoNotSchedule", "ScheduleAnyway"];
    const when = place.child("whenUnsatisfiable");
    if (whenUnsatisfiable === "") problems.required(when, "can not be empty");
    else if (!actions.includes(whenUnsatisfiable)) {
      problems.notSupported(when, whenUnsatisfiable, actions);
    }
    if (constraint.labelSelector !== undefined) {
      const detail = "constraint must not define a selector, as they deduced for each pod";
      problems.forbidden(place.child("labelSelector"), detail);
    }
    const pair = `{${topologyKey}, ${whenUnsatisfiable}}`;
    if (seen.has(pair)) problems.duplicate(place, pair);
    seen.add(pair);
  }
}

function checkAddedAffinity(
  { addedAffinity }: ArgsOf<"NodeAffinity">,
  path: Path,
  problems: Problems,
): void {
  const {
    requiredDuringSchedulingIgnoredDuringExecution: required,
    preferredDuringSchedulingIgnoredDuringExecution: preferred = [],
  } = addedAffinity ?? {};
  const place = path.child("addedAffinity");
  const requiredPath = place.child("requiredDuringSchedulingIgnoredDuringExecution");
  for (const [at, term] of (required?.nodeSelectorTerms ?? []).entries()) {
    checkTerm(term, requiredPath.child("nodeSelectorTerms").index(at), problems);
  }
  const preferredPath = place.child("preferredDuringSchedulingIgnoredDuringExecution");
  for (const [at, { preference }] of preferred.entries()) {
    checkTerm(preference, preferredPath.index(at), problems);
  }
}

interface Term {
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

function checkTerm({ matchExpressions = [] }: Term, path: Path, problems: Problems): void {
  for (const [at, { key, operator, values = [] }] of matchExpressions.entries()) {
    const place = path.child("matchExpressions").index(at);
    if (!operators.includes(operator)) {
      inOrder(problems, place.child("operator"), operator, operators);
      continue;
    }
    checkLabelName(key, place.child("key"), problems);
    const isOneOf = operator === "In" || operator === "NotIn";
    const isNumber = operator === "Gt" || operator === "Lt";
    const valuesPath = place.child("values");
    if (isOneOf && values.length === 0) {
      const detail = "for 'in', 'notin' operators, values set can't be empty";
      problems.invalid(valuesPath, values, detail);
    } else if (isNumber && values.length !== 1) {
      const detail = "for 'Gt', 'Lt' operators, exactly one value is required";
      problems.invalid(valuesPath, values, detail);
    } else if (isNumber && !/^[+-]?\d+$/.test(values[0]!)) {
      const detail = "for 'Gt', 'Lt' operators, the value must be an integer";
      problems.invalid(valuesPath.index(0), values[0], detail);
    } else if (!isOneOf && !isNumber && values.length > 0) {
      const detail = "values set must be empty for exists and does not exist";
      problems.invalid(valuesPath, values, detail);
    }
  }
}

function checkLabelName(name: string, path: Path, problems: Problems): void {
  for (const detail of isQualifiedName(name)) problems.invalid(path, name, detail);
}

/** Like `notSupported`, with the values in the given order. */
function inOrder(problems: Problems, path: Path, value: string, names: readonly string[]): void {
  const detail = `supported values: ${names.map((each) => JSON.stringify(each)).join(", ")}`;
  problems.add({ type: "FieldValueNotSupported", field: path.toString(), value, detail });
}
