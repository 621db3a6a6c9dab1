import type { Clock } from "#base";
import type { Catalog } from "#meta";
import type { HealthCheck } from "#server";
import {
  type Backend,
  encryptedBackend,
  Encryption,
  type ObjectStore,
  parseEncryptionConfiguration,
} from "#storage";
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
  /** Key prefixes of the resources that may be encrypted. */
  readonly prefixes: () => readonly string[];
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
    await fromFlag("encryption-provider-config", () => files.use(sources, configure, "encryption"));
  }
  return {
    backend: encryptedBackend(backend, encryption),
    check: { name: "kms-providers", check: () => encryption.check() },
    prefixes: () => encryption.prefixes,
  };
}

/** Fails while stored objects cannot be decrypted, since lists and watches that include them fail. */
export function decryptionCheck(
  store: ObjectStore,
  prefixes: () => readonly string[],
): HealthCheck {
  const check = async (): Promise<void> => {
    await Promise.all(prefixes().map((prefix) => store.collection(prefix).filled()));
    const faulty = store.statistics().filter(({ unreadable }) => unreadable > 0);
    if (faulty.length === 0) return;
    const counts = faulty.map(({ prefix, unreadable }) => `${unreadable} below ${prefix}`);
    throw new Error(`objects cannot be decrypted: ${counts.join(", ")}`);
  };
  return { name: "decryption", endpoints: ["readyz"], check };
}
