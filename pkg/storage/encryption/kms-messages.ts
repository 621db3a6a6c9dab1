import { required, bytes, int32, map, value, string, structs } from "#schema";

/**
 * The messages of the KMS v2 API (k8s.io/kms/apis/v2), and EncryptedObject, the format in which
 * kube-apiserver stores values that are encrypted with a KMS key.
 */
const v2 = structs("v2");

export const statusRequest = v2("StatusRequest", "Asks how the service is.", {});

export const statusResponse = v2("StatusResponse", "How the service is.", {
  version: required(1, string, "Version of the API: v2."),
  healthz: required(2, string, "`ok`, or what is wrong."),
  keyId: required(3, string, "The key that encrypts now."),
});

export const encryptRequest = v2("EncryptRequest", "Asks for a secret to be encrypted.", {
  plaintext: required(1, bytes, "The secret."),
  uid: required(2, string, "Names the call in the logs of both sides."),
});

export const encryptResponse = v2("EncryptResponse", "An encrypted secret.", {
  ciphertext: required(1, bytes, "The secret, encrypted."),
  keyId: required(2, string, "The key it is encrypted with."),
  annotations: value(3, map(bytes), "What the service wants to be told when it decrypts."),
});

export const decryptRequest = v2("DecryptRequest", "Asks for a secret to be decrypted.", {
  ciphertext: required(1, bytes, "The secret, encrypted."),
  uid: required(2, string, "Names the call in the logs of both sides."),
  keyId: required(3, string, "The key it was encrypted with."),
  annotations: value(4, map(bytes), "What came with the encrypted secret."),
});

export const decryptResponse = v2("DecryptResponse", "A decrypted secret.", {
  plaintext: required(1, bytes, "The secret."),
});

/** Uses of the DEK source: as the AES-GCM key, or as the seed of derived keys. */
export const sources = { gcmKey: 0, seed: 1 } as const;

export const encryptedObject = v2("EncryptedObject", "A value as it is stored.", {
  encryptedData: required(1, bytes, "The value, encrypted with the secret."),
  keyID: required(2, string, "The key that the secret is encrypted with."),
  encryptedDEKSource: required(3, bytes, "The secret, encrypted by the service."),
  annotations: value(4, map(bytes), "What the service wants to be told when it decrypts."),
  encryptedDEKSourceType: required(
    5,
    int32,
    "0: the secret is a key; 1: keys are derived from it.",
  ),
});
