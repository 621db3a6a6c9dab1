import assert from "node:assert/strict";
import { startServer } from "../../../cmd/keelson/index.ts";
import { eventually, send } from "./testing.ts";
import { customResourceDefinition } from "../../../pkg/crd/testing.ts";

describe("type checking of policies", () => {
  it("checks expressions against the schemas of custom resources", async () => {
    const server = await startServer();
    try {
      const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      const size = { type: "integer" };
      const spec = { type: "object", properties: { size } };
      const defined = await send(
        server,
        "POST",
        definitions,
        customResourceDefinition(
          { plural: "boats", kind: "Boat" },
          { schema: { type: "object", properties: { spec } } },
        ),
      );
      assert.equal(defined.status, 201, defined.body.message);
      const apiVersion = "admissionregistration.k8s.io/v1";
      const path = `/apis/${apiVersion}/validatingadmissionpolicies`;
      const resources = ["boats", "ships"];
      const rule = {
        operations: ["*"],
        apiGroups: ["example.com"],
        apiVersions: ["v1"],
        resources,
      };
      const made = await send(server, "POST", path, {
        apiVersion,
        kind: "ValidatingAdmissionPolicy",
        metadata: { name: "typed" },
        spec: {
          matchConstraints: { resourceRules: [rule] },
          validations: [
            { expression: "object.metadata.labels['a'] == 'b' && object.spec.size > 1" },
            { expression: "object.spec.size == 'large'" },
          ],
        },
      });
      assert.equal(made.status, 201, made.body.message);
      const told = await eventually(
        () => send(server, "GET", `${path}/typed`),
        (answer) => answer.body.status?.typeChecking !== undefined,
      );
      const [{ fieldRef, warning }, ...more] = told.body.status.typeChecking.expressionWarnings;
      assert.deepEqual([fieldRef, more], ["spec.validations[1].expression", []]);
      assert.match(warning, /^example.com\/v1, Kind=Boat: ERROR: .* found no matching overload/);
    } finally {
      await server.close();
    }
  });

  it("reports expressions that do not match their kinds in status.typeChecking", async () => {
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
