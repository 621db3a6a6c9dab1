/** Pod failure policies of Jobs. */

/** Decision of the policy on a failed pod. */
export interface FailureDecision {
  /** Action of the first matching rule; undefined = none. */
  readonly action: PodFailurePolicyRule["action"] | undefined;
  /** Whether the failure counts towards the backoff limits. */
  readonly isCounted: boolean;
  /** Message of the Job's failure, for action FailJob. */
  readonly message: string | undefined;
}

const counted: FailureDecision = { action: undefined, isCounted: true, message: undefined };

/** Applies the first matching rule to a failed pod. */
export function decideFailure(policy: PodFailurePolicy | undefined, pod: Pod): FailureDecision {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const reason = matchRule(rule, pod);
    if (reason === undefined) continue;
    const { action } = rule;
    const message =
      action === "FailJob" ? `${reason} matching ${action} rule at index ${index}` : undefined;
    return { action, isCounted: action !== "Ignore", message };
  }
  return counted;
}

/** Returns the start of the failure message; undefined = the rule does not match. */
function matchRule({ onExitCodes, onPodConditions }: PodFailurePolicyRule, pod: Pod) {
  const { metadata, status = {} } = pod;
  const podKey = `${metadata.namespace}/${metadata.name}`;
  if (onExitCodes !== undefined) {
    const container =
      findContainer(status.containerStatuses, onExitCodes) ??
      findContainer(status.initContainerStatuses, onExitCodes);
    if (container === undefined) return undefined;
    const code = container.state?.terminated?.exitCode ?? 0;
    return `Container ${container.name} for pod ${podKey} failed with exit code ${code}`;
  }
  const condition = findCondition(status, onPodConditions ?? []);
  return condition === undefined ? undefined : `Pod ${podKey} has condition ${condition.type}`;
}

/** The first terminated container whose exit code matches; exit code 0 never does. */
function findContainer(
  statuses: readonly ContainerStatus[] = [],
  { containerName, operator, values }: OnExitCodes,
): ContainerStatus | undefined {
  return statuses.find(({ name, state }) => {
    const code = state?.terminated?.exitCode ?? 0;
    if (code === 0 || (containerName !== undefined && containerName !== name)) return false;
    return values.includes(code) === (operator === "In");
  });
}

function findCondition(
  { conditions = [] }: PodStatus,
  patterns: NonNullable<PodFailurePolicyRule["onPodConditions"]>,
): PodCondition | undefined {
  return conditions.find((condition) =>
    patterns.some(
      ({ type, status = "True" }) => type === condition.type && status === condition.status,
    ),
  );
}
import type {
  ContainerStatus,
  OnExitCodes,
  Pod,
  PodCondition,
  PodFailurePolicy,
  PodFailurePolicyRule,
  PodStatus,
} from "#kinds";
