/** Times at which pods finished. */

/**
 * Finish time of a pod in milliseconds since 1970: the latest finishedAt of its containers, else the
 * transition to Ready=False, else its deletion, else its creation.
 */
export function finishTimeOf({ metadata, spec, status }: Pod): number {
  const sidecars = new Set(
    (spec?.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === "Always")
      .map(({ name }) => name),
  );
  const containers = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ];
  const ends = containers.map(finishedAtOf);
  if (ends.length > 0 && ends.every((end) => end !== undefined)) return Math.max(...ends);
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status === "False" && ready.lastTransitionTime !== undefined) {
    return Date.parse(ready.lastTransitionTime);
  }
  const { creationTimestamp = 0, deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp !== undefined) {
    return Date.parse(deletionTimestamp) - Number(deletionGracePeriodSeconds) * 1000;
  }
  return new Date(creationTimestamp).getTime();
}

function finishedAtOf({ state }: ContainerStatus): number | undefined {
  const finishedAt = state?.terminated?.finishedAt;
  return finishedAt === undefined || finishedAt === null ? undefined : Date.parse(finishedAt);
}
import type { ContainerStatus, Pod } from "#kinds";
