import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { systemClock } from "#base";
import { RotatingFile, type RotationOptions } from "./rotating-file.ts";

describe("rotating files", () => {
  let folder: string;
  let now: number;
  const errors: unknown[] = [];

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-audit-"));
    now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
    errors.length = 0;
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
    assert.deepEqual(errors, []);
  });

  function open(options: Partial<RotationOptions> = {}): Promise<RotatingFile> {
    const clock = { ...systemClock, now: () => now };
    const rotation = { maxBytes: 10, maxAgeDays: 0, maxBackups: 0, compress: false, ...options };
    const onError = (error: unknown) => void errors.push(error);
    return RotatingFile.open(path.join(folder, "logs", "audit.log"), rotation, { clock, onError });
  }

  const files = () => readdirSync(path.join(folder, "logs")).sort();
  const text = (name: string) => readFileSync(path.join(folder, "logs", name), "utf8");
  const line = (letter: string) => Buffer.from(`${letter.repeat(5)}\n`);

  it("preserve complete lines in order, readable by the owner only", async () => {
    const file = await open({ maxBytes: 0 });
    const written = [..."abcdef"].map((letter) => file.append(line(letter)));
    await Promise.all(written);
    await file.close();
    const again = await open({ maxBytes: 0 });
    await again.append(line("g"));
    await again.close();
    assert.deepEqual(files(), ["audit.log"]);
    assert.equal(text("audit.log"), [..."abcdefg"].map((letter) => line(letter)).join(""));
    assert.equal(statSync(path.join(folder, "logs", "audit.log")).mode & 0o777, 0o600);
  });

  it("are rotated when full, with the time in the name of the backup", async () => {
    const file = await open();
    for (const letter of "abc") await file.append(line(letter));
    await file.append(Buffer.from("longer than a file may be\n"));
    await file.close();
    assert.deepEqual(files(), [
      "audit-2026-01-02T03-04-05.678.log",
      "audit-2026-01-02T03-04-05.679.log",
      "audit-2026-01-02T03-04-05.680.log",
      "audit.log",
    ]);
    assert.equal(text("audit-2026-01-02T03-04-05.679.log"), "bbbbb\n");
    assert.equal(text("audit.log"), "longer than a file may be\n");
  });

  it("limit the number and age of backups", async () => {
    const few = await open({ maxBackups: 2 });
    for (const letter of "abcdef") await few.append(line(letter));
    await few.close();
    assert.deepEqual(
      files().map((name) => text(name)[0]),
      ["d", "e", "f"],
    );
    now += 2 * 86_400_000;
    const young = await open({ maxAgeDays: 1 });
    await young.append(line("g"));
    await young.close();
    assert.deepEqual(
      files().map((name) => text(name)[0]),
      ["f", "g"],
    );
  });

  it("compress backups", async () => {
    const file = await open({ compress: true });
    for (const letter of "abc") await file.append(line(letter));
    await file.close();
    const [first = "", ...rest] = files();
    assert.equal(first, "audit-2026-01-02T03-04-05.678.log.gz");
    assert.equal(rest.length, 2);
    const bytes = readFileSync(path.join(folder, "logs", first));
    assert.equal(gunzipSync(bytes).toString("utf8"), "aaaaa\n");
  });
});
