import assert from "node:assert/strict";
import { FeatureGateError, featureGates } from "./feature-gates.ts";

function gates(text = "") {
  const pairs = text.split(",").filter(Boolean);
  return featureGates(new Map(pairs.map((pair) => pair.split("=") as [string, string])));
}

describe("feature gates", () => {
  const defaults: readonly (readonly [string, boolean])[] = [
    ["HPAScaleToZero", false],
    ["ImageVolume", false],
    ["UserNamespacesSupport", true],
    ["ServerSideApply", true],
    ["DynamicKubeletConfig", false],
    ["NoSuchGate", false],
  ];
  for (const [name, on] of defaults) {
    it(`${name} is ${on ? "on" : "off"} by default`, () => assert.equal(gates()(name), on));
  }

  it("a setting wins over the default, and over its stage", () => {
    assert.equal(gates("HPAScaleToZero=true")("HPAScaleToZero"), true);
    assert.equal(gates("UserNamespacesSupport=false")("UserNamespacesSupport"), false);
    assert.equal(gates("AllAlpha=true")("HPAScaleToZero"), true);
    assert.equal(gates("AllAlpha=true,HPAScaleToZero=false")("HPAScaleToZero"), false);
    assert.equal(gates("AllBeta=false")("UserNamespacesSupport"), false);
  });

  const mistakes: readonly (readonly [string, RegExp])[] = [
    ["NoSuchGate=true", /^--feature-gates: unknown feature gate NoSuchGate$/],
    ["HPAScaleToZero=yes", /HPAScaleToZero=yes must be true or false$/],
    [
      "ServerSideApply=false",
      /cannot set feature gate ServerSideApply to false, .* locked to true$/,
    ],
  ];
  for (const [text, sentence] of mistakes) {
    it(`refuses ${text}`, () => {
      assert.throws(
        () => gates(text),
        (error) => error instanceof FeatureGateError && sentence.test(error.message),
      );
    });
  }
});
