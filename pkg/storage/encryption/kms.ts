import { createHash, randomBytes } from "node:crypto";
import { type Clock, randomUuid, setBounded } from "#base";
import { DecodeFault, fromProtobuf, type Infer, toProtobuf } from "#schema";
import { aesGcm, type Cipher, derivedKeyGcm } from "./aes.ts";
import type { KeyService } from "./kms-client.ts";
import { encryptedObject, sources } from "./kms-messages.ts";
import { type Transformed, TransformFault, type Transformer } from "./transformer.ts";

interface KmsOptions {
  /** Name of the KMS provider, which is part of the prefix of its values. */
  readonly name: string;
  readonly service: KeyService;
  readonly clock: Clock;
  /** Ends the status polling. */
  readonly signal: AbortSignal;
  readonly report: (error: unknown) => void;
  /** Called when the key id changes, which makes all stored values stale. */
  readonly onKeyChange: () => void;
  /** Called when the plugin works after a failure, so that more stored values can be decrypted. */
  readonly onRecovery: () => void;
}

type Stored = Infer<typeof encryptedObject>;

/** The data encryption key of new values. */
interface Current {
  readonly cipher: Cipher;
  readonly envelope: Omit<Stored, "encryptedData">;
}

const seedBytes = 32;
const healthyMs = 60_000;
const unhealthyMs = 10_000;
/** Maximum number of cached DEKs: about one per key and start of a server. */
const maxCiphers = 1_000;
const maxKeyIdBytes = 1024;
const maxSourceBytes = 1024;

/**
 * Envelope encryption with a KMS v2 plugin. The plugin encrypts a random seed once per process and key
 * id; each value is encrypted with a key that is derived from the seed, without a call. Seeds of other
 * processes are decrypted by the plugin once and cached.
 */
export class Kms implements Transformer {
  readonly prefix: string;
  readonly #options: KmsOptions;
  #current: Current | undefined;
  #renewing: Promise<Current> | undefined;
  /** Decrypted DEKs by hash of their envelope, the oldest first. */
  readonly #ciphers = new Map<string, Promise<Cipher> | Cipher>();
  #fault: string | undefined = "the status of the KMS plugin is not known yet";

  constructor(options: KmsOptions) {
    this.#options = options;
    this.prefix = `k8s:enc:kms:v2:${options.name}:`;
    void this.#watchKey();
  }

  /** Why the plugin is unhealthy; undefined = it is healthy. */
  get fault(): string | undefined {
    return this.#fault;
  }

  transformToStorage(plain: Uint8Array, key: string): Uint8Array | Promise<Uint8Array> {
    const current = this.#current;
    if (current !== undefined) return this.#encryptWith(current, plain, key);
    return this.#renew().then((renewed) => this.#encryptWith(renewed, plain, key));
  }

  transformFromStorage(sealed: Uint8Array, key: string): Transformed | Promise<Transformed> {
    const stored = decodeStored(sealed);
    const cipher = this.#cipherOf(stored);
    const data = Buffer.from(stored.encryptedData, "base64");
    const decryptWith = (ready: Cipher): Transformed => ({
      value: ready.decrypt(data, key),
      stale: this.#isStale(stored),
    });
    return cipher instanceof Promise ? cipher.then(decryptWith) : decryptWith(cipher);
  }

  #isStale({ keyID, encryptedDEKSourceType: type }: Stored): boolean {
    const current = this.#current?.envelope;
    return current !== undefined && (keyID !== current.keyID || type !== sources.seed);
  }

  #encryptWith({ cipher, envelope }: Current, plain: Uint8Array, key: string): Uint8Array {
    const encryptedData = cipher.encrypt(plain, key).toString("base64");
    const message = toProtobuf(encryptedObject, { ...envelope, encryptedData });
    return Buffer.concat([Buffer.from(this.prefix), message]);
  }

  #cipherOf(stored: Stored): Promise<Cipher> | Cipher {
    const id = envelopeHash(stored);
    const cached = this.#ciphers.get(id);
    if (cached !== undefined) return cached;
    const cipher = this.#decryptDek(stored);
    this.#cacheCipher(id, cipher);
    cipher.then(
      (ready) => this.#cacheCipher(id, ready),
      () => this.#ciphers.delete(id),
    );
    return cipher;
  }

  #cacheCipher(id: string, cipher: Promise<Cipher> | Cipher): void {
    setBounded(this.#ciphers, [id, cipher], maxCiphers);
  }

  async #decryptDek(stored: Stored): Promise<Cipher> {
    const { encryptedDEKSource: ciphertext, keyID: keyId, annotations } = stored;
    const request = {
      ciphertext,
      keyId,
      ...(annotations === undefined ? {} : { annotations }),
      uid: randomUuid(),
    };
    const { plaintext } = await this.#options.service.decrypt(request).catch((error: unknown) => {
      throw new TransformFault(`failed to decrypt DEK, error: ${textOf(error)}`);
    });
    const secret = Buffer.from(plaintext, "base64");
    const isSeed = stored.encryptedDEKSourceType === sources.seed;
    const isValid = isSeed
      ? secret.byteLength >= seedBytes
      : [16, 24, 32].includes(secret.byteLength);
    if (!isValid) throw new TransformFault(`invalid DEK length: ${secret.byteLength} bytes`);
    return isSeed ? derivedKeyGcm(secret) : aesGcm(secret);
  }

  /** Creates a seed that is encrypted with the plugin's current key. */
  #renew(): Promise<Current> {
    this.#renewing ??= this.#createCurrent().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #createCurrent(): Promise<Current> {
    const seed = randomBytes(seedBytes);
    const plaintext = seed.toString("base64");
    const response = await this.#options.service
      .encrypt({ plaintext, uid: randomUuid() })
      .catch((error: unknown) => {
        throw new TransformFault(`failed to encrypt DEK, error: ${textOf(error)}`);
      });
    const { ciphertext, keyId: keyID, annotations } = response;
    const encryptedDEKSourceType = sources.seed;
    const envelope = {
      keyID,
      encryptedDEKSource: ciphertext,
      ...(annotations === undefined ? {} : { annotations }),
      encryptedDEKSourceType,
    };
    checkEnvelope(envelope);
    const before = this.#current?.envelope.keyID;
    this.#current = { cipher: derivedKeyGcm(seed), envelope };
    if (before !== undefined && before !== keyID) this.#options.onKeyChange();
    this.#cacheCipher(envelopeHash(envelope), this.#current.cipher);
    return this.#current;
  }

  /** Polls the plugin's status, more often while it fails, and renews the seed when the key changes. */
  async #watchKey(): Promise<void> {
    const { service, clock, signal, report } = this.#options;
    while (!signal.aborted) {
      try {
        const { version, healthz, keyId } = await service.status();
        if (version !== "v2" && version !== "v2beta1") {
          throw new TransformFault(`expected KMSv2 API version v2, got ${version}`);
        }
        if (healthz !== "ok") throw new TransformFault(`got unexpected healthz status: ${healthz}`);
        if (this.#current?.envelope.keyID !== keyId) await this.#renew();
        const hasFailed = this.#fault !== undefined;
        this.#fault = undefined;
        if (hasFailed) this.#options.onRecovery();
      } catch (error) {
        // An unchanged failure is reported once.
        if (this.#fault !== textOf(error) && !signal.aborted) report(error);
        this.#fault = textOf(error);
      }
      const pause = this.#fault === undefined ? healthyMs : unhealthyMs;
      await clock.sleep(pause, signal, { background: true }).catch(() => undefined);
    }
    service.close();
  }
}

function decodeStored(sealed: Uint8Array): Stored {
  try {
    const stored = fromProtobuf(encryptedObject, sealed);
    if (stored.encryptedData === "") throw new TransformFault("encrypted data is empty");
    checkEnvelope(stored);
    return stored;
  } catch (error) {
    throw error instanceof DecodeFault ? new TransformFault(error.message) : error;
  }
}

function checkEnvelope(envelope: Omit<Stored, "encryptedData">): void {
  const { keyID, encryptedDEKSource, encryptedDEKSourceType: type } = envelope;
  if (type !== sources.gcmKey && type !== sources.seed) {
    throw new TransformFault(`unknown encryptedDEKSourceType: ${type}`);
  }
  const source = Buffer.from(encryptedDEKSource, "base64").byteLength;
  if (source === 0) throw new TransformFault("encrypted DEK source is empty");
  if (source > maxSourceBytes)
    throw new TransformFault(`encrypted DEK source is ${source} bytes long`);
  if (keyID === "") throw new TransformFault("keyID is empty");
  if (keyID.length > maxKeyIdBytes) throw new TransformFault(`keyID is ${keyID.length} bytes long`);
}

function envelopeHash(envelope: Omit<Stored, "encryptedData">): string {
  const { keyID, encryptedDEKSource, encryptedDEKSourceType, annotations } = envelope;
  const sorted = Object.entries(annotations ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = JSON.stringify([keyID, encryptedDEKSource, encryptedDEKSourceType, sorted]);
  return createHash("sha256").update(parts).digest("base64");
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
