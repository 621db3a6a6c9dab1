import assert from "node:assert/strict";
import { ConfigurationFault } from "#meta";
import { parseTracingConfiguration } from "./index.ts";

const header = "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\n";

describe("a TracingConfiguration", () => {
  it("may leave everything out: then clients decide what is recorded", () => {
    assert.deepEqual(parseTracingConfiguration(header), {
      endpoint: "http://localhost:4317",
      samplingRatePerMillion: 0,
    });
  });

  for (const [endpoint, url] of [
    ["otel.example.org:55680", "http://otel.example.org:55680"],
    ["dns://otel:4317", "http://otel:4317"],
    ["dns://8.8.8.8/otel:4317", "http://otel:4317"],
    ["dns:///[::1]:4317", "http://[::1]:4317"],
  ] as const) {
    it(`names a collector: ${endpoint}`, () => {
      const text = `${header}endpoint: "${endpoint}"\nsamplingRatePerMillion: 100\n`;
      const expected = { endpoint: url, samplingRatePerMillion: 100 };
      assert.deepEqual(parseTracingConfiguration(text), expected);
    });
  }

  for (const [what, text, message] of [
    ["nothing", "", /^expected apiVersion .*v1 and kind TracingConfiguration, found/],
    ["another version", header.replace("v1beta1", "v2"), /^expected apiVersion/],
    ["no YAML", `${header}endpoint: [`, /^yaml: /],
    ["an unknown field", `${header}rate: 1`, /: unknown field "rate"$/],
    ["a field twice", `${header}endpoint: a:1\nendpoint: b:1`, /endpoint/],
    ["a wrong type", `${header}samplingRatePerMillion: many`, /samplingRatePerMillion/],
    ["too low a rate", `${header}samplingRatePerMillion: -1`, /samplingRate.*positive/],
    ["too high a rate", `${header}samplingRatePerMillion: 1000001`, /less than or equal to one/],
    ["another scheme", `${header}endpoint: "ftp://a:1"`, /unsupported scheme: ftp/],
    ["no port", `${header}endpoint: localhost`, /^endpoint: .*must be host:port/],
    ["a path", `${header}endpoint: "dns:///a:1/v1"`, /^endpoint: .*must be host:port/],
  ] as const) {
    it(`with ${what} is refused`, () => {
      assert.throws(
        () => parseTracingConfiguration(text),
        (error: unknown) => {
          assert.ok(error instanceof ConfigurationFault);
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }
});
