import assert from "node:assert/strict";
import { AdmissionPluginError, enabledPlugins } from "./enabled-plugins.ts";

describe("flags of admission plugins", () => {
  it("add to and take from the plugins that are on by default", () => {
    const on = enabledPlugins({ enable: ["NodeRestriction"], disable: ["LimitRanger"] });
    assert.deepEqual(
      ["NodeRestriction", "LimitRanger", "ServiceAccount"].map((name) => on.has(name)),
      [true, false, true],
    );
    assert.ok(!enabledPlugins({}).has("NodeRestriction"));
  });

  for (const [switches, message] of [
    [{ enable: ["Nothing"] }, 'enable-admission-plugins plugin "Nothing" is unknown'],
    [{ disable: ["constructor"] }, 'disable-admission-plugins plugin "constructor" is unknown'],
    [
      { enable: ["Priority"], disable: ["Priority"] },
      "Priority in enable-admission-plugins and disable-admission-plugins overlapped",
    ],
    [
      { enable: ["AlwaysDeny"] },
      'enable-admission-plugins plugin "AlwaysDeny" is not part of this server',
    ],
  ] as const) {
    it(message, () => {
      assert.throws(
        () => enabledPlugins(switches),
        (error) => error instanceof AdmissionPluginError && error.message === message,
      );
    });
  }
});
