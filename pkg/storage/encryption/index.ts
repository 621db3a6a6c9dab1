/** encryption: values that lie sealed in the store (EncryptionConfiguration). */
export { type EncryptionConfiguration, parseEncryptionConfiguration } from "./configuration.ts";
export { Encryption } from "./encryption.ts";
export { encryptedBackend } from "./encrypted-backend.ts";
