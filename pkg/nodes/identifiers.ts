/** Deterministic identifiers in place of those that machines and container runtimes generate. */
import { createHash } from "node:crypto";
import { formatSeconds } from "#meta";

/** Name of the simulated container runtime, as in `containerID`. */
export const runtimeName = "simulated";

function digest(...words: readonly string[]): string {
  return createHash("sha256").update(words.join("\0")).digest("hex");
}

/** containerID: `simulated://` and 64 hexadecimal digits, different for each start. */
export function containerId(podUid: string, container: string, restarts: number): string {
  return `${runtimeName}://${digest(podUid, container, String(restarts))}`;
}

/** imageID: the image without its tag, with a simulated digest. */
export function imageId(image: string): string {
  const [repository = "", pinned] = image.split("@");
  const untagged = repository.replace(/:[^:/]*$/, "");
  return `${untagged}@${pinned ?? `sha256:${digest(image)}`}`;
}

/** Size of every image, in bytes. */
export const imageBytes = 50_000_000;

/** Machine id or boot id without hyphens: 32 hexadecimal digits. */
export function machineId(node: string, what: string): string {
  return digest(node, what).slice(0, 32);
}

/** UID of a static pod: hash of manifest, node and file in 32 hexadecimal digits. */
export function staticPodUid(manifest: string, node: string, file: string): string {
  return digest(manifest, node, file).slice(0, 32);
}

/** Deterministic UUID of its arguments. */
export function stableUuid(node: string, what: string): string {
  const hex = digest(node, what);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`];
  return [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}

/** Deterministic number in [0, 1) of its arguments. */
export function stableFraction(...words: readonly string[]): number {
  return Number.parseInt(digest(...words).slice(0, 8), 16) / 2 ** 32;
}

/** Formats milliseconds since 1970 as metav1.Time: RFC 3339 in seconds. */
export function timeText(ms: number): string {
  return formatSeconds({ seconds: Math.floor(ms / 1000), nanos: 0 });
}
