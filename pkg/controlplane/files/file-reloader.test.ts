import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { VirtualClock } from "#base";
import { PrometheusMetrics } from "#server";
import { FileReloader } from "./file-reloader.ts";
import { writeFileAtomically } from "./files.ts";
import { reloadMetrics, ReloadMetrics, type ReloadedConfiguration } from "./reload-metrics.ts";

describe("FileReloader", () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-file-reloader-"));
    file = path.join(folder, "configuration");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const hash = (text: string) => `sha256:${hashes[text]}`;
  /** Of sha256sum. */
  const hashes: Readonly<Record<string, string>> = {
    a: "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    b: "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
    id: "a56145270ce6b3bebd1dd012b73948677dd618d496488bc608a3cb43ce3547dd",
  };

  for (const configuration of ["authentication", "authorization", "encryption"] as const) {
    it(`counts reloads of the ${configuration} configuration`, async () => {
      const metrics = new PrometheusMetrics();
      metrics.instruments.define(reloadMetrics);
      const clock = new VirtualClock({ start: 1_000_000 });
      const reports: string[] = [];
      const files = new FileReloader({
        clock,
        report: (what) => void reports.push(what),
        metrics: new ReloadMetrics(metrics.instruments, "id"),
      });
      await writeFileAtomically(file, "a", 0o600);
      const apply = (text = "") => {
        if (text === "bad") throw new Error("bad");
      };
      files.use([{ file }], apply, configuration satisfies ReloadedConfiguration);
      const series = (name: string) =>
        metrics.series(`apiserver_${configuration}_config_controller_${name}`);
      const idHash = { apiserver_id_hash: hash("id") };
      const info = (text: string) => [{ labels: { ...idHash, hash: hash(text) }, value: 1 }];
      const found = async (name: string) =>
        (await series(name)).map(({ labels, value }) => ({ labels, value }));
      assert.deepEqual(await found("last_config_info"), info("a"));
      assert.deepEqual(await found("automatic_reloads_total"), []);

      const stop = new AbortController();
      const following = files.follow(stop.signal);
      const counts = async () =>
        Object.fromEntries(
          (await series("automatic_reloads_total")).map(({ labels, value }) => [
            `${labels["status"]} ${labels["apiserver_id_hash"]}`,
            value,
          ]),
        );
      const until = async (expected: Record<string, number>) => {
        const deadline = performance.now() + 30_000;
        while (JSON.stringify(await counts()) !== JSON.stringify(expected)) {
          assert.ok(performance.now() < deadline, JSON.stringify(await counts()));
          await clock.advance(2_000);
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      await writeFileAtomically(file, "bad", 0o600);
      await until({ [`failure ${hash("id")}`]: 1 });
      assert.deepEqual(await found("last_config_info"), info("a"));
      assert.equal(reports.length, 1);
      await writeFileAtomically(file, "b", 0o600);
      await until({ [`failure ${hash("id")}`]: 1, [`success ${hash("id")}`]: 1 });
      assert.deepEqual(await found("last_config_info"), info("b"));
      const times = await series("automatic_reload_last_timestamp_seconds");
      assert.equal(times.length, 2);
      for (const { value } of times) {
        assert.ok(value >= 1_000 && value <= clock.now() / 1000, String(value));
      }
      stop.abort();
      await clock.advance(2_000);
      await following;
    });
  }
});
