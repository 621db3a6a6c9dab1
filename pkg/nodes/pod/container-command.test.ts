import assert from "node:assert/strict";
import type { Container } from "#kinds";
import { commandExit } from "./container-command.ts";

describe("the end of a container by its command", () => {
  const endOf = (container: Partial<Container>) => {
    const exit = commandExit({ name: "c", image: "busybox", ...container });
    return exit && `${exit.code} after ${exit.afterMs / 1000} s`;
  };
  const script = (text: string) => endOf({ command: ["/bin/sh", "-c", text] });

  it("follows sleep, true and false", () => {
    assert.equal(endOf({ command: ["sleep", "300"] }), "0 after 300 s");
    assert.equal(endOf({ args: ["/bin/sleep", "1m", "0.5"] }), "0 after 60.5 s");
    assert.equal(endOf({ command: ["sleep"], args: ["infinity"] }), "0 after Infinity s");
    assert.equal(endOf({ command: ["sleep", "soon"] }), "1 after 0 s");
    assert.equal(endOf({ command: ["/bin/false"] }), "1 after 0 s");
  });

  it("follows scripts of statements that it knows", () => {
    assert.equal(script("sleep 2; exit 3"), "3 after 2 s");
    assert.equal(script("false; exit"), "1 after 0 s");
    assert.equal(script("echo hello && sleep 1\ntrue"), "0 after 1 s");
    assert.equal(script("false && sleep 9"), "1 after 0 s");
    assert.equal(script("sleep 1 & wait"), undefined);
    assert.equal(script("exit $((RANDOM))"), undefined);
    assert.equal(script("run-the-job"), undefined);
  });

  it("never comes to pause containers, and is unknown for images", () => {
    assert.equal(endOf({ image: "registry.k8s.io/pause:3.10" }), "0 after Infinity s");
    assert.equal(endOf({ image: "agnhost", args: ["pause"] }), "0 after Infinity s");
    assert.equal(endOf({}), undefined);
    assert.equal(endOf({ command: ["sh", "-c", "x".repeat(5_000)] }), undefined);
  });
});
