/** Servers for tests of the benches. */
import { startServer } from "../../../cmd/keelson/index.ts";
import { memoryOfTree } from "./processes.ts";
import type { Launcher } from "./servers.ts";

/** A server in the test's own process, which is ready within milliseconds. */
export const inProcess: Launcher = async ({ etcd }) => {
  const storage = etcd && { kind: "etcd" as const, endpoints: etcd.endpoints };
  const began = performance.now();
  const server = await startServer({ port: 0, controllers: false, ...(storage && { storage }) });
  const { pid } = process;
  return {
    name: "in process",
    aim: { url: server.url, token: server.token },
    pid,
    readyMs: performance.now() - began,
    startMib: memoryOfTree(pid),
    stop: () => server.close({ graceMs: 0 }),
  };
};
