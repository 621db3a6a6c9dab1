import { type Clock, systemClock } from "#base";
import type { Entry } from "../backend.ts";
import { aesCbc, aesGcm } from "./aes.ts";
import {
  type EncryptionConfiguration,
  groupResource,
  type KmsConfiguration,
  secretOf,
  timeoutMs,
} from "./configuration.ts";
import { cipherTransformer } from "./keyed.ts";
import { PrefixTransformers } from "./prefix-transformers.ts";
import { Kms } from "./kms.ts";
import { keyService } from "./kms-client.ts";
import {
  identity,
  isEncrypted,
  type Transformed,
  TransformFault,
  type Transformer,
} from "./transformer.ts";

interface EncryptionOptions {
  /** Prefix of all keys: `/registry`. */
  readonly root: string;
  /** Built-in resources by key prefix, such as `/secrets/`. */
  readonly resources: ReadonlyMap<string, GroupResource>;
  readonly clock?: Clock;
  /** Reports values that cannot be decrypted, once per key, and failures of KMS plugins. */
  readonly report: (message: string, error: unknown) => void;
}

interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

interface Rule {
  readonly names: readonly GroupResource[];
  readonly transformers: PrefixTransformers;
}

/** Maximum number of keys that are reported as not decryptable. */
const maxReported = 1_000;
/** The resource that clusters encrypt first: a server without keys must notice encrypted ones. */
const secrets: GroupResource = { group: "", resource: "secrets" };
const identityTransformers = new PrefixTransformers([identity]);

/** Encrypts and decrypts values by an EncryptionConfiguration; without one, values are not encrypted. */
export class Encryption {
  readonly #options: EncryptionOptions;
  #rules: readonly Rule[] = [];
  #services: readonly Kms[] = [];
  /** Stops the KMS plugins of the current configuration. */
  #lifetime = new AbortController();
  /** Transformers by key prefix. */
  readonly #transformers = new Map<string, PrefixTransformers>();
  readonly #reported = new Set<string>();
  #changed = new AbortController();

  constructor(options: EncryptionOptions) {
    this.#options = options;
  }

  /** Applies a configuration to later reads and writes; stored values do not change. */
  async configure(configuration: EncryptionConfiguration): Promise<void> {
    const lifetime = new AbortController();
    const services: Kms[] = [];
    const rules: Rule[] = [];
    for (const { resources, providers } of configuration.resources ?? []) {
      const transformers: Transformer[] = [];
      for (const provider of providers ?? []) {
        if (provider.kms) services.push(this.#service(provider.kms, lifetime.signal));
        transformers.push(...(provider.kms ? services.slice(-1) : await transformersOf(provider)));
      }
      rules.push({
        names: (resources ?? []).map(groupResource),
        transformers: new PrefixTransformers(transformers),
      });
    }
    this.#lifetime.abort();
    this.#lifetime = lifetime;
    this.#services = services;
    this.#rules = rules;
    this.#transformers.clear();
    this.#reported.clear();
    this.#announce();
  }

  /** Aborts when the keys change, after which decrypted values may be stale. */
  get changed(): AbortSignal {
    return this.#changed.signal;
  }

  #announce(): void {
    const before = this.#changed;
    this.#changed = new AbortController();
    before.abort();
  }

  close(): void {
    this.#lifetime.abort();
  }

  /** Health check: throws TransformFault while a KMS plugin fails. */
  check(): void {
    for (const { fault } of this.#services)
      if (fault !== undefined) throw new TransformFault(fault);
  }

  /** Whether any resource is encrypted. */
  get isConfigured(): boolean {
    return this.#rules.length > 0;
  }

  /** Key prefixes, without the root, of Secrets and of all resources that the configuration names. */
  get prefixes(): readonly string[] {
    const { resources } = this.#options;
    const names = this.#rules.flatMap((rule) => rule.names);
    const isNamed = (resource: GroupResource) =>
      covers(secrets, resource) || names.some((name) => covers(name, resource));
    const builtin = [...resources].filter(([, resource]) => isNamed(resource));
    const custom = names.filter(
      (name) =>
        ![name.group, name.resource].includes("*") &&
        name.group.includes(".") &&
        ![...resources.values()].some((resource) => covers(name, resource)),
    );
    return [
      ...builtin.map(([prefix]) => prefix),
      ...custom.map(({ group, resource }) => `/${group}/${resource}/`),
    ];
  }

  /** Encrypts a value for storage. Throws TransformFault. */
  encrypt(plain: Uint8Array, key: string): Uint8Array | Promise<Uint8Array> {
    return this.#transformersFor(key).transformToStorage(plain, key);
  }

  /**
   * Decrypts an entry. If this fails, the value is empty and `encryption` has the reason: what reads the
   * entry fails, while entries elsewhere can be read.
   */
  decrypt(entry: Entry): Entry | Promise<Entry> {
    const { key, value } = entry;
    if (!this.isConfigured && !isEncrypted(value)) return entry;
    try {
      const decrypted = this.#transformersFor(key).transformFromStorage(value, key);
      if (!(decrypted instanceof Promise)) return withValue(entry, decrypted);
      return decrypted.then(
        (value) => withValue(entry, value),
        (error: unknown) => this.#undecryptable(entry, error),
      );
    } catch (error) {
      return this.#undecryptable(entry, error);
    }
  }

  #undecryptable(entry: Entry, error: unknown): Entry {
    if (!(error instanceof TransformFault)) throw error;
    const { key } = entry;
    const fault = error.message;
    if (!this.#reported.has(key) && this.#reported.size < maxReported) {
      this.#reported.add(key);
      this.#options.report(
        "Failed to decrypt an entry",
        `unable to transform key ${JSON.stringify(key)}: ${fault}`,
      );
    }
    return { ...entry, value: new Uint8Array(0), encryption: { fault, stale: false } };
  }

  #service(configuration: KmsConfiguration, signal: AbortSignal): Kms {
    const { name, endpoint } = configuration;
    const { clock = systemClock, report } = this.#options;
    return new Kms({
      name,
      service: keyService({ endpoint, timeoutMs: timeoutMs(configuration) }),
      clock,
      signal,
      report: (error) => report(`KMS plugin ${name} failed`, error),
      onKeyChange: () => this.#announce(),
      onRecovery: () => {
        if (this.#reported.size === 0) return;
        this.#reported.clear();
        this.#announce();
      },
    });
  }

  #transformersFor(key: string): PrefixTransformers {
    const relative = key.slice(this.#options.root.length);
    const second = relative.indexOf("/", 1) + 1;
    const short = relative.slice(0, second);
    const cached = this.#transformers.get(short);
    if (cached !== undefined) return cached;
    const long = relative.slice(0, relative.indexOf("/", second) + 1 || second);
    let transformers = this.#transformers.get(long);
    if (transformers === undefined) {
      transformers = this.#transformersOfRule(short, long);
      // For a known resource, the next segment is the namespace.
      this.#transformers.set(this.#resourceOf(short) === undefined ? long : short, transformers);
    }
    return transformers;
  }

  #transformersOfRule(short: string, long: string): PrefixTransformers {
    const resource = this.#resourceOf(short) ?? this.#resourceOf(long);
    if (resource === undefined) return identityTransformers;
    const rule = this.#rules.find(({ names }) => names.some((name) => covers(name, resource)));
    return rule?.transformers ?? identityTransformers;
  }

  /** The resource of a key prefix; keys of custom resources start with group and plural. */
  #resourceOf(prefix: string): GroupResource | undefined {
    const builtin = this.#options.resources.get(prefix);
    if (builtin !== undefined) return builtin;
    const [, group = "", resource = "", end] = prefix.split("/");
    return end === "" && group.includes(".") ? { group, resource } : undefined;
  }
}

function covers(name: GroupResource, { group, resource }: GroupResource): boolean {
  if (name.group !== "*" && name.group !== group) return false;
  return name.resource === "*" || name.resource === resource;
}

function withValue(entry: Entry, { value, stale }: Transformed): Entry {
  return stale ? { ...entry, value, encryption: { stale } } : { ...entry, value };
}

type Provider = NonNullable<
  NonNullable<EncryptionConfiguration["resources"]>[number]["providers"]
>[number];

/** One transformer per key of a provider. */
async function transformersOf(provider: Provider): Promise<readonly Transformer[]> {
  const { aesgcm, aescbc, secretbox: box } = provider;
  if (aesgcm)
    return keysOf(aesgcm).map(([name, key]) => cipherTransformer("aesgcm", name, aesGcm(key)));
  if (aescbc)
    return keysOf(aescbc).map(([name, key]) => cipherTransformer("aescbc", name, aesCbc(key)));
  if (!box) return [identity];
  const { secretbox } = await import("./secretbox.ts");
  return keysOf(box).map(([name, key]) => cipherTransformer("secretbox", name, secretbox(key)));
}

function keysOf({ keys }: NonNullable<Provider["aesgcm"]>): readonly (readonly [string, Buffer])[] {
  return (keys ?? []).map(({ name, secret }) => [name, secretOf(secret)!]);
}
