/** The client whose latency must not suffer, and other requests that must continue. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Aim, configMap, Connection } from "../load/client.ts";
import { quantile } from "../load/processes.ts";

export interface MouseAims {
  /** Servers that receive the requests in turn. */
  readonly mouse: readonly Aim[];
  /** The user of a controller manager, which renews a Lease. */
  readonly leader: readonly Aim[];
  /** Anonymous requests, for health checks. */
  readonly prober: readonly Aim[];
}

/** Latencies by kind of request, in ms. */
export interface MouseFigures {
  readonly get: Latency;
  readonly create: Latency;
  readonly renew: Latency;
  readonly ready: Latency;
}

export interface Latency {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  /** Number of failed requests. */
  readonly failures: number;
}

/** Requests at an interval in ms, whether or not earlier ones have completed. */
interface Beat {
  readonly everyMs: number;
  readonly call: (n: number) => Promise<{ readonly status: number }>;
}

const namespace = "fairness-mouse";
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const leaseName = "fairness-leader";

/** Creates the objects that the mouse reads, as administrator. */
export async function prepareMouse(admin: Aim): Promise<void> {
  const connection = new Connection(admin);
  const post = (path: string, object: object) =>
    connection.call("POST", path, { body: Buffer.from(JSON.stringify(object)) });
  await post("/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  });
  await connection.call("POST", configMaps, { body: configMap({ name: "object" }) });
  await post(leases, lease("first"));
  connection.close();
}

function renew(connection: Connection, n: number) {
  const body = Buffer.from(JSON.stringify({ spec: { holderIdentity: `holder-${n}` } }));
  const contentType = "application/merge-patch+json";
  return connection.call("PATCH", `${leases}/${leaseName}`, { body, contentType });
}

function lease(holderIdentity: string): object {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: leaseName },
    spec: { holderIdentity, leaseDurationSeconds: 15 },
  };
}

/** 20 GETs and 5 creates a second, a renewal every two seconds, two health checks a second. */
export async function runMouse(aims: MouseAims, seconds: number): Promise<MouseFigures> {
  const connections = {
    mouse: aims.mouse.map((aim) => new Connection(aim)),
    leader: aims.leader.map((aim) => new Connection(aim)),
    prober: aims.prober.map((aim) => new Connection(aim)),
  };
  const at = (list: readonly Connection[], n: number) => list[n % list.length]!;
  const { mouse, leader, prober } = connections;
  for (const each of [...mouse, ...leader, ...prober]) await each.call("GET", "/readyz");
  const created = configMap({ generateName: "created-" });
  const [get, create, renewal, ready] = await Promise.all([
    measured(seconds, {
      everyMs: 50,
      call: (n) => at(mouse, n).call("GET", `${configMaps}/object`),
    }),
    measured(seconds, {
      everyMs: 200,
      call: (n) => at(mouse, n).call("POST", configMaps, { body: created }),
    }),
    measured(seconds, {
      everyMs: 2_000,
      call: (n) => renew(at(leader, n), n),
    }),
    measured(seconds, { everyMs: 500, call: (n) => at(prober, n).call("GET", "/readyz") }),
  ]);
  for (const each of Object.values(connections).flat()) each.close();
  return { get, create, renew: renewal, ready };
}

async function measured(seconds: number, { everyMs, call }: Beat): Promise<Latency> {
  const latencies: number[] = [];
  let failures = 0;
  const running: Promise<void>[] = [];
  const start = performance.now();
  for (let n = 0; n * everyMs < seconds * 1000; n++) {
    await sleep(Math.max(0, start + n * everyMs - performance.now()));
    const sent = performance.now();
    const note = ({ status }: { readonly status: number }) => {
      latencies.push(performance.now() - sent);
      if (status === 0 || status >= 400) failures++;
    };
    running.push(call(n).then(note, () => note({ status: 0 })));
  }
  await Promise.all(running);
  const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => quantile(latencies, share));
  return { count: latencies.length, p50: p50!, p99: p99!, longest: longest!, failures };
}
