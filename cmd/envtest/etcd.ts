import path from "node:path";
import { parseFlags, UsageError } from "../flags/parse.ts";
import { untilSignal } from "../flags/until-signal.ts";
import { endWithParent } from "./end-with-parent.ts";
import { allEtcdFlags } from "./etcd-flags.ts";
import { startEtcdStandIn } from "./etcd-stand-in.ts";
import { selectedStore } from "./store.ts";

/** Exit code of etcd for an invalid command line. */
const usageExitCode = 2;

/** Runs the stand-in for etcd until SIGTERM or SIGINT. */
export async function runEtcdStandIn(words: readonly string[]): Promise<void> {
  const signal = untilSignal();
  try {
    // Go's flag package accepts one dash or two.
    const dashed = words.map((word) => word.replace(/^-(?=[a-z])/, "--"));
    const values = parseFlags(allEtcdFlags, dashed);
    const directory = path.resolve(values["data-dir"]);
    const store = selectedStore(process.env["KEELSON_ENVTEST_STORE"], directory);
    const standIn = await startEtcdStandIn(values["listen-client-urls"], store);
    endWithParent();
    console.error(`keelson: stand-in for etcd (${store.kind}) ready on ${standIn.urls.join(", ")}`);
    if (!signal.aborted) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    }
    await standIn.close();
  } catch (error) {
    const isUsage = error instanceof UsageError;
    console.error(`keelson: ${(error as Error).message}`);
    process.exitCode = isUsage ? usageExitCode : 1;
  }
}
