import { readFileSync } from "node:fs";
import { ConfigurationFault, parseDuration } from "#meta";
import type { ExtenderConfiguration } from "../configuration/structs.ts";

/** Options of an HTTP extender. An empty verb = not supported. */
export interface ExtenderOptions {
  /** URL prefix of the verbs. */
  readonly url: string;
  readonly filterVerb: string;
  readonly preemptVerb: string;
  readonly prioritizeVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  /** Timeout of a call. */
  readonly timeoutMs: number;
  /** Whether the extender caches nodes, so that requests contain node names only. */
  readonly nodeCacheCapable: boolean;
  /** It is called for pods that use any of these resources; empty = all pods. */
  readonly managedResources: ReadonlySet<string>;
  /** Whether scheduling continues if it fails. */
  readonly ignorable: boolean;
  readonly tls: ExtenderTls;
}

/** Certificates and keys (PEM), and verification of the server. */
export interface ExtenderTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

const defaultTimeoutMs = 5_000;

/**
 * Options of the extenders in a configuration, ignorable ones last.
 * @throws ConfigurationFault for unreadable certificates
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
  // As in kube-scheduler, HTTPS without a CA is not verified.
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
