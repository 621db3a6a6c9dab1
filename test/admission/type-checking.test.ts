import assert from "node:assert/strict";
import { startServer } from "../../cmd/keelson/index.ts";
import { eventually, send } from "./testing.ts";

describe("type checking of policies", () => {
  it("tells in the status which expressions do not fit the kinds they are for", async () => {
    const server = await startServer();
    try {
      const apiVersion = "admissionregistration.k8s.io/v1";
      const path = `/apis/${apiVersion}/validatingadmissionpolicies`;
      const rule = { operations: ["*"], apiGroups: ["apps"], apiVersions: ["v1"] };
      const { status, body } = await send(server, "POST", path, {
        apiVersion,
        kind: "ValidatingAdmissionPolicy",
        metadata: { name: "typed" },
        spec: {
          matchConstraints: { resourceRules: [{ ...rule, resources: ["deployments"] }] },
          variables: [{ name: "wanted", expression: "object.spec.replicas" }],
          validations: [
            { expression: "variables.wanted > 1" },
            { expression: "object.foo < 2" },
            { expression: "true", messageExpression: "object.spec.replicas + '!'" },
          ],
        },
      });
      assert.equal(status, 201, body.message);
      const told = await eventually(
        () => send(server, "GET", `${path}/typed`),
        (answer) => answer.body.status?.typeChecking !== undefined,
      );
      assert.equal(told.body.status.observedGeneration, 1);
      const { expressionWarnings } = told.body.status.typeChecking;
      assert.deepEqual(
        expressionWarnings.map(({ fieldRef }: { readonly fieldRef: string }) => fieldRef),
        ["spec.validations[1].expression", "spec.validations[2].messageExpression"],
      );
      const [{ warning }] = expressionWarnings;
      assert.match(warning, /^apps\/v1, Kind=Deployment: ERROR: .* undefined field 'foo'/);
    } finally {
      await server.close();
    }
  });
});
