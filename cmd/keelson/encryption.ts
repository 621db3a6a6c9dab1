import type { Clock } from "#base";
import { type Catalog, ConfigurationFault } from "#meta";
import type { HealthCheck } from "#server";
import { type Backend, Encryption, parseEncryptionConfiguration, sealedBackend } from "#storage";
import { fromFlag } from "./followed-files.ts";

/** How values are encrypted at rest. */
export interface EncryptionAtRest {
  /** Text of an EncryptionConfiguration (apiserver.config.k8s.io/v1), YAML or JSON. */
  readonly configuration: string;
  /** Asked every minute for a newer text, if there. */
  readonly reload?: () => Promise<string>;
}

interface Sealing {
  readonly encryption: EncryptionAtRest | undefined;
  readonly root: string;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly report: (what: string, error: unknown) => void;
}

interface Sealed {
  readonly backend: Backend;
  /** Fails while a key service cannot be used. */
  readonly check: HealthCheck;
  /** Follows the configuration until the signal aborts. */
  readonly follow: (signal: AbortSignal) => Promise<void>;
}

const reloadMs = 60_000;

/**
 * The backend with its values encrypted as configured. Values that were encrypted once are
 * recognized without a configuration, too. Throws FileFault.
 */
export async function sealed(backend: Backend, sealing: Sealing): Promise<Sealed> {
  const { root, catalog, clock, report, encryption: atRest } = sealing;
  const resources = new Map(
    catalog.resources.map(({ keyPrefix, hub, plural: resource }) => [
      keyPrefix,
      { group: hub.group, resource },
    ]),
  );
  const encryption = new Encryption({ root, resources, clock, report });
  if (atRest !== undefined) {
    const parse = () => parseEncryptionConfiguration(atRest.configuration);
    await encryption.configure(fromFlag("encryption-provider-config", parse));
  }
  return {
    backend: sealedBackend(backend, encryption),
    check: { name: "kms-providers", check: () => encryption.check() },
    follow: (signal) => follow(encryption, sealing, signal),
  };
}

async function follow(
  encryption: Encryption,
  { encryption: atRest, clock, report }: Sealing,
  signal: AbortSignal,
): Promise<void> {
  if (atRest?.reload === undefined) return;
  let current = atRest.configuration;
  while (!signal.aborted) {
    await clock.sleep(reloadMs, signal, { background: true }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const text = await atRest.reload();
      if (text === current) continue;
      await encryption.configure(parseEncryptionConfiguration(text));
      current = text;
    } catch (error) {
      // The configuration in force stays so.
      const what = error instanceof ConfigurationFault ? error.message : error;
      report("reload of the encryption configuration", what);
    }
  }
}
