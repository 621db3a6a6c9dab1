import assert from "node:assert/strict";
import type { NodesSettings } from "../settings.ts";
import { type NodesTest, startNodes } from "../testing.ts";

const prefix = "simulated.keelson.dev";
const exec = (...command: string[]) => ({ exec: { command } });
const script = (text: string) => exec("sh", "-c", text);
/** A pod's container; fields of probes that the API server defaults are given here. */
const withDefaults = (probe: object) => ({
  periodSeconds: 10,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 3,
  ...probe,
});

describe("probes of simulated containers", () => {
  let run: NodesTest;
  const start = async (settings: Partial<NodesSettings> = {}) => (run = await startNodes(settings));
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });

  const create = (
    { restartPolicy = "Always", annotations = {}, ...container }: ContainerSpec,
    name = "p",
  ) => {
    const kinds = ["startupProbe", "readinessProbe", "livenessProbe"] as const;
    const probes = kinds.flatMap((kind) => {
      const probe = container[kind];
      return probe === undefined ? [] : [[kind, withDefaults(probe)] as const];
    });
    const app = { name: "app", image: "busybox", ...container, ...Object.fromEntries(probes) };
    const named = Object.entries(annotations).map(([key, value]) => [`${prefix}/${key}`, value]);
    return run.createPod(name, {
      metadata: { annotations: Object.fromEntries(named) },
      spec: { restartPolicy, containers: [app] },
    });
  };
  interface ContainerSpec {
    readonly restartPolicy?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly command?: readonly string[];
    readonly ports?: readonly object[];
    readonly startupProbe?: object;
    readonly readinessProbe?: object;
    readonly livenessProbe?: object;
  }
  const annotate = async (name: string, value: string | null) => {
    const annotations = { [`${prefix}/${name}`]: value };
    await run.test.patch("v1/pods/ns/p", { metadata: { annotations } });
    await run.pass(0);
  };
  const statusOf = async () => (await run.pod("p")).status?.containerStatuses?.[0];
  /** `ready` or `unready`, the number of restarts and, for a container that does not run, why. */
  const stateOf = async () => {
    const { ready, restartCount, state = {}, lastState = {} } = (await statusOf()) ?? {};
    const ended = state.terminated ?? lastState.terminated;
    const last = ended === undefined ? "" : ` ${ended.reason} ${ended.exitCode}`;
    return `${ready === true ? "ready" : "unready"} ${restartCount}${last}`;
  };
  const eventsOf = async (...reasons: string[]) => {
    const names = await run.test.names("v1/events/ns");
    const all = await Promise.all(names.map((name) => run.test.get(`v1/events/ns/${name}`)));
    return all
      .map(({ object }) => object)
      .filter(({ reason }) => reasons.includes(reason))
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  };

  /** Containers, and their states after times in seconds since the start. */
  const cases: readonly (ContainerSpec & {
    readonly title: string;
    readonly states: readonly (readonly [seconds: number, state: string])[];
  })[] = [
    {
      title: "readiness by a true program",
      readinessProbe: exec("true"),
      states: [[0, "ready 0"]],
    },
    {
      title: "readiness by a false program",
      readinessProbe: exec("/bin/false"),
      states: [
        [0, "unready 0"],
        [60, "unready 0"],
      ],
    },
    {
      title: "the initial delay, period and success threshold",
      readinessProbe: {
        ...script("exit 0"),
        initialDelaySeconds: 5,
        periodSeconds: 3,
        successThreshold: 2,
      },
      states: [
        [7, "unready 0"],
        [8, "ready 0"],
      ],
    },
    {
      title: "the initial delay of other handlers",
      readinessProbe: { httpGet: { port: 80 }, initialDelaySeconds: 5, successThreshold: 2 },
      states: [
        [14, "unready 0"],
        [15, "ready 0"],
      ],
    },
    {
      title: "files that the command writes and removes",
      command: ["sh", "-c", "sleep 4; touch /tmp/healthy; sleep 20; rm /tmp/healthy; sleep 600"],
      readinessProbe: { ...exec("cat", "/tmp/healthy"), periodSeconds: 2, failureThreshold: 2 },
      states: [
        [2, "unready 0"],
        [4, "ready 0"],
        [25, "ready 0"],
        [26, "unready 0"],
      ],
    },
    {
      title: "files whose removal makes the container restart",
      command: ["sh", "-c", "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"],
      livenessProbe: { ...exec("cat", "/tmp/healthy"), initialDelaySeconds: 5, periodSeconds: 5 },
      states: [
        [39, "ready 0"],
        [42, "ready 1 Error 143"],
      ],
    },
    {
      title: "a failing liveness probe of a pod that never restarts",
      restartPolicy: "Never",
      command: ["sh", "-c", "sleep 600"],
      livenessProbe: { ...exec("false"), failureThreshold: 1 },
      states: [[2, "unready 0 Error 143"]],
    },
    {
      title: "containers that ignore SIGTERM",
      annotations: { "stop-after": "1m" },
      livenessProbe: { ...exec("false"), failureThreshold: 1, terminationGracePeriodSeconds: 4 },
      states: [
        [3, "ready 0"],
        [6, "ready 1 Error 137"],
      ],
    },
    {
      title: "back-off after failures",
      livenessProbe: { ...exec("false"), failureThreshold: 1 },
      states: [[5, "unready 1 Error 143"]],
    },
    {
      title: "a startup probe that holds the others back",
      command: ["sh", "-c", "sleep 12; touch /tmp/up; sleep 600"],
      startupProbe: { ...exec("test", "-e", "/tmp/up"), periodSeconds: 5, failureThreshold: 9 },
      livenessProbe: { ...exec("test", "-e", "/tmp/up"), failureThreshold: 1 },
      readinessProbe: exec("true"),
      states: [
        [14, "unready 0"],
        [15, "ready 0"],
        [60, "ready 0"],
      ],
    },
    {
      title: "a startup probe that fails",
      startupProbe: { ...exec("false"), periodSeconds: 1 },
      states: [
        [1, "unready 0"],
        [4, "unready 1 Error 143"],
      ],
    },
    {
      title: "a command that takes longer than its timeout",
      readinessProbe: { ...exec("sleep", "5"), timeoutSeconds: 4 },
      states: [[1, "unready 0"]],
    },
    {
      title: "answers of annotations to commands",
      annotations: { exec: '[{"command": "pg_isready", "exitCode": 2}]' },
      readinessProbe: exec("pg_isready", "-q"),
      states: [[30, "unready 0"]],
    },
    {
      title: "ports by names that the container declares",
      ports: [{ name: "http", containerPort: 80 }],
      readinessProbe: { httpGet: { port: "http" } },
      states: [[0, "ready 0"]],
    },
    {
      title: "ports by names that the container does not declare",
      readinessProbe: { tcpSocket: { port: "http" } },
      livenessProbe: { tcpSocket: { port: "http" } },
      states: [[60, "unready 0"]],
    },
    {
      title: "an annotation of the container",
      annotations: { probe: "app=fail,other=succeed" },
      readinessProbe: { httpGet: { port: 80 } },
      states: [[60, "unready 0"]],
    },
    {
      title: "an annotation of the kind of probe",
      annotations: { "liveness-probe": "fail" },
      readinessProbe: { grpc: { port: 80 } },
      livenessProbe: { grpc: { port: 80 }, failureThreshold: 2 },
      states: [
        [9, "ready 0"],
        [12, "ready 1 Error 143"],
      ],
    },
    {
      title: "an annotation that lets a command pass",
      annotations: { probe: "succeed" },
      readinessProbe: exec("false"),
      states: [[0, "ready 0"]],
    },
  ];
  for (const { title, states, ...container } of cases) {
    it(`decide by ${title}`, async () => {
      await start();
      await create(container);
      let at = 0;
      for (const [seconds, state] of states) {
        await run.pass((seconds - at) * 1000);
        at = seconds;
        assert.equal(await stateOf(), state, `after ${seconds} s`);
      }
    });
  }

  it("follow annotations while the pod runs", async () => {
    await start();
    await create({ readinessProbe: { httpGet: { port: 80 } } });
    assert.equal(await stateOf(), "ready 0");
    await run.pass(15_000);
    await annotate("probe", "fail");
    await run.pass(24_000);
    assert.equal(await stateOf(), "ready 0");
    await run.pass(2_000);
    assert.equal(await stateOf(), "unready 0");
    await annotate("probe", null);
    await run.pass(10_000);
    assert.equal(await stateOf(), "ready 0");
    assert.deepEqual(await eventsOf("Unhealthy"), [
      "Warning Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503",
    ]);
  });

  it("record the Events of a kubelet", async () => {
    await start();
    const readinessProbe = { ...exec("cat", "/none") };
    await create({ readinessProbe, livenessProbe: { ...exec("false"), failureThreshold: 2 } });
    await run.pass(12_000);
    const events = await eventsOf("Unhealthy", "Killing");
    assert.deepEqual(events.sort(), [
      "Normal Killing: Container app failed liveness probe, will be restarted",
      "Warning Unhealthy: Liveness probe failed: ",
      "Warning Unhealthy: Readiness probe failed: cat: /none: No such file or directory\n",
    ]);
  });

  it("report whether a container has started", async () => {
    await start();
    const startupProbe = { ...exec("true"), initialDelaySeconds: 3 };
    await create({ startupProbe });
    assert.equal((await statusOf())?.started, false);
    await run.pass(4_000);
    assert.equal((await statusOf())?.started, true);
  });

  it("keep their results when the kubelet restarts", async () => {
    await start();
    await create({ readinessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: 600 } });
    await create({ readinessProbe: exec("true"), startupProbe: exec("true") }, "q");
    const { resourceVersion } = (await run.pod("q")).metadata;
    const { test } = run;
    await run.stop();
    run = await startNodes({}, test);
    await run.pass(1_000);
    assert.equal((await run.pod("q")).metadata.resourceVersion, resourceVersion);
    assert.equal(await stateOf(), "unready 0");
  });

  const unknown = [
    { title: "a program", probe: exec("pg_isready", "-q"), part: "pg_isready" },
    { title: "a path", probe: exec("/opt/bin/check"), part: "/opt/bin/check" },
    {
      title: "a program in a script",
      probe: script("redis-cli ping | grep PONG"),
      part: "redis-cli",
    },
    { title: "a program in a condition", probe: script("if nc -z a; then exit 0; fi"), part: "nc" },
    { title: "a feature", probe: exec("wc", "-X"), part: /^Normal NotSimulated: .*wc/ },
  ];
  for (const { title, probe, part } of unknown) {
    it(`pass with one Event for ${title} that is not simulated`, async () => {
      await start();
      await create({ readinessProbe: probe, livenessProbe: probe });
      await run.pass(60_000);
      assert.equal(await stateOf(), "ready 0");
      const [event = "", ...others] = await eventsOf("NotSimulated");
      assert.deepEqual(others, []);
      if (typeof part !== "string") return assert.match(event, part);
      assert.equal(
        event,
        "Normal NotSimulated: Readiness probe of container app was not run and passes: " +
          `${part} is not simulated`,
      );
    });

    it(`fail under strict simulation for ${title} that is not simulated`, async () => {
      await start({ strictSimulation: true });
      await create({ readinessProbe: probe });
      await create({ livenessProbe: { ...probe, failureThreshold: 1 } }, "q");
      await run.pass(5_000);
      assert.equal(await stateOf(), "unready 0");
      assert.equal((await run.pod("q")).status?.containerStatuses?.[0]?.restartCount, 1);
      assert.deepEqual(await eventsOf("NotSimulated"), []);
    });
  }

  const programs = [
    { title: "a known program", command: ["sleep", "600"], part: undefined, fails: false },
    { title: "a script", command: ["sh", "-c", "sleep 600"], part: undefined, fails: false },
    {
      title: "an unknown program",
      command: ["/opt/server", "-v"],
      part: "/opt/server",
      fails: true,
    },
    {
      title: "a script of one",
      command: ["sh", "-c", "exec nginx -g x"],
      part: "nginx",
      fails: true,
    },
    { title: "the image's program", command: [], part: undefined, fails: false },
  ];
  for (const { title, command, part, fails } of programs) {
    it(`say whether ${title} is simulated as the command of a container`, async () => {
      await start();
      await create({ command });
      assert.equal(await stateOf(), "ready 0");
      const effect = "Command of container app is not run, and the container runs without it";
      const event = `Normal NotSimulated: ${effect}: ${part} is not simulated`;
      assert.deepEqual(await eventsOf("NotSimulated"), part === undefined ? [] : [event]);
    });

    it(`start ${title} under strict simulation only if it is simulated`, async () => {
      await start({ strictSimulation: true });
      await create({ command });
      await run.pass(5_000);
      const status = await statusOf();
      assert.equal(await stateOf(), fails ? "unready 1 StartError 128" : "ready 0");
      if (!fails) return;
      assert.equal(status?.state?.waiting?.reason, "CrashLoopBackOff");
      const { message = "" } = status?.lastState?.terminated ?? {};
      assert.ok(message.includes(`exec: "${part}": `), message);
      assert.deepEqual(await eventsOf("Failed"), [`Warning Failed: Error: ${message}`]);
    });
  }
});
