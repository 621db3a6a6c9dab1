/** Keys that sign and verify service account tokens. */
import {
  constants,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { promisify } from "node:util";

export type Algorithm = keyof typeof schemes;

const pss = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
};

/** Node.js signature options of the asymmetric algorithms of RFC 7518. */
export const schemes = {
  RS256: { hash: "sha256", options: {} },
  RS384: { hash: "sha384", options: {} },
  RS512: { hash: "sha512", options: {} },
  PS256: { hash: "sha256", options: pss },
  PS384: { hash: "sha384", options: pss },
  PS512: { hash: "sha512", options: pss },
  ES256: { hash: "sha256", options: { dsaEncoding: "ieee-p1363" } },
  ES384: { hash: "sha384", options: { dsaEncoding: "ieee-p1363" } },
  ES512: { hash: "sha512", options: { dsaEncoding: "ieee-p1363" } },
} as const;

/** A public key with its only algorithm, so that a token cannot choose another one. */
export interface VerifyingKey {
  /** Key id: base64url of the SHA-256 of the DER-encoded key. */
  readonly id: string;
  readonly algorithm: Algorithm;
  readonly publicKey: KeyObject;
}

export interface SigningKey extends VerifyingKey {
  readonly privateKey: KeyObject;
}

const rsaAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const;
const ecAlgorithms: Readonly<Record<string, Algorithm>> = {
  prime256v1: "ES256",
  secp384r1: "ES384",
  secp521r1: "ES512",
};

const minimumRsaBits = 2048;

const generatePair = promisify(generateKeyPair);

/** A new private key as PEM text. */
export async function generateSigningKey(algorithm: "ES256" | "RS256"): Promise<string> {
  const { privateKey } =
    algorithm === "RS256"
      ? await generatePair("rsa", { modulusLength: minimumRsaBits })
      : await generatePair("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }) as string;
}

/** A new private key of ES256 as PEM text; takes a fraction of a millisecond. */
export function generateSmallSigningKey(): string {
  return generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  }).privateKey;
}

/** @throws Error for an invalid or unsupported private key */
export function parseSigningKey(pem: string): SigningKey {
  const privateKey = createPrivateKey(pem);
  return { ...verifyingKey(createPublicKey(privateKey)), privateKey };
}

/** All keys of a PEM text; of private keys the public ones. */
export function parseVerifyingKeys(pem: string): readonly VerifyingKey[] {
  const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;
  const blocks = [...pem.matchAll(block)].filter(([, label]) => label !== "EC PARAMETERS");
  if (blocks.length === 0) throw new Error("no PEM block with a key");
  return blocks.map(([text]) => verifyingKey(createPublicKey(text)));
}

function verifyingKey(publicKey: KeyObject): VerifyingKey {
  const der = publicKey.export({ type: "spki", format: "der" });
  const id = createHash("sha256").update(der).digest("base64url");
  const [algorithm] = algorithmsOf(publicKey);
  return { id, algorithm, publicKey };
}

/**
 * Algorithms of a key, the default first.
 * @throws Error for a key that is too weak or of an unsupported type
 */
export function algorithmsOf({
  asymmetricKeyType,
  asymmetricKeyDetails,
}: KeyObject): readonly [Algorithm, ...Algorithm[]] {
  if (asymmetricKeyType === "rsa") {
    const bits = asymmetricKeyDetails?.modulusLength ?? 0;
    if (bits >= minimumRsaBits) return rsaAlgorithms;
    throw new Error(`an RSA key of ${bits} bits is too weak`);
  }
  const found = ecAlgorithms[asymmetricKeyDetails?.namedCurve ?? ""];
  if (asymmetricKeyType === "ec" && found !== undefined) return [found];
  throw new Error(`keys of type ${asymmetricKeyType} do not sign tokens`);
}

/** The JSON Web Key Set of `/openid/v1/jwks`. */
export function keySet(keys: readonly VerifyingKey[]): object {
  const unique = new Map(keys.map((key) => [key.id, key]));
  return {
    keys: [...unique.values()].map(({ id, algorithm, publicKey }) => {
      const { kty, ...numbers } = publicKey.export({ format: "jwk" });
      return { use: "sig", kty, kid: id, alg: algorithm, ...numbers };
    }),
  };
}
