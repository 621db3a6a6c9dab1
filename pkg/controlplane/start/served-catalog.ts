import type { Domain, Kind } from "#meta";
import { Catalog, resolve } from "#meta";

/** An invalid `--runtime-config`. */
export class RuntimeConfigError extends Error {
  override readonly name = "RuntimeConfigError";
}

interface ServedSettings {
  readonly runtimeConfig: ReadonlyMap<string, string>;
  readonly gates: (name: string) => boolean;
}

type Switches = ReadonlyMap<string, boolean>;

const stages: readonly (readonly [string, RegExp])[] = [
  ["api/ga", /^v\d+$/],
  ["api/beta", /^v\d+beta\d+$/],
  ["api/alpha", /^v\d+alpha\d+$/],
];

/**
 * The catalog that `--runtime-config` asks for. The most specific key wins: group/version/resource,
 * then group/version, then the stage (`api/beta`), then `api/all`, then what is on by default.
 * Versions whose feature gate is off are never served.
 * @throws RuntimeConfigError for values that are not true or false, and for unknown group versions.
 */
export function servedCatalog(
  kinds: readonly Kind[],
  domain: Domain,
  { runtimeConfig, gates }: ServedSettings,
): Catalog {
  const switches = parseSwitches(runtimeConfig);
  if (switches.size > 0) {
    const all = new Catalog(kinds, domain, () => true);
    const known = new Set(all.resources.map((resource) => resource.groupVersion));
    for (const key of switches.keys()) checkKey(key, known);
  }
  const catalog = catalogOf(kinds, domain, { switches, gates }).publish({
    enums: gates("OpenAPIEnums"),
    storageVersionHashes: gates("StorageVersionHash"),
  });
  for (const [group, version, plural] of required) {
    if (catalog.find(resolve(group, domain), version, plural) !== undefined) continue;
    const place = group === "" ? version : `${resolve(group, domain)}/${version}`;
    throw new RuntimeConfigError(
      `--runtime-config: ${place}/${plural} cannot be turned off: the server itself needs it`,
    );
  }
  return catalog;
}

/** Resources without which the server cannot start or answer requests. */
const required: readonly (readonly [group: string, version: string, plural: string])[] = [
  ["", "v1", "namespaces"],
  // Cluster IPs of Services, of `kubernetes` at first.
  ["networking.{api}", "v1", "ipaddresses"],
];

function catalogOf(
  kinds: readonly Kind[],
  domain: Domain,
  { switches, gates }: { readonly switches: Switches } & Pick<ServedSettings, "gates">,
): Catalog {
  return new Catalog(kinds, domain, ({ groupVersion, plural, served }) => {
    if (served.gate !== undefined && !gates(served.gate)) return false;
    const stage = stages.find(([, shape]) => shape.test(groupVersion.split("/").at(-1) ?? ""))?.[0];
    return (
      switches.get(`${canonical(groupVersion)}/${plural}`) ??
      switches.get(canonical(groupVersion)) ??
      (stage === undefined ? undefined : switches.get(stage)) ??
      switches.get("api/all") ??
      served.onByDefault
    );
  });
}

/** Normalizes `v1` to `api/v1`, the form of the core group. */
function canonical(groupVersion: string): string {
  return groupVersion.includes("/") ? groupVersion : `api/${groupVersion}`;
}

function parseSwitches(runtimeConfig: ReadonlyMap<string, string>): Switches {
  const switches = new Map<string, boolean>();
  for (const [key, value] of runtimeConfig) {
    if (value !== "true" && value !== "false") {
      throw new RuntimeConfigError(`--runtime-config: ${key}=${value} must be true or false`);
    }
    switches.set(/^v\d/.test(key) ? `api/${key}` : key, value === "true");
  }
  return switches;
}

function checkKey(key: string, known: ReadonlySet<string>): void {
  if (["api/all", "api/legacy", ...stages.map(([stage]) => stage)].includes(key)) return;
  const parts = key.split("/");
  const groupVersion = parts[0] === "api" ? parts[1] : parts.slice(0, 2).join("/");
  if (groupVersion === undefined || !known.has(groupVersion)) {
    throw new RuntimeConfigError(`--runtime-config: unknown group version ${JSON.stringify(key)}`);
  }
}
