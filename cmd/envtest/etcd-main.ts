/** Program of the `etcd` entry of an envtest folder; a file of its own that loads in little time. */
import { runEtcdStandIn } from "./etcd.ts";

await runEtcdStandIn(process.argv.slice(2));
