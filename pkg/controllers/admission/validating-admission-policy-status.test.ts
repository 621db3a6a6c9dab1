import assert from "node:assert/strict";
import { type ControllerTest, startController } from "../testing.ts";
import { runValidatingAdmissionPolicyStatus } from "./validating-admission-policy-status.ts";

const group = "admissionregistration.k8s.io/v1/validatingadmissionpolicies";

describe("validatingadmissionpolicy-status-controller", () => {
  let run: ControllerTest;
  beforeEach(async () => (run = await startController(runValidatingAdmissionPolicyStatus)));
  afterEach(() => run.stop());

  const resourceRules = [
    { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["*"], resources: ["deployments"] },
  ];
  const post = (name: string, expression: string) =>
    run.test.post(group, {
      metadata: { name },
      spec: { matchConstraints: { resourceRules }, validations: [{ expression }] },
    });
  const checked = (name: string, generation: number) =>
    run.until(async () => {
      const { status } = (await run.test.get(`${group}//${name}`)).object;
      return Number(status?.observedGeneration ?? 0) === generation ? status : undefined;
    });

  it("writes warnings for ill-typed expressions, and removes them when they are fixed", async () => {
    await post("p", "object.spec.replica > 1");
    const { typeChecking } = await checked("p", 1);
    const [warning] = typeChecking.expressionWarnings;
    assert.equal(warning.fieldRef, "spec.validations[0].expression");
    assert.match(warning.warning, /undefined field 'replica'/);
    await run.test.patch(`${group}//p`, {
      spec: { validations: [{ expression: "object.spec.replicas > 1" }] },
    });
    const status = await checked("p", 2);
    assert.equal(status.typeChecking?.expressionWarnings, undefined);
  });

  it("retries a failed patch", async () => {
    run.failNext("patch", "validatingadmissionpolicies", 2);
    await post("p", "true");
    await checked("p", 1);
    assert.equal(run.calls("patch", "validatingadmissionpolicies"), 3);
  });
});
