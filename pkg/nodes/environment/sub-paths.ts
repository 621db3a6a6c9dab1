/** Paths within volumes that containers mount. */
import type { Container } from "#kinds";
import { expandReferences } from "./references.ts";

/** Error of a mount, with the kubelet's message. */
export class SubPathFault extends Error {}

/**
 * A container whose mounts have their `subPathExpr` expanded to `subPath`.
 * @throws SubPathFault
 */
export function withSubPaths(
  container: Container,
  environmentOf: () => ReadonlyMap<string, string>,
): Container {
  const { volumeMounts = [] } = container;
  if (!volumeMounts.some(({ subPath = "", subPathExpr = "" }) => subPath + subPathExpr !== "")) {
    return container;
  }
  const expanded = volumeMounts.map(({ subPathExpr = "", ...mount }) => {
    const subPath = subPathExpr === "" ? mount.subPath : expand(subPathExpr, environmentOf());
    if (subPath === undefined) return mount;
    refuseOutside(subPath);
    return { ...mount, subPath };
  });
  return { ...container, volumeMounts: expanded };
}

function expand(expression: string, environment: ReadonlyMap<string, string>): string {
  const absent = new Set<string>();
  const path = expandReferences(expression, (name) => {
    const value = environment.get(name) ?? "";
    if (value === "") absent.add(name);
    return value;
  });
  if (absent.size === 0) return path;
  throw new SubPathFault(`missing value for ${[...absent].sort().join(", ")}`);
}

function refuseOutside(path: string): void {
  if (path.startsWith("/")) {
    throw new SubPathFault(`error SubPath \`${path}\` must not be an absolute path`);
  }
  if (path.split("/").includes("..")) {
    const why = "must not contain '..'";
    throw new SubPathFault(`unable to provision SubPath \`${path}\`: ${why}`);
  }
}
