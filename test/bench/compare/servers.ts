/** Runs the same loads on two API servers in turns, and prints medians and ratios. */
import { readFileSync } from "node:fs";
import { type Aim, type Answer, type CallOptions, Connection } from "../load/client.ts";
import { fill } from "../load/measure.ts";
import { memoryOfTree, quantile } from "../load/processes.ts";
import { type BenchServer, isReady, untilReady } from "../load/servers.ts";
import { prepareWriteLoads } from "../load/write-loads.ts";
import { comparisonRows, type Figure, type Row, type RowOptions } from "./rows.ts";

export interface ComparisonOptions extends RowOptions {
  readonly rounds: number;
  /** Prefixes of the names of rows to measure; empty = all. */
  readonly only: readonly string[];
  readonly print?: (line: string) => void;
}

/** Values of both servers, Keelson first. */
type Pair<T> = readonly [T, T];
type Maybe = Pair<number | undefined>;

const both = <T, U>([own, other]: Pair<T>, of: (each: T) => U): Pair<U> => [of(own), of(other)];

interface Measured extends Figure {
  /** CPU time of this process as a fraction of one core. */
  readonly loadShare: number;
}

/** CPU fraction above which the load generator may limit a figure. */
const busy = 0.9;
const namespaces = ["bench", "bench-writes", "write-loads"];
/** Kinds of the objects that the loads leave in those namespaces. */
const leftovers = ["api/v1 configmaps", "api/v1 pods", "apis/apps/v1 deployments"];

/** Measures both servers, one at a time, and prints a table. */
export async function compareServers(
  servers: Pair<BenchServer>,
  options: ComparisonOptions,
): Promise<void> {
  const { only } = options;
  const rows = comparisonRows(options).filter(({ name }) => {
    return only.length === 0 || only.some((each) => name.startsWith(each));
  });
  if (rows.length === 0) throw new Error(`--only: no row starts with ${only.join(" or ")}`);
  const table = new Table(options.print ?? console.log);
  const names = both(servers, ({ name }) => name);
  table.line(`medians of ${options.rounds} rounds in turns`, names, "ratio");
  table.row("ready after", both(servers, startOf), "ms");
  table.row("resident memory when ready", both(servers, startMibOf), "MiB");
  for (const { aim } of servers) await prepare(aim, options);
  try {
    for (const row of rows) table.figures(row.name, await inTurns(row, servers, options.rounds));
    table.row("resident memory after this load", both(servers, memoryNow), "MiB");
    if (table.hasBusyRows) table.note("* the load generator was busy: the server may do more");
  } finally {
    await removeObjects(servers[1].aim);
  }
}

const startOf = ({ readyMs }: BenchServer): number | undefined => readyMs;
const startMibOf = ({ startMib }: BenchServer): number | undefined => startMib;
const memoryNow = ({ pid }: BenchServer): number | undefined =>
  pid === undefined ? undefined : memoryOfTree(pid);

/**
 * Describes a running or starting server. With its process ID, if it runs on this host, its memory
 * is measured, and the time from its start until it is ready, if it is not ready yet.
 */
export async function runningServer(aim: Aim, pid?: number): Promise<BenchServer> {
  const isReadyNow = await isReady(aim);
  if (!isReadyNow) await untilReady(aim);
  const common = { name: aim.url, aim, stop: () => Promise.resolve() };
  if (pid === undefined) return common;
  const local = { ...common, pid, startMib: memoryOfTree(pid) };
  return isReadyNow ? local : { ...local, readyMs: ageOf(pid) };
}

/** Milliseconds since the start of a process of this host. */
function ageOf(pid: number): number {
  const afterName = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1] ?? "";
  const ticks = Number(afterName.split(" ")[19]);
  const uptime = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
  const ticksPerSecond = 100;
  return (uptime - ticks / ticksPerSecond) * 1_000;
}

/**
 * Accepts AlreadyExists: a server that was compared before has the objects that the loads prepare.
 */
class PreparingConnection extends Connection {
  override async call(method: string, path: string, options?: CallOptions): Promise<Answer> {
    const answer = await super.call(method, path, options);
    const isThere = method === "POST" && answer.status === 409;
    return isThere ? { ...answer, status: 200 } : answer;
  }
}

async function prepare(aim: Aim, options: ComparisonOptions): Promise<void> {
  const connection = new PreparingConnection(aim);
  try {
    await prepareWriteLoads(connection);
  } finally {
    connection.close();
  }
  await fill(aim, options.objects);
}

/** Runs the rounds of both servers, after a warm-up round. */
async function inTurns(
  row: Row,
  servers: Pair<BenchServer>,
  rounds: number,
): Promise<Pair<readonly Measured[]>> {
  const figures: Pair<Measured[]> = [[], []];
  for (let round = 0; round <= rounds; round++) {
    for (const index of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const figure = await measure(row, servers[index].aim);
      if (round > 0) figures[index].push(figure);
    }
  }
  return figures;
}

async function measure(row: Row, aim: Aim): Promise<Measured> {
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  const figure = await row.measure(aim);
  const { user, system } = process.cpuUsage(cpu);
  return { ...figure, loadShare: (user + system) / 1_000 / (performance.now() - began) };
}

class Table {
  hasBusyRows = false;

  constructor(private readonly print: (line: string) => void) {}

  figures(name: string, figures: Pair<readonly Measured[]>): void {
    const median = (of: (figure: Measured) => number | undefined): Maybe =>
      both(figures, (each) => {
        const values = each.map(of).filter((value) => value !== undefined);
        return values.length === 0 ? undefined : quantile(values, 0.5);
      });
    const isBusy = median(({ loadShare }) => loadShare).some((share = 0) => share > busy);
    this.hasBusyRows ||= isBusy;
    this.row(
      isBusy ? `${name} *` : name,
      median(({ perSecond }) => perSecond),
      "/s",
    );
    const p99 = median((figure) => figure.p99);
    if (p99[0] !== undefined) this.row("  p99", p99, "ms");
  }

  row(name: string, [own, other]: Maybe, unit: string): void {
    const show = (value: number | undefined): string => {
      if (value === undefined) return "–";
      return `${value.toFixed(value < 100 ? 1 : 0)}${unit === "/s" ? "" : " "}${unit}`;
    };
    const ratio = own === undefined || other === undefined ? "" : `${(own / other).toFixed(2)}x`;
    this.line(name, [show(own), show(other)], ratio);
  }

  line(name: string, [own, other]: Pair<string>, ratio: string): void {
    const cells = [name.padEnd(36), own.padStart(16), other.padStart(24), ratio.padStart(8)];
    this.print(cells.join(" "));
  }

  note(text: string): void {
    this.print(text);
  }
}

/** Deletes what the loads have created. The server's controllers remove the rest of a namespace. */
async function removeObjects(aim: Aim): Promise<void> {
  const connection = new Connection(aim);
  const remove = async (path: string): Promise<void> => {
    const { status, body } = await connection.call("DELETE", path);
    if (status >= 400 && status !== 404) console.error(`DELETE ${path}: ${status} ${body}`);
  };
  await remove("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.bench.example.com");
  for (const namespace of namespaces) {
    for (const leftover of leftovers) {
      const [group, plural] = leftover.split(" ");
      await remove(`/${group}/namespaces/${namespace}/${plural}?gracePeriodSeconds=0`);
    }
    await remove(`/api/v1/namespaces/${namespace}`);
  }
  connection.close();
}
