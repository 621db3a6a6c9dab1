import { storageSuite } from "../suite.ts";
import { etcdBackend } from "./etcd-backend.ts";
import { startEtcd, type EtcdCluster } from "./testing.ts";

describe("etcd", () => {
  let etcd: EtcdCluster | undefined;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd?.[Symbol.asyncDispose]());

  storageSuite("etcd", async () => etcdBackend({ endpoints: etcd?.endpoints ?? [] }));
});
