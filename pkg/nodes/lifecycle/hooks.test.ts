import assert from "node:assert/strict";
import { type NodesTest, startNodes } from "../testing.ts";

const script = (text: string) => ({ exec: { command: ["sh", "-c", text] } });
const unknown = { exec: { command: ["nginx", "-s", "quit"] } };

describe("hooks of simulated containers", () => {
  let run: NodesTest;
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });
  const create = (lifecycle: object, more: object = {}) =>
    run.createPod("p", {
      spec: {
        restartPolicy: "Always",
        terminationGracePeriodSeconds: 20,
        containers: [{ name: "app", image: "busybox", lifecycle, ...more }],
      },
    });
  const events = async (...reasons: string[]) => {
    const names = await run.test.names("v1/events/ns");
    const all = await Promise.all(names.map((name) => run.test.get(`v1/events/ns/${name}`)));
    return all
      .map(({ object }) => object)
      .filter(({ reason }) => reasons.includes(reason))
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
      .sort();
  };
  const killed = [
    "Normal Killing: FailedPostStartHook",
    "Warning FailedPostStartHook: PostStartHook failed",
  ];
  const told = (kind: string) =>
    `Normal NotSimulated: ${kind} hook of container app was not run and passes: nginx is not simulated`;

  for (const { title, postStart, isStrict, restarts, expected } of [
    { title: "that succeed", postStart: script("true"), restarts: 0, expected: [] },
    { title: "that fail", postStart: script("exit 3"), restarts: 1, expected: killed },
    { title: "by other handlers", postStart: { httpGet: { port: 80 } }, restarts: 0, expected: [] },
    {
      title: "of unknown programs",
      postStart: unknown,
      restarts: 0,
      expected: [told("postStart")],
    },
    {
      title: "of unknown programs under strict simulation",
      postStart: unknown,
      isStrict: true,
      restarts: 1,
      expected: killed,
    },
  ]) {
    it(`run after the start: those ${title}`, async () => {
      run = await startNodes({ strictSimulation: isStrict === true });
      await create({ postStart });
      await run.pass(3_000);
      const [status] = (await run.pod("p")).status?.containerStatuses ?? [];
      assert.equal(status?.restartCount, restarts);
      const code = restarts === 0 ? undefined : 143;
      const ended = status?.state?.terminated ?? status?.lastState?.terminated;
      assert.equal(ended?.exitCode, code);
      const seen = await events("FailedPostStartHook", "Killing", "NotSimulated");
      assert.deepEqual(seen, expected);
    });
  }

  it("write files that probes and commands see", async () => {
    run = await startNodes();
    const exec = { command: ["cat", "/tmp/started"] };
    await create({ postStart: script("touch /tmp/started") }, { readinessProbe: { exec } });
    assert.equal((await run.pod("p")).status?.containerStatuses?.[0]?.ready, true);
  });

  for (const { title, preStop, seconds, expected } of [
    { title: "that take no time", preStop: script("true"), seconds: 0, expected: [] },
    { title: "that sleep", preStop: script("sleep 5"), seconds: 5, expected: [] },
    {
      title: "longer than the grace period",
      preStop: script("sleep 60"),
      seconds: 20,
      expected: [],
    },
    { title: "of unknown programs", preStop: unknown, seconds: 0, expected: [told("preStop")] },
    {
      title: "that fail",
      preStop: script("exit 1"),
      seconds: 0,
      expected: ["Warning FailedPreStopHook: PreStopHook failed"],
    },
  ]) {
    it(`delay the end: those ${title}`, async () => {
      run = await startNodes();
      await create({ preStop });
      await run.test.remove("v1/pods/ns/p");
      const exists = async () => (await run.test.names("v1/pods/ns")).includes("p");
      if (seconds > 0) {
        await run.pass(seconds * 1000 - 1_000);
        assert.equal(await exists(), true);
      }
      await run.pass(2_000);
      assert.equal(await exists(), false);
      assert.deepEqual(await events("FailedPreStopHook", "NotSimulated"), expected);
    });
  }
});
