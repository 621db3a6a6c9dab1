import { readFileSync } from "node:fs";
import { ConfigurationFault, parseDuration } from "#meta";
import type { ExtenderConfiguration } from "../configuration/structs.ts";

/** A service that takes part in scheduling over HTTP. An empty verb is not supported. */
export interface ExtenderOptions {
  /** URL that the verbs are appended to. */
  readonly url: string;
  readonly filterVerb: string;
  readonly preemptVerb: string;
  readonly prioritizeVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  /** Longest time of a call. */
  readonly timeoutMs: number;
  /** Whether names of nodes suffice. */
  readonly nodeCacheCapable: boolean;
  /** Resources of the pods that it is called for; empty = all pods. */
  readonly managedResources: ReadonlySet<string>;
  /** Whether pods are scheduled although it fails. */
  readonly ignorable: boolean;
  readonly tls: ExtenderTls;
}

/** PEM texts, and how the server is verified. */
export interface ExtenderTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

const defaultTimeoutMs = 5_000;

/**
 * Options of the extenders of a configuration, those that may fail last.
 * @throws ConfigurationFault for certificates that cannot be read
 */
export function extenderOptions(
  extenders: readonly ExtenderConfiguration[],
): readonly ExtenderOptions[] {
  const all = extenders.map((extender) => {
    const { httpTimeout, managedResources = [] } = extender;
    const timeout = httpTimeout === undefined ? 0 : Number(parseDuration(httpTimeout)) / 1e6;
    return {
      url: (extender.urlPrefix ?? "").replace(/\/+$/, ""),
      filterVerb: extender.filterVerb ?? "",
      preemptVerb: extender.preemptVerb ?? "",
      prioritizeVerb: extender.prioritizeVerb ?? "",
      bindVerb: extender.bindVerb ?? "",
      weight: Number(extender.weight ?? 0),
      timeoutMs: timeout > 0 ? timeout : defaultTimeoutMs,
      nodeCacheCapable: extender.nodeCacheCapable ?? false,
      managedResources: new Set(managedResources.map(({ name = "" }) => name)),
      ignorable: extender.ignorable ?? false,
      tls: tlsOf(extender),
    };
  });
  return [
    ...all.filter(({ ignorable }) => !ignorable),
    ...all.filter(({ ignorable }) => ignorable),
  ];
}

function tlsOf({ tlsConfig = {}, enableHTTPS }: ExtenderConfiguration): ExtenderTls {
  const ca = pemOf(tlsConfig.caData, tlsConfig.caFile);
  const cert = pemOf(tlsConfig.certData, tlsConfig.certFile);
  const key = pemOf(tlsConfig.keyData, tlsConfig.keyFile);
  // As kube-scheduler: HTTPS without authorities is not verified.
  const isUnverified = tlsConfig.insecure === true || (enableHTTPS === true && ca === undefined);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tlsConfig.serverName ? { servername: tlsConfig.serverName } : {}),
    ...(isUnverified ? { rejectUnauthorized: false } : {}),
  };
}

function pemOf(data: string | undefined, file: string | undefined): string | undefined {
  if (data) return Buffer.from(data, "base64").toString("utf8");
  if (!file) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing ? "no such file or directory" : (error as Error).message;
    const text = `couldn't build extenders: open ${file}: ${why}`;
    throw new ConfigurationFault(text, { cause: error });
  }
}
