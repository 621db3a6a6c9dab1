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
  /** Stands before every key, `/registry`. */
  readonly root: string;
  /** Group and resource by the prefix of the keys, `/secrets/`, of what is built in. */
  readonly resources: ReadonlyMap<string, GroupResource>;
  readonly clock?: Clock;
  /** Told of values that cannot be opened, once each, and of trouble with key services. */
  readonly report: (what: string, error: unknown) => void;
}

interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

interface Rule {
  readonly names: readonly GroupResource[];
  readonly keyring: PrefixTransformers;
}

/** Keys of values that could not be opened are remembered, so as to be reported once. */
const mostReported = 1_000;
const identityTransformers = new PrefixTransformers([identity]);

/** Which values are sealed with which keys. Without a configuration nothing is. */
export class Encryption {
  readonly #options: EncryptionOptions;
  #rules: readonly Rule[] = [];
  #services: readonly Kms[] = [];
  /** Ends the key services of the configuration in force. */
  #life = new AbortController();
  /** By the prefix of the keys. */
  readonly #rings = new Map<string, PrefixTransformers>();
  readonly #reported = new Set<string>();
  #changed = new AbortController();

  constructor(options: EncryptionOptions) {
    this.#options = options;
  }

  /** From now on this configuration is in force; values that are there stay as they are. */
  async configure(configuration: EncryptionConfiguration): Promise<void> {
    const life = new AbortController();
    const services: Kms[] = [];
    const rules: Rule[] = [];
    for (const { resources, providers } of configuration.resources ?? []) {
      const sealers: Transformer[] = [];
      for (const provider of providers ?? []) {
        if (provider.kms) services.push(this.#service(provider.kms, life.signal));
        sealers.push(...(provider.kms ? services.slice(-1) : await transformersOf(provider)));
      }
      rules.push({
        names: (resources ?? []).map(groupResource),
        keyring: new PrefixTransformers(sealers),
      });
    }
    this.#life.abort();
    this.#life = life;
    this.#services = services;
    this.#rules = rules;
    this.#rings.clear();
    this.#reported.clear();
    this.#announce();
  }

  /** Aborts when other keys come into force: what was opened before may be opened otherwise now. */
  get changed(): AbortSignal {
    return this.#changed.signal;
  }

  #announce(): void {
    const before = this.#changed;
    this.#changed = new AbortController();
    before.abort();
  }

  close(): void {
    this.#life.abort();
  }

  /** Throws while a key service cannot be used. */
  check(): void {
    for (const { fault } of this.#services)
      if (fault !== undefined) throw new TransformFault(fault);
  }

  /** False while nothing is configured: values are stored as they are. */
  get isConfigured(): boolean {
    return this.#rules.length > 0;
  }

  /** Encrypts a value for storage. Throws TransformFault. */
  encrypt(plain: Uint8Array, key: string): Uint8Array | Promise<Uint8Array> {
    return this.#ringOf(key).transformToStorage(plain, key);
  }

  /**
   * The entry with its value opened. A value that no key opens is left empty and `seal` says why:
   * it must not keep others from being read.
   */
  decrypt(entry: Entry): Entry | Promise<Entry> {
    const { key, value } = entry;
    if (!this.isConfigured && !isEncrypted(value)) return entry;
    try {
      const opened = this.#ringOf(key).transformFromStorage(value, key);
      if (!(opened instanceof Promise)) return withValue(entry, opened);
      return opened.then(
        (value) => withValue(entry, value),
        (error: unknown) => this.#unopened(entry, error),
      );
    } catch (error) {
      return this.#unopened(entry, error);
    }
  }

  #unopened(entry: Entry, error: unknown): Entry {
    if (!(error instanceof TransformFault)) throw error;
    const { key } = entry;
    const fault = `unable to transform key ${JSON.stringify(key)}: ${error.message}`;
    if (!this.#reported.has(key) && this.#reported.size < mostReported) {
      this.#reported.add(key);
      this.#options.report("Failed to decrypt an entry", fault);
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
    });
  }

  #ringOf(key: string): PrefixTransformers {
    const relative = key.slice(this.#options.root.length);
    const second = relative.indexOf("/", 1) + 1;
    const short = relative.slice(0, second);
    const known = this.#rings.get(short);
    if (known !== undefined) return known;
    const long = relative.slice(0, relative.indexOf("/", second) + 1 || second);
    let ring = this.#rings.get(long);
    if (ring === undefined) {
      ring = this.#chosen(short, long);
      // What follows the prefix of a namespaced resource is the namespace.
      this.#rings.set(this.#resourceOf(short) === undefined ? long : short, ring);
    }
    return ring;
  }

  #chosen(short: string, long: string): PrefixTransformers {
    const resource = this.#resourceOf(short) ?? this.#resourceOf(long);
    if (resource === undefined) return identityTransformers;
    const rule = this.#rules.find(({ names }) => names.some((name) => covers(name, resource)));
    return rule?.keyring ?? identityTransformers;
  }

  /** Custom resources lie under their group and plural. */
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

/** Each key is a sealer of its own. */
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
