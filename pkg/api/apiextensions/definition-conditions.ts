import type { CustomResourceDefinition } from "./definition-structs.ts";

export type DefinitionCondition = NonNullable<
  CustomResourceDefinition["status"]["conditions"]
>[number];

type Status = CustomResourceDefinition["status"];

/** Finalizer that deletes the objects of a definition before the definition. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.{api}";

export function conditionOf(
  status: Status,
  type: DefinitionCondition["type"],
): DefinitionCondition | undefined {
  return status.conditions?.find((condition) => condition.type === type);
}

/** Adds or replaces a condition; `lastTransitionTime` changes only together with `status`. */
export function withCondition(
  conditions: readonly DefinitionCondition[],
  condition: Omit<DefinitionCondition, "lastTransitionTime">,
  now: string,
): readonly DefinitionCondition[] {
  const current = conditions.find(({ type }) => type === condition.type);
  if (current === undefined) return [...conditions, { ...condition, lastTransitionTime: now }];
  const isSame = current.status === condition.status && current.lastTransitionTime;
  const lastTransitionTime = isSame ? current.lastTransitionTime : now;
  const changed = { ...condition, ...(lastTransitionTime ? { lastTransitionTime } : {}) };
  return conditions.map((each) => (each === current ? changed : each));
}

/** Adds the cleanup finalizer and the condition Terminating at the first deletion request. */
export function markDeleting(
  definition: CustomResourceDefinition,
  { api, now }: { readonly api: string; readonly now: string },
): void {
  const { metadata, status } = definition;
  const finalizer = cleanupFinalizer.replace("{api}", api);
  const finalizers: readonly string[] = metadata.finalizers ?? [];
  if (!finalizers.includes(finalizer)) metadata.finalizers = [...finalizers, finalizer];
  const terminating = {
    type: "Terminating",
    status: "True",
    reason: "InstanceDeletionPending",
    message:
      "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  } as const;
  status.conditions = [...withCondition(status.conditions ?? [], terminating, now)];
}
