import { StoreFault } from "#storage";
import type { StorageOptions } from "../storage/open-storage.ts";
import { isStoreUnavailable } from "./post-start-hooks.ts";

/** What keeps a server from starting, in one sentence that says where to look. */
export class StartError extends Error {
  override readonly name = "StartFault";
}

/** What a store did to end a start, told with the place of the store; other errors as they are. */
export function toStartError(error: unknown, storage: StorageOptions | undefined): unknown {
  const sentence = sentenceOf(error, storage);
  return sentence === undefined ? error : new StartError(sentence, { cause: error });
}

function sentenceOf(error: unknown, storage: StorageOptions | undefined): string | undefined {
  switch (storage?.kind) {
    case "embedded":
      if (!(error instanceof StoreFault) || !("message" in error.detail)) return undefined;
      return error.detail.kind === "corrupt"
        ? `${storage.directory} cannot be trusted: ${error.detail.message}`
        : `${error.detail.message}; choose another folder with --data-dir`;
    case "etcd":
      if (!isStoreUnavailable(error)) return undefined;
      return `etcd at ${storage.endpoints.join(", ")} does not answer: ${error.message}`;
    default:
      return undefined;
  }
}
