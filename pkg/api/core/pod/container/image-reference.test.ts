import assert from "node:assert/strict";
import { pullPolicyOf } from "./image-reference.ts";

describe("image references", () => {
  const path = (length: number) => "x".repeat(length);

  it("limits the path of a repository, not the domain of its registry", () => {
    assert.equal(pullPolicyOf(`registry.example.com/${path(255)}`), "Always");
    assert.equal(pullPolicyOf(`registry.example.com/${path(256)}`), "IfNotPresent");
    assert.equal(pullPolicyOf(`localhost/${path(255)}`), "Always");
  });

  it("includes the library of Docker Hub", () => {
    assert.equal(pullPolicyOf(path(247)), "Always");
    assert.equal(pullPolicyOf(path(248)), "IfNotPresent");
    assert.equal(pullPolicyOf(`docker.io/team/${path(250)}`), "Always");
    assert.equal(pullPolicyOf(`index.docker.io/${path(248)}`), "IfNotPresent");
  });
});
