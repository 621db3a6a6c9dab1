/** Identifiers that a machine or a container runtime would make up: functions of what they name. */
import { createHash } from "node:crypto";
import { formatSeconds } from "#meta";

/** Name of the simulated container runtime, as in `containerID`. */
export const runtimeName = "simulated";

function digest(...words: readonly string[]): string {
  return createHash("sha256").update(words.join("\0")).digest("hex");
}

/** `simulated://` and 64 hexadecimal digits; another one for each start of a container. */
export function containerId(podUid: string, container: string, restarts: number): string {
  return `${runtimeName}://${digest(podUid, container, String(restarts))}`;
}

/** The image without its tag, by a digest that is made up. */
export function imageId(image: string): string {
  const [repository = "", pinned] = image.split("@");
  const untagged = repository.replace(/:[^:/]*$/, "");
  return `${untagged}@${pinned ?? `sha256:${digest(image)}`}`;
}

/** Size of every image, in bytes. */
export const imageBytes = 50_000_000;

/** 32 hexadecimal digits. */
export function machineId(node: string, what: string): string {
  return digest(node, what).slice(0, 32);
}

/** UID of a static pod: 32 hexadecimal digits that tell its manifest, node and file. */
export function staticPodUid(manifest: string, node: string, file: string): string {
  return digest(manifest, node, file).slice(0, 32);
}

/** A UUID that depends on its words alone. */
export function stableUuid(node: string, what: string): string {
  const hex = digest(node, what);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`];
  return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}

/** A number in [0, 1) that depends on its words alone. */
export function stableFraction(...words: readonly string[]): number {
  return Number.parseInt(digest(...words).slice(0, 8), 16) / 2 ** 32;
}

/** Milliseconds since 1970 as a time of the API, to the second. */
export function timeText(ms: number): string {
  return formatSeconds({ seconds: Math.floor(ms / 1000), nanos: 0 });
}
