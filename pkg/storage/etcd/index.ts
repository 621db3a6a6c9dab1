/** etcd: the six verbs over an etcd cluster; the only importer of etcd3. */
export { etcdBackend, type EtcdBackendOptions } from "./etcd.ts";
export type { EtcdTls } from "./channel.ts";
