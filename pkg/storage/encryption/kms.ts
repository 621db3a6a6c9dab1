import { createHash, randomBytes, randomUUID } from "node:crypto";
import { type Clock, setBounded } from "#base";
import { DecodeFault, fromProtobuf, type Infer, toProtobuf } from "#schema";
import { aesGcm, type Cipher, derivedKeyGcm } from "./aes.ts";
import type { KeyService } from "./kms-client.ts";
import { encryptedObject, sources } from "./kms-messages.ts";
import { type Transformed, TransformFault, type Transformer } from "./transformer.ts";

interface KmsOptions {
  /** Part of the prefix of every value; values of another name are not opened. */
  readonly name: string;
  readonly service: KeyService;
  readonly clock: Clock;
  /** Ends the questions for the current key. */
  readonly signal: AbortSignal;
  readonly report: (error: unknown) => void;
  /** Values that were sealed until now are stale. */
  readonly onKeyChange: () => void;
}

type Stored = Infer<typeof encryptedObject>;

/** What new values are sealed with. */
interface Current {
  readonly cipher: Cipher;
  readonly envelope: Omit<Stored, "encryptedData">;
}

const seedBytes = 32;
const healthyMs = 60_000;
const unhealthyMs = 10_000;
/** Opened secrets: about as many as there were keys and starts of servers. */
const mostCiphers = 1_000;
const mostKeyId = 1024;
const mostSource = 1024;

/**
 * Values under keys that a key management service keeps (KMS v2). A seed of this process is
 * encrypted by the service once, and again when the service changes its key; every value gets a key
 * derived from the seed, so that the service is not asked for each. What other processes sealed is
 * opened with their seeds, each decrypted by the service once.
 */
export class Kms implements Transformer {
  readonly prefix: string;
  readonly #options: KmsOptions;
  #current: Current | undefined;
  #renewing: Promise<Current> | undefined;
  /** By the hash of the encrypted secret and what belongs to it; the oldest one first. */
  readonly #ciphers = new Map<string, Promise<Cipher> | Cipher>();
  #fault: string | undefined = "the key service has not been asked yet";

  constructor(options: KmsOptions) {
    this.#options = options;
    this.prefix = `k8s:enc:kms:v2:${options.name}:`;
    void this.#watchKey();
  }

  /** Why new values cannot be sealed; undefined = they can. */
  get fault(): string | undefined {
    return this.#fault;
  }

  transformToStorage(plain: Uint8Array, key: string): Uint8Array | Promise<Uint8Array> {
    const current = this.#current;
    if (current !== undefined) return this.#sealed(current, plain, key);
    return this.#renew().then((made) => this.#sealed(made, plain, key));
  }

  transformFromStorage(sealed: Uint8Array, key: string): Transformed | Promise<Transformed> {
    const stored = decoded(sealed);
    const cipher = this.#cipherOf(stored);
    const data = Buffer.from(stored.encryptedData, "base64");
    const opened = (ready: Cipher): Transformed => ({
      value: ready.decrypt(data, key),
      stale: this.#isStale(stored),
    });
    return cipher instanceof Promise ? cipher.then(opened) : opened(cipher);
  }

  #isStale({ keyID, encryptedDEKSourceType: type }: Stored): boolean {
    const current = this.#current?.envelope;
    return current !== undefined && (keyID !== current.keyID || type !== sources.seed);
  }

  #sealed({ cipher, envelope }: Current, plain: Uint8Array, key: string): Uint8Array {
    const encryptedData = cipher.encrypt(plain, key).toString("base64");
    const message = toProtobuf(encryptedObject, { ...envelope, encryptedData });
    return Buffer.concat([Buffer.from(this.prefix), message]);
  }

  #cipherOf(stored: Stored): Promise<Cipher> | Cipher {
    const id = identityOf(stored);
    const known = this.#ciphers.get(id);
    if (known !== undefined) return known;
    const cipher = this.#decrypted(stored);
    this.#keep(id, cipher);
    cipher.then(
      (ready) => this.#keep(id, ready),
      () => this.#ciphers.delete(id),
    );
    return cipher;
  }

  #keep(id: string, cipher: Promise<Cipher> | Cipher): void {
    setBounded(this.#ciphers, [id, cipher], mostCiphers);
  }

  async #decrypted(stored: Stored): Promise<Cipher> {
    const { encryptedDEKSource: ciphertext, keyID: keyId, annotations } = stored;
    const request = {
      ciphertext,
      keyId,
      ...(annotations === undefined ? {} : { annotations }),
      uid: randomUUID(),
    };
    const { plaintext } = await this.#options.service.decrypt(request).catch((error: unknown) => {
      throw new TransformFault(`failed to decrypt DEK, error: ${textOf(error)}`);
    });
    const secret = Buffer.from(plaintext, "base64");
    const isSeed = stored.encryptedDEKSourceType === sources.seed;
    const fits = isSeed ? secret.byteLength >= seedBytes : [16, 24, 32].includes(secret.byteLength);
    if (!fits) throw new TransformFault(`a key of ${secret.byteLength} bytes cannot be used`);
    return isSeed ? derivedKeyGcm(secret) : aesGcm(secret);
  }

  /** A new seed, encrypted with the key that the service uses now. */
  #renew(): Promise<Current> {
    this.#renewing ??= this.#made().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #made(): Promise<Current> {
    const seed = randomBytes(seedBytes);
    const plaintext = seed.toString("base64");
    const answer = await this.#options.service
      .encrypt({ plaintext, uid: randomUUID() })
      .catch((error: unknown) => {
        throw new TransformFault(`failed to encrypt DEK, error: ${textOf(error)}`);
      });
    const { ciphertext, keyId: keyID, annotations } = answer;
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
    this.#keep(identityOf(envelope), this.#current.cipher);
    return this.#current;
  }

  /** Asks for the key in use, often while something is wrong, and follows its changes. */
  async #watchKey(): Promise<void> {
    const { service, clock, signal, report } = this.#options;
    while (!signal.aborted) {
      try {
        const { version, healthz, keyId } = await service.status();
        if (version !== "v2" && version !== "v2beta1") {
          throw new TransformFault(`expected KMSv2 API version v2, got ${version}`);
        }
        if (healthz !== "ok")
          throw new TransformFault(`the service says ${JSON.stringify(healthz)}`);
        if (this.#current?.envelope.keyID !== keyId) await this.#renew();
        this.#fault = undefined;
      } catch (error) {
        // Told once and not at every question.
        if (this.#fault !== textOf(error) && !signal.aborted) report(error);
        this.#fault = textOf(error);
      }
      const pause = this.#fault === undefined ? healthyMs : unhealthyMs;
      await clock.sleep(pause, signal, { background: true }).catch(() => undefined);
    }
    service.close();
  }
}

function decoded(sealed: Uint8Array): Stored {
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
  if (source > mostSource) throw new TransformFault(`encrypted DEK source is ${source} bytes long`);
  if (keyID === "") throw new TransformFault("keyID is empty");
  if (keyID.length > mostKeyId) throw new TransformFault(`keyID is ${keyID.length} bytes long`);
}

function identityOf(envelope: Omit<Stored, "encryptedData">): string {
  const { keyID, encryptedDEKSource, encryptedDEKSourceType, annotations } = envelope;
  const sorted = Object.entries(annotations ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = JSON.stringify([keyID, encryptedDEKSource, encryptedDEKSourceType, sorted]);
  return createHash("sha256").update(parts).digest("base64");
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
