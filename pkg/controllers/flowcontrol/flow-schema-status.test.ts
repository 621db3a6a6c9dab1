import assert from "node:assert/strict";
import { type ControllerTest, startController } from "../testing.ts";
import { runFlowSchemaStatus } from "./flow-schema-status.ts";

const group = "flowcontrol.apiserver.k8s.io/v1";
const limited = { type: "Limited", limited: { limitResponse: { type: "Reject" } } };

describe("flow schema status", () => {
  let run: ControllerTest;
  beforeEach(async () => (run = await startController(runFlowSchemaStatus)));
  afterEach(() => run.stop());

  const makeSchema = (name: string) => {
    const spec = { priorityLevelConfiguration: { name: "level" }, matchingPrecedence: 50 };
    return run.test.post(`${group}/flowschemas`, { metadata: { name }, spec });
  };
  const makeLevel = () =>
    run.test.post(`${group}/prioritylevelconfigurations`, {
      metadata: { name: "level" },
      spec: limited,
    });
  const dangling = async (name: string) => {
    const { status } = (await run.test.get(`${group}/flowschemas//${name}`)).object;
    return status?.conditions?.find((each: { type: string }) => each.type === "Dangling");
  };
  const becomes = (name: string, status: string) =>
    run.until(async () => ((await dangling(name))?.status === status ? dangling(name) : undefined));

  it("updates the condition when the priority level is created or deleted", async () => {
    await makeSchema("s");
    assert.equal((await becomes("s", "True")).reason, "NotFound");
    await makeLevel();
    const { reason, message } = await becomes("s", "False");
    assert.equal(reason, "Found");
    assert.match(message, /object named "level" and it exists$/);
    await run.test.remove(`${group}/prioritylevelconfigurations//level`);
    await becomes("s", "True");
  });

  it("retries a failed patch", async () => {
    run.failNext("patch", "flowschemas", 2);
    await makeSchema("s");
    await becomes("s", "True");
    assert.ok(run.calls("patch", "flowschemas") >= 3);
  });

  it("writes nothing while the condition is correct", async () => {
    await makeLevel();
    await makeSchema("s");
    await becomes("s", "False");
    const { metadata } = (await run.test.get(`${group}/flowschemas//s`)).object;
    await makeSchema("t");
    await becomes("t", "False");
    const after = (await run.test.get(`${group}/flowschemas//s`)).object.metadata;
    assert.equal(after.resourceVersion, metadata.resourceVersion);
  });
});
