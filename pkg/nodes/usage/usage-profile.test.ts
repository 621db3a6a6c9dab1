import assert from "node:assert/strict";
import { parseUsageProfile } from "./usage-profile.ts";

describe("usage profiles", () => {
  const at = (text: string, ...times: number[]) =>
    times.map((time) => Number(parseUsageProfile(text)?.at(time).toFixed(6)));

  it("are constant, steps, or a sine", () => {
    assert.deepEqual(at("250m", 0, 1e6), [0.25, 0.25]);
    assert.deepEqual(at("1s:100m,60s:2", 0, 1, 59, 60, 1e6), [0, 0.1, 0.1, 2, 2]);
    assert.deepEqual(at("0s:1Ki,10s:0,every:20s", 9, 10, 20, 35), [1024, 0, 1024, 0]);
    assert.deepEqual(at("sine:100m:900m:10m", 0, 150, 300, 600), [0.1, 0.5, 0.9, 0.1]);
  });

  it("have the integral of the profile as total", () => {
    for (const text of ["250m", "1s:100m,60s:2", "0s:1,10s:0,every:20s", "sine:1:9:70s"]) {
      const profile = parseUsageProfile(text)!;
      let sum = 0;
      for (let step = 0; step < 20_000; step++) sum += profile.at((step + 0.5) / 100) / 100;
      assert.ok(Math.abs(sum - profile.total(200)) < 0.02, `${text}: ${sum}`);
    }
  });

  it("are rejected if they are invalid", () => {
    const wrong = [
      "",
      "much",
      "-1",
      "5s:1,1s:2",
      "1s:x",
      "sine:1:2:0s",
      "0s:1,every:0s",
      "every:1s",
    ];
    for (const text of wrong) assert.equal(parseUsageProfile(text), undefined, text);
    assert.equal(parseUsageProfile(Array.from({ length: 200 }, () => "1s:1").join()), undefined);
  });
});
