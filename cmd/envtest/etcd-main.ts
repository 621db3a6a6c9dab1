/**
 * Program behind the `etcd` script of an envtest directory; a separate file because it loads fast.
 */
import { runEtcdStandIn } from "./etcd.ts";

await runEtcdStandIn(process.argv.slice(2));
