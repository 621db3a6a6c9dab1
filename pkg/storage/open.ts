/** Opens backends; their npm packages are imported on demand. */
import type { Backend } from "./backend.ts";
import type { DurableBackendOptions } from "./embedded/index.ts";
import type { EtcdBackendOptions } from "./etcd/index.ts";

/** Returns an etcd backend, which connects on its first call. */
export async function openEtcdBackend(options: EtcdBackendOptions): Promise<Backend> {
  const { etcdBackend } = await import("./etcd/index.ts");
  return etcdBackend(options);
}

/** Opens or creates the LMDB store in a directory, for exclusive use by this process. */
export async function openDurableBackend(options: DurableBackendOptions): Promise<Backend> {
  const { durableBackend } = await import("./embedded/durable.ts");
  return durableBackend(options);
}
