import assert from "node:assert/strict";
import { createLogger, type LogFormat, systemClock } from "./index.ts";

const micros = Date.UTC(2026, 10, 21, 16, 32, 46) * 1000 + 123_456;

function written(format: LogFormat, level = 0) {
  const lines: string[] = [];
  const clock = { ...systemClock, nowMicros: () => micros };
  const write = (line: string) => void lines.push(line);
  return { lines, logger: createLogger({ format, level, write, clock, processId: 12345 }) };
}

describe("a logger", () => {
  it("writes klog's text format", () => {
    const { lines, logger } = written("text", 3);
    logger.info(3, "HTTP", { verb: "GET", resp: 200 });
    logger.error("it broke", new Error("why"), { at: "once" });
    assert.deepEqual(lines, [
      'I1121 16:32:46.123456   12345 keelson] "HTTP" verb="GET" resp=200',
      'E1121 16:32:46.123456   12345 keelson] "it broke" err="why" at="once"',
    ]);
  });

  it("writes the JSON format of Kubernetes components", () => {
    const { lines, logger } = written("json", 3);
    logger.info(3, "HTTP", { resp: 200 });
    logger.error("it broke", "why");
    const head = { ts: micros / 1000, caller: "keelson" };
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      [
        { ...head, msg: "HTTP", v: 3, resp: 200 },
        { ...head, msg: "it broke", err: "why" },
      ],
    );
  });

  it("writes each entry as one line of bounded length", () => {
    for (const format of ["text", "json"] as const) {
      const { lines, logger } = written(format);
      logger.info(0, "told", { agent: 'a"\nE1121 b', long: "x".repeat(100_000) });
      const [line = ""] = lines;
      assert.equal(lines.length, 1);
      assert.doesNotMatch(line, /\n/);
      assert.ok(line.length < 5000);
      assert.ok(line.includes('a\\"\\nE1121 b'));
    }
  });

  it("logs up to its verbosity, and always errors", () => {
    const { lines, logger } = written("text");
    logger.info(1, "detail");
    assert.equal(logger.shows(1), false);
    logger.level = 1;
    assert.equal(logger.shows(1), true);
    logger.info(1, "detail");
    logger.level = 0;
    logger.error("trouble", "why");
    assert.equal(lines.length, 2);
  });
});
