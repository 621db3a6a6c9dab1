import { storageSuite } from "../suite.ts";
import { etcdBackend } from "./etcd.ts";
import { startEtcd, type EtcdCluster } from "./testing.ts";

describe("etcd", function () {
  this.timeout(60_000);
  let etcd: EtcdCluster | undefined;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd?.[Symbol.asyncDispose]());

  storageSuite("etcd", async () => etcdBackend({ endpoints: etcd?.endpoints ?? [] }));
});
