import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import {
  FeatureGateError,
  featureGates,
  featureStages,
  gatesWithoutEffect,
} from "./feature-gates.ts";
import { builtinKinds } from "../index.ts";

function gates(text = "") {
  const pairs = text.split(",").filter(Boolean);
  return featureGates(new Map(pairs.map((pair) => pair.split("=") as [string, string])));
}

describe("feature gates", () => {
  const defaults: readonly (readonly [string, boolean])[] = [
    ["HPAScaleToZero", false],
    ["ImageVolume", false],
    ["UserNamespacesSupport", true],
    ["ServiceTrafficDistribution", true],
    ["KMSv1", false],
    ["NoSuchGate", false],
  ];
  for (const [name, on] of defaults) {
    it(`${name} is ${on ? "on" : "off"} by default`, () => assert.equal(gates()(name), on));
  }

  it("a setting overrides the default, and AllAlpha and AllBeta", () => {
    assert.equal(gates("HPAScaleToZero=true")("HPAScaleToZero"), true);
    assert.equal(gates("UserNamespacesSupport=false")("UserNamespacesSupport"), false);
    assert.equal(gates("AllAlpha=true")("HPAScaleToZero"), true);
    assert.equal(gates("AllAlpha=true,HPAScaleToZero=false")("HPAScaleToZero"), false);
    assert.equal(gates("AllBeta=false")("UserNamespacesSupport"), false);
  });

  const mistakes: readonly (readonly [string, RegExp])[] = [
    ["NoSuchGate=true", /^--feature-gates: unrecognized feature gate: NoSuchGate$/],
    [
      "HPAScaleToZero=yes",
      /invalid value of HPAScaleToZero=yes, err: strconv.ParseBool: parsing "yes": invalid syntax$/,
    ],
    [
      "ServiceTrafficDistribution=false",
      /cannot set feature gate ServiceTrafficDistribution to false, feature is locked to true$/,
    ],
  ];
  for (const [text, sentence] of mistakes) {
    it(`rejects ${text}`, () => {
      assert.throws(
        () => gates(text),
        (error) => error instanceof FeatureGateError && sentence.test(error.message),
      );
    });
  }

  it("include every gate of a served version or a field", () => {
    const unknown = [...gatesOfKinds()].filter((name) => !featureStages().has(name));
    assert.deepEqual(unknown, []);
  });

  it("include every gate in the source of this folder", () => {
    const named = new Set(sources().flatMap(gatesInText));
    assert(named.has("PodCertificateRequest") && named.has("HostnameOverride"));
    assert.deepEqual(
      [...named].filter((name) => !featureStages().has(name)),
      [],
    );
  });
});

describe("settings of feature gates", () => {
  it("have an effect, or are reported as unused when set", () => {
    const settings = new Map([
      ["ContextualLogging", "false"],
      ["LoggingBetaOptions", "true"],
      ["ImageVolume", "true"],
      ["AllAlpha", "false"],
      ["InformerResourceVersion", "true"],
    ]);
    assert.deepEqual(gatesWithoutEffect(settings), [
      "ContextualLogging",
      "InformerResourceVersion",
    ]);
  });
});

/** Gates in declarations of kinds, also those that reach a field by way of a constant. */
function gatesOfKinds(): ReadonlySet<string> {
  const found = new Set<string>();
  const seen = new Set<unknown>();
  const visit = (type: any): void => {
    if (seen.has(type)) return;
    seen.add(type);
    if (type.tag === "lazy") visit(type.resolve());
    for (const part of [type.element, type.value]) if (part?.tag !== undefined) visit(part);
    for (const field of Object.values<any>(type.tag === "struct" ? type.fields : {})) {
      for (const name of field.gate?.split(",") ?? []) found.add(name);
      visit(field.type);
    }
  };
  for (const { gate, struct } of builtinKinds.flatMap(({ versions }) => versions)) {
    if (gate !== undefined) found.add(gate);
    visit(struct);
  }
  return found;
}

function sources(): readonly string[] {
  const folder = path.dirname(import.meta.dirname);
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => readFileSync(path.join(folder, file), "utf8"));
}

/** Names in `gate: "Name"`, `gate("Name")` and `isOn("Name")`. */
function gatesInText(text: string): readonly string[] {
  const uses = text.matchAll(/\b(?:gate:\s*|gate\(|isOn\()"([A-Za-z,]+)"/g);
  return [...uses].flatMap(([, names = ""]) => names.split(","));
}
