/** encryption: encryption at rest (EncryptionConfiguration). */
export { type EncryptionConfiguration, parseEncryptionConfiguration } from "./configuration.ts";
export { Encryption } from "./encryption.ts";
export { encryptedBackend } from "./encrypted-backend.ts";
