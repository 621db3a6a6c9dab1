/** etcd: the six verbs over an etcd cluster; the only importer of etcd3. */
export { etcdBackend, type EtcdBackendOptions } from "./etcd-backend.ts";
export type { EtcdTls } from "./grpc/channel.ts";
