/** Backends whose packages only some programs need: they are loaded when one is opened. */
import type { Backend } from "./backend.ts";
import type { DurableBackendOptions } from "./embedded/index.ts";
import type { EtcdBackendOptions } from "./etcd/index.ts";

/** Connects at the first call. */
export async function openEtcdBackend(options: EtcdBackendOptions): Promise<Backend> {
  const { etcdBackend } = await import("./etcd/index.ts");
  return etcdBackend(options);
}

/** Opens or makes the store of a directory, which no other process may have open. */
export async function openDurableBackend(options: DurableBackendOptions): Promise<Backend> {
  const { durableBackend } = await import("./embedded/durable.ts");
  return durableBackend(options);
}
