import { printJson } from "#base";
import type { Clock } from "#base";
import {
  type Backend,
  type EmbeddedStore,
  memoryBackend,
  openDurableBackend,
  openEtcdBackend,
} from "#storage";

/** Store of objects, and its location. */
export type StorageOptions =
  | { readonly kind: "memory" }
  | { readonly kind: "embedded"; readonly directory: string }
  | {
      readonly kind: "etcd";
      readonly endpoints: readonly string[];
      /** TLS to etcd, as PEM texts. */
      readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
    };

export interface OpenStorage {
  readonly backend: Backend;
  /**
   * Copies the whole store; returns a function that opens stores with that content. Memory backend
   * only.
   */
  readonly snapshot: (() => (clock: Clock) => OpenStorage) | undefined;
}

export async function openStorage(options: StorageOptions, clock: Clock): Promise<OpenStorage> {
  switch (options.kind) {
    case "memory":
      return inMemory(memoryBackend({ clock }));
    case "embedded": {
      const { directory } = options;
      return { backend: await openDurableBackend({ directory, clock }), snapshot: undefined };
    }
    case "etcd": {
      const { endpoints, tls } = options;
      const secured = tls === undefined ? {} : { tls: buffersOf(tls) };
      return {
        backend: await openEtcdBackend({ endpoints, clock, ...secured }),
        snapshot: undefined,
      };
    }
    default:
      throw new TypeError(`storage: unknown kind in ${printJson(options)}`);
  }
}

function inMemory(backend: EmbeddedStore): OpenStorage {
  return {
    backend,
    snapshot: () => {
      const open = backend.snapshot();
      return (clock) => inMemory(open(clock));
    },
  };
}

function buffersOf(tls: Readonly<Record<string, string>>): Record<string, Buffer> {
  return Object.fromEntries(Object.entries(tls).map(([name, pem]) => [name, Buffer.from(pem)]));
}
