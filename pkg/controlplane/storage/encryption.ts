import type { Clock } from "#base";
import type { Catalog } from "#meta";
import type { HealthCheck } from "#server";
import { type Backend, encryptedBackend, Encryption, parseEncryptionConfiguration } from "#storage";
import { type FileReloader, fromFlag, type TextSource } from "../files/file-reloader.ts";

/** Configuration of encryption at rest. */
export interface EncryptionAtRest {
  /** An EncryptionConfiguration (apiserver.config.k8s.io/v1), YAML or JSON. */
  readonly configuration: TextSource;
}

interface EncryptAtRestOptions {
  readonly encryption: EncryptionAtRest | undefined;
  readonly root: string;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly files: FileReloader;
  readonly report: (what: string, error: unknown) => void;
}

interface EncryptedAtRest {
  readonly backend: Backend;
  /** Fails while a KMS plugin is unavailable. */
  readonly check: HealthCheck;
}

/**
 * Wraps a backend so that it encrypts values as configured. Encrypted values are recognized even
 * without a configuration.
 * @throws FileError
 */
export async function encryptAtRest(
  backend: Backend,
  sealing: EncryptAtRestOptions,
): Promise<EncryptedAtRest> {
  const { root, catalog, clock, files, report, encryption: atRest } = sealing;
  const resources = new Map(
    catalog.resources.map(({ keyPrefix, hub, plural: resource }) => [
      keyPrefix,
      { group: hub.group, resource },
    ]),
  );
  const encryption = new Encryption({ root, resources, clock, report });
  if (atRest !== undefined) {
    const configure = (text = "") => encryption.configure(parseEncryptionConfiguration(text));
    const sources = [atRest.configuration];
    await fromFlag("encryption-provider-config", () => files.use(sources, configure));
  }
  return {
    backend: encryptedBackend(backend, encryption),
    check: { name: "kms-providers", check: () => encryption.check() },
  };
}
