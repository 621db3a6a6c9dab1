/** Container Events, with the kubelet's texts. */
import { type Container, type Pod } from "#kinds";
import { imageBytes } from "../identifiers.ts";
import type { KubeletEvent } from "./kubelet-event.ts";

/** Records an Event of a container of the simulated pod. */
export type RecordContainerEvent = (container: Container, event: KubeletEvent) => void;

const normal = (reason: string, message: string): KubeletEvent => ({
  type: "Normal",
  reason,
  message,
});
const warning = (reason: string, message: string): KubeletEvent => ({
  type: "Warning",
  reason,
  message,
});

/** `involvedObject.fieldPath` of a container. */
export function fieldPathOf({ spec }: Pod, { name }: Container): string {
  const has = (list: readonly Container[] = []) => list.some((each) => each.name === name);
  const list = has(spec?.containers)
    ? "containers"
    : has(spec?.initContainers)
      ? "initContainers"
      : "ephemeralContainers";
  return `spec.${list}{${name}}`;
}

/**
 * Records a container start; the image is present unless imagePullPolicy is Always.
 * @param error why the container could not be started; absent = it was
 */
export function recordStart(
  record: RecordContainerEvent,
  container: Container,
  error?: string,
): void {
  const { name, image = "", imagePullPolicy } = container;
  const shown = JSON.stringify(image);
  if (imagePullPolicy === "Always") {
    record(container, normal("Pulling", `Pulling image ${shown}`));
    const how = `in 0s (0s including waiting). Image size: ${imageBytes} bytes.`;
    record(container, normal("Pulled", `Successfully pulled image ${shown} ${how}`));
  } else {
    record(container, normal("Pulled", `Container image ${shown} already present on machine`));
  }
  record(container, normal("Created", `Created container: ${name}`));
  if (error !== undefined) return recordFailedCreation(record, container, error);
  record(container, normal("Started", `Started container ${name}`));
}

/** Records a failed image pull. */
export function recordFailedPull(
  record: RecordContainerEvent,
  container: Container,
  error: string,
): void {
  const shown = JSON.stringify(container.image ?? "");
  record(container, normal("Pulling", `Pulling image ${shown}`));
  record(container, warning("Failed", `Failed to pull image ${shown}: ${error}`));
  record(container, warning("Failed", "Error: ErrImagePull"));
}

/** Records a failed container creation. */
export function recordFailedCreation(
  record: RecordContainerEvent,
  container: Container,
  error: string,
): void {
  record(container, warning("Failed", `Error: ${error}`));
}

export function recordPullBackOff(record: RecordContainerEvent, container: Container): void {
  const shown = JSON.stringify(container.image ?? "");
  record(container, normal("BackOff", `Back-off pulling image ${shown}`));
  record(container, warning("Failed", "Error: ImagePullBackOff"));
}

export function recordRestartBackOff(
  record: RecordContainerEvent,
  container: Container,
  pod: string,
): void {
  const message = `Back-off restarting failed container ${container.name} in pod ${pod}`;
  record(container, warning("BackOff", message));
}

/** Records once per container and program or feature that it is not simulated. */
export function recordNotSimulated(
  record: RecordContainerEvent,
  container: Container,
  { run, part, effect }: NotSimulatedEvent,
): void {
  if (run.told.has(part)) return;
  run.told = new Set([...run.told, part]);
  record(container, normal("NotSimulated", `${effect}: ${part} is not simulated`));
}

interface NotSimulatedEvent {
  readonly run: { told: ReadonlySet<string> };
  /** The program or feature. */
  readonly part: string;
  /** What happens instead. */
  readonly effect: string;
}

export function recordStop(record: RecordContainerEvent, container: Container, why?: string): void {
  record(container, normal("Killing", why ?? `Stopping container ${container.name}`));
}
