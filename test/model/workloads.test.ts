/**
 * Random changes of workloads, with kubelets that start and end pods at random, and controllers that
 * restart. The invariants of each workload hold at every version of the pods, and without further
 * changes every workload reaches its declared state.
 */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { defaultControllerSettings, selectControllers } from "#controllers";
import { quietTurns } from "../../pkg/base/testing.ts";
import { listAt, podTemplate, setPodStatus } from "../../pkg/controllers/pods/testing.ts";
import { type ControllerTest, startController } from "../../pkg/controllers/testing.ts";
import { type TestRegistry, testRegistry } from "../../pkg/registry/testing.ts";

const seeds = (process.env["SEEDS"] ?? "1,2,3").split(",");
const operations = Number(process.env["OPERATIONS"] ?? 60);
const controllers = selectControllers([
  "deployment",
  "replicaset",
  "statefulset",
  "job",
  "disruption",
]);
const settings = { ...defaultControllerSettings, settleMs: 0, rootCa: "" };
const stepMs = 500;

const deployments = "apps/v1/deployments/ns";
const statefulSets = "apps/v1/statefulsets/ns";
const jobs = "batch/v1/jobs/ns";
const pods = "v1/pods/ns";
const maxSurge = 1;
const maxUnavailable = 1;

/** State of a workload in the model, in addition to the stored object. */
interface Bounds {
  /** Fewest and most declared replicas since the workload was last in its declared state. */
  fewest: number;
  most: number;
  /** It was in its declared state once, from when on its availability is guaranteed. */
  isUp: boolean;
}

class World {
  readonly bounds = new Map<string, Bounds>();
  /** Succeeded pods by the name of their Job. */
  readonly succeeded = new Map<string, Set<string>>();
  private images = 0;
  private names = 0;
  private run: ControllerTest | undefined;

  constructor(
    readonly test: TestRegistry,
    readonly random: Random,
  ) {}

  async startControllers(): Promise<void> {
    this.run = await startController(
      async (context) => {
        await Promise.all(controllers.map((each) => each.run(context, settings)));
      },
      { test: this.test, clock: this.test.clock },
    );
  }

  async stopControllers(): Promise<void> {
    await this.run?.stop();
    this.run = undefined;
  }

  /** Advances the time, and checks the invariants. */
  async step(ms = stepMs): Promise<void> {
    this.test.clock.advance(ms);
    await quietTurns(10);
    await this.check();
  }

  private makeDeployment = async (): Promise<void> => {
    const name = `d${this.names++}`;
    const labels = { app: name };
    const replicas = this.random.below(5);
    const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } };
    const spec = {
      replicas,
      strategy,
      selector: { matchLabels: labels },
      template: podTemplate(labels),
    };
    await this.test.post(deployments, { metadata: { name }, spec });
    this.bounds.set(`${deployments}/${name}`, { fewest: replicas, most: replicas, isUp: false });
  };

  private makeStatefulSet = async (): Promise<void> => {
    const name = `s${this.names++}`;
    const labels = { app: name };
    const spec = {
      replicas: this.random.below(4),
      serviceName: name,
      selector: { matchLabels: labels },
      template: podTemplate(labels),
    };
    await this.test.post(statefulSets, { metadata: { name }, spec });
    this.bounds.set(`${statefulSets}/${name}`, { fewest: 0, most: 0, isUp: false });
  };

  private makeJob = async (): Promise<void> => {
    const name = `j${this.names++}`;
    const { spec } = podTemplate({});
    const template = { spec: { ...spec, restartPolicy: "Never" } };
    const completions = 1 + this.random.below(5);
    const job = { completions, parallelism: 1 + this.random.below(3), backoffLimit: 100, template };
    await this.test.post(jobs, { metadata: { name }, spec: job });
    this.succeeded.set(name, new Set());
  };

  private scale = async (): Promise<void> => {
    if (this.bounds.size === 0) return;
    const at = this.random.pick([...this.bounds.keys()]);
    const replicas = this.random.below(6);
    await this.test.patch(at, { spec: { replicas } });
    const bounds = this.bounds.get(at)!;
    bounds.fewest = Math.min(bounds.fewest, replicas);
    bounds.most = Math.max(bounds.most, replicas);
  };

  private changeImage = async (): Promise<void> => {
    if (this.bounds.size === 0) return;
    const at = this.random.pick([...this.bounds.keys()]);
    const containers = [{ name: "c", image: `i${++this.images}` }];
    await this.test.patch(at, { spec: { template: { spec: { containers } } } });
  };

  private restartControllers = async (): Promise<void> => {
    await this.stopControllers();
    await this.startControllers();
  };

  /** A kubelet advances a random pod by one step. */
  movePod = async (): Promise<void> => {
    const waiting = (await listAt(this.test, pods)).filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined && !isEnded(status) && !canServe(status),
    );
    if (waiting.length === 0) return;
    const pod = this.random.pick(waiting);
    const { name } = pod.metadata;
    const owner = pod.metadata.ownerReferences?.[0];
    if (owner?.kind !== "Job") return setPodStatus(this.test, name).catch(ignoreGone);
    const isWell = this.random.next() < 0.7;
    const phase = isWell ? "Succeeded" : "Failed";
    const end = { ready: false, phase };
    const written = await setPodStatus(this.test, name, end).then(() => true, ignoreGone);
    if (written === true && isWell) this.succeeded.get(owner.name)?.add(name);
  };

  async operate(): Promise<void> {
    const all = [
      this.makeDeployment,
      this.makeStatefulSet,
      this.makeJob,
      this.scale,
      this.changeImage,
      this.restartControllers,
    ];
    // Three of four operations are by kubelets.
    const operation = this.random.next() < 0.75 ? this.movePod : this.random.pick(all);
    await operation();
    await this.step();
  }

  /** Checks the invariants that hold at any time. */
  private async check(): Promise<void> {
    const all = await listAt(this.test, pods);
    const live = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    for (const [at, bounds] of this.bounds) {
      const name = at.split("/").at(-1)!;
      const own = live.filter(({ metadata }) => metadata.labels?.app === name);
      if (at.startsWith(statefulSets)) this.checkOrdinals(name, own);
      else this.checkRollout(name, own, bounds);
    }
  }

  private checkRollout(name: string, own: readonly any[], { fewest, most, isUp }: Bounds): void {
    assert.ok(own.length <= most + maxSurge, `${name}: ${own.length} pods, at most ${most} + 1`);
    const available = own.filter(({ status }) => canServe(status)).length;
    const promised = isUp ? fewest - maxUnavailable : 0;
    assert.ok(available >= promised, `${name}: ${available} available, at least ${promised}`);
  }

  /** StatefulSet pods start in order and end in reverse order: at most one is not ready. */
  private checkOrdinals(name: string, own: readonly any[]): void {
    const ready = new Map<number, boolean>(
      own.map(({ metadata, status }) => [
        Number(metadata.name.split("-").at(-1)),
        canServe(status),
      ]),
    );
    const highest = Math.max(-1, ...ready.keys());
    const ordinals = Array.from({ length: highest + 1 }, (_, ordinal) => ordinal);
    const unready = ordinals.filter((ordinal) => ready.get(ordinal) !== true);
    assert.ok(unready.length <= 1, `${name}: ordinals ${unready.join()} are not ready at once`);
  }

  /** Kubelets continue until every workload is in its declared state. */
  async settle(): Promise<void> {
    let problem = "";
    for (let tries = 0; tries < 400; tries++) {
      await this.movePod();
      // Jobs with failed pods back off for minutes.
      await this.step(tries < 100 ? stepMs : 10_000);
      problem = await this.undone();
      if (problem === "") break;
    }
    assert.equal(problem, "");
    for (const [at, bounds] of this.bounds) {
      const { spec } = (await this.test.get(at)).object;
      Object.assign(bounds, { fewest: spec.replicas, most: spec.replicas, isUp: true });
    }
  }

  /** Objects that have not reached their declared state; "" = none. */
  private async undone(): Promise<string> {
    const live = await listAt(this.test, pods);
    for (const at of this.bounds.keys()) {
      const { metadata, spec, status = {} } = (await this.test.get(at)).object;
      const own = live.filter((pod) => pod.metadata.labels?.app === metadata.name);
      const { image } = spec.template.spec.containers[0];
      const current = own.filter((pod) => pod.spec.containers[0].image === image);
      const isSeen = Number(status.observedGeneration) === Number(metadata.generation);
      const counts = [own.length, current.length, status.readyReplicas ?? 0];
      if (!isSeen || counts.some((count) => count !== spec.replicas)) {
        return `${metadata.name}: ${spec.replicas} declared, ${counts.join("/")} there`;
      }
    }
    for (const [name, ended] of this.succeeded) {
      const { spec, status = {} } = (await this.test.get(`${jobs}/${name}`)).object;
      const isComplete = status.conditions?.some(({ type }: any) => type === "Complete");
      const { succeeded = 0 } = status;
      if (!isComplete) return `${name}: ${succeeded} of ${spec.completions} complete`;
      // Every completion counts once, and there are not more than declared.
      assert.equal(Number(succeeded), ended.size, `${name}: ${ended.size} pods have succeeded`);
      assert.equal(ended.size, spec.completions, `${name} ran as often as it was asked to`);
    }
    return "";
  }
}

function isEnded(status: any): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

function canServe(status: any): boolean {
  return status?.conditions?.some(({ type, status }: any) => type === "Ready" && status === "True");
}

/** The pod was deleted concurrently. */
function ignoreGone(error: any): void {
  if (error.code !== 404 && error.code !== 409) throw error;
}

describe("workloads under random changes and restarts", function () {
  for (const seed of seeds) {
    it(`keep their invariants and reach their declared state (seed ${seed})`, async () => {
      const world = new World(await testRegistry(), seededRandom(seed));
      await world.startControllers();
      try {
        for (let round = 0; round < 3; round++) {
          for (let count = 0; count < operations; count++) await world.operate();
          await world.settle();
        }
      } finally {
        await world.stopControllers();
      }
    });
  }
});
