import { always, bytes, int32, map, plain, string, structs } from "#schema";

/**
 * The messages of the key management service API v2 (source: k8s.io/kms/apis/v2), and what is
 * stored with a value that was sealed under one of its keys (source: kube-apiserver's format).
 */
const v2 = structs("v2");

export const statusRequest = v2("StatusRequest", "Asks how the service is.", {});

export const statusResponse = v2("StatusResponse", "How the service is.", {
  version: always(1, string, "Version of the API: v2."),
  healthz: always(2, string, "`ok`, or what is wrong."),
  keyId: always(3, string, "The key that encrypts now."),
});

export const encryptRequest = v2("EncryptRequest", "Asks for a secret to be encrypted.", {
  plaintext: always(1, bytes, "The secret."),
  uid: always(2, string, "Names the call in the logs of both sides."),
});

export const encryptResponse = v2("EncryptResponse", "An encrypted secret.", {
  ciphertext: always(1, bytes, "The secret, encrypted."),
  keyId: always(2, string, "The key it is encrypted with."),
  annotations: plain(3, map(bytes), "What the service wants to be told when it decrypts."),
});

export const decryptRequest = v2("DecryptRequest", "Asks for a secret to be decrypted.", {
  ciphertext: always(1, bytes, "The secret, encrypted."),
  uid: always(2, string, "Names the call in the logs of both sides."),
  keyId: always(3, string, "The key it was encrypted with."),
  annotations: plain(4, map(bytes), "What came with the encrypted secret."),
});

export const decryptResponse = v2("DecryptResponse", "A decrypted secret.", {
  plaintext: always(1, bytes, "The secret."),
});

/** How the secret of an `encryptedObject` is used. */
export const sources = { gcmKey: 0, seed: 1 } as const;

export const encryptedObject = v2("EncryptedObject", "A value as it is stored.", {
  encryptedData: always(1, bytes, "The value, encrypted with the secret."),
  keyID: always(2, string, "The key that the secret is encrypted with."),
  encryptedDEKSource: always(3, bytes, "The secret, encrypted by the service."),
  annotations: plain(4, map(bytes), "What the service wants to be told when it decrypts."),
  encryptedDEKSourceType: always(5, int32, "0: the secret is a key; 1: keys are derived from it."),
});
