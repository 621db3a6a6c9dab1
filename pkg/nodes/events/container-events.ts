/** Events about containers, in a kubelet's words. */
import { type Container, type Pod } from "#kinds";
import { imageBytes } from "../identifiers.ts";
import type { KubeletEvent } from "./kubelet-event.ts";

/** Tells what happens to a container of the pod that is being simulated. */
export type TellContainer = (container: Container, event: KubeletEvent) => void;

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

/** Path of a container in its pod, as Events name it. */
export function fieldPathOf({ spec }: Pod, { name }: Container): string {
  const has = (list: readonly Container[] = []) => list.some((each) => each.name === name);
  const list = has(spec?.containers)
    ? "containers"
    : has(spec?.initContainers)
      ? "initContainers"
      : "ephemeralContainers";
  return `spec.${list}{${name}}`;
}

/** A container starts; its image is there unless it is always pulled. */
export function tellStart(tell: TellContainer, container: Container): void {
  const { name, image = "", imagePullPolicy } = container;
  const shown = JSON.stringify(image);
  if (imagePullPolicy === "Always") {
    tell(container, normal("Pulling", `Pulling image ${shown}`));
    const how = `in 0s (0s including waiting). Image size: ${imageBytes} bytes.`;
    tell(container, normal("Pulled", `Successfully pulled image ${shown} ${how}`));
  } else {
    tell(container, normal("Pulled", `Container image ${shown} already present on machine`));
  }
  tell(container, normal("Created", `Created container: ${name}`));
  tell(container, normal("Started", `Started container ${name}`));
}

/** An attempt to pull an image fails. */
export function tellFailedPull(tell: TellContainer, container: Container, error: string): void {
  const shown = JSON.stringify(container.image ?? "");
  tell(container, normal("Pulling", `Pulling image ${shown}`));
  tell(container, warning("Failed", `Failed to pull image ${shown}: ${error}`));
  tell(container, warning("Failed", "Error: ErrImagePull"));
}

/** A container cannot be created. */
export function tellFailedCreation(tell: TellContainer, container: Container, error: string): void {
  tell(container, warning("Failed", `Error: ${error}`));
}

export function tellPullBackOff(tell: TellContainer, container: Container): void {
  const shown = JSON.stringify(container.image ?? "");
  tell(container, normal("BackOff", `Back-off pulling image ${shown}`));
  tell(container, warning("Failed", "Error: ImagePullBackOff"));
}

export function tellRestartBackOff(tell: TellContainer, container: Container, pod: string): void {
  const message = `Back-off restarting failed container ${container.name} in pod ${pod}`;
  tell(container, warning("BackOff", message));
}

export function tellStop(tell: TellContainer, container: Container, why?: string): void {
  tell(container, normal("Killing", why ?? `Stopping container ${container.name}`));
}
