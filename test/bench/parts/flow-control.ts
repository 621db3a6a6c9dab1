/**
 * `npm run bench:flow-control`: CPU time and memory of a request that is dispatched
 * immediately, with all metrics, and of one that waits in an overloaded level.
 */
import { cryptoRandom, systemClock } from "#base";
import {
  FairDispatcher,
  flowControlMetrics,
  FlowControlMetrics,
  type FlowRequest,
  type PriorityLevelSettings,
} from "#flowcontrol";
import { PrometheusMetrics } from "../../../pkg/server/metrics/metrics.ts";

const rounds = 1_000_000;
const queuing = { queues: 64, handSize: 6, queueLengthLimit: 50 };
const common = { lendablePercent: 33, nominalConcurrencyShares: 30 };
const levels: readonly PriorityLevelSettings[] = [
  { name: "exempt", type: "Exempt", ...common, nominalConcurrencyShares: 0 },
  { name: "workload", type: "Limited", ...common, queuing },
  { name: "other", type: "Limited", ...common, queuing },
  { name: "catch-all", type: "Limited", ...common, lendablePercent: 0 },
];
const request: FlowRequest = {
  flowSchema: "service-accounts",
  flowDistinguisher: "system:serviceaccount:shop:web",
  estimate: { initialSeats: 1, finalSeats: 0, additionalLatency: 0 },
  userName: "system:serviceaccount:shop:web",
  info: {
    isResource: true,
    path: "/api/v1/namespaces/shop/configmaps/colours",
    verb: "get",
    apiPrefix: "api",
    group: "",
    version: "v1",
    namespace: "shop",
    resource: "configmaps",
    subresource: "",
    name: "colours",
    rest: [],
  },
};
const wait = { signal: new AbortController().signal, deadline: Infinity };

function dispatcher(): FairDispatcher {
  const { instruments } = new PrometheusMetrics();
  instruments.define(Object.values(flowControlMetrics));
  const metrics = new FlowControlMetrics(instruments, systemClock);
  const made = new FairDispatcher({ clock: systemClock, random: cryptoRandom, metrics });
  made.configure(levels, 600);
  return made;
}

function uncontended(level: string): void {
  const flowControl = dispatcher();
  const round = () => {
    const result = flowControl.start(level, request, wait);
    if (!("admitted" in result) || !result.admitted) throw new Error("a seat was free");
    result.release();
  };
  for (let warm = 0; warm < 100_000; warm++) round();
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 10_000; n++) round();
  const bytes = (process.memoryUsage().heapUsed - before) / 10_000;
  const since = process.cpuUsage();
  for (let n = 0; n < rounds; n++) round();
  const nanoseconds = nanosecondsSince(since, rounds);
  console.log(`${level}: ${nanoseconds.toFixed(0)} ns, ${bytes.toFixed(0)} bytes per request`);
  flowControl.close();
}

/** CPU time of the process per request: other processes of a busy machine do not count. */
function nanosecondsSince(since: NodeJS.CpuUsage, requests: number): number {
  const { user, system } = process.cpuUsage(since);
  return ((user + system) * 1000) / requests;
}

/** Each request waits behind 400 others of 50 flows, then takes the seat of one that ended. */
async function overloaded(): Promise<void> {
  const flowControl = dispatcher();
  const requests = Array.from({ length: 50 }, (_none, n) => ({
    ...request,
    flowDistinguisher: `user-${n}`,
  }));
  const count = 200_000;
  let finished = 0;
  const client = async (first: number) => {
    for (let n = first; finished < count; n++) {
      const flow = requests[n % requests.length] as FlowRequest;
      const { signal } = new AbortController();
      const result = await flowControl.start("workload", flow, { signal, deadline: Infinity });
      await Promise.resolve();
      if (result.admitted) result.release();
      finished++;
    }
  };
  const since = process.cpuUsage();
  await Promise.all(Array.from({ length: 600 }, (_none, n) => client(n)));
  const nanoseconds = nanosecondsSince(since, finished);
  console.log(`workload, overloaded: ${nanoseconds.toFixed(0)} ns per request`);
  flowControl.close();
}

for (const level of ["exempt", "workload", "catch-all"]) uncontended(level);
await overloaded();
