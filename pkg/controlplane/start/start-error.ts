import { StatusError } from "#meta";
import { StoreFault } from "#storage";
import type { StorageOptions } from "../storage/open-storage.ts";
import { isStoreUnavailable } from "./post-start-hooks.ts";

/** An environment in which the server cannot start; the message is shown to the user as it is. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** Adds the location of the store to an error of the store; answers other errors unchanged. */
export function toStartError(error: unknown, storage: StorageOptions | undefined): unknown {
  const sentence = sentenceOf(error, storage);
  return sentence === undefined ? error : new StartError(sentence, { cause: error });
}

function sentenceOf(error: unknown, storage: StorageOptions | undefined): string | undefined {
  switch (storage?.kind) {
    case "embedded": {
      const fault = error instanceof StatusError ? error.cause : error;
      if (!(fault instanceof StoreFault) || !("message" in fault.detail)) return undefined;
      return fault.detail.kind === "corrupt"
        ? `${storage.directory} cannot be trusted: ${fault.detail.message}`
        : `${fault.detail.message}; choose another folder with --data-dir`;
    }
    case "etcd":
      if (!isStoreUnavailable(error)) return undefined;
      return `etcd at ${storage.endpoints.join(", ")} does not respond: ${error.message}`;
    default:
      return undefined;
  }
}
