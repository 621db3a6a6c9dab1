import assert from "node:assert/strict";
import type { Pod } from "#kinds";
import { containerLog, type LogPart, newLines } from "./container-logs.ts";

const start = Date.parse("2030-01-01T00:00:00Z");

function pod(annotations: Readonly<Record<string, string>>, state: object, lastState = {}): Pod {
  const names = Object.entries(annotations).map(([name, value]) => {
    return [`simulated.keelson.dev/${name}`, value];
  });
  const metadata = { name: "p", namespace: "ns", annotations: Object.fromEntries(names) };
  const containerStatuses = [{ name: "app", state, lastState }];
  return { metadata, status: { containerStatuses } } as unknown as Pod;
}

const running = { running: { startedAt: "2030-01-01T00:00:00Z" } };
const ended = {
  terminated: {
    exitCode: 3,
    startedAt: "2030-01-01T00:00:00Z",
    finishedAt: "2030-01-01T00:00:09Z",
  },
};

describe("logs of simulated containers", () => {
  const part = (of: Pod, query = "", seconds = 0, configured?: string): LogPart => {
    const request = { query: new URLSearchParams(query), now: start + seconds * 1000, configured };
    const log = containerLog(of, "app", request);
    assert.ok(!("refusal" in log));
    return log;
  };
  const textOf = (...asked: Parameters<typeof part>) => part(...asked).text.toString();

  it("come from an annotation or a ConfigMap, or are generated", () => {
    assert.equal(textOf(pod({ log: "a\nb" }, running), "", 0, "x"), "a\nb\n");
    assert.equal(textOf(pod({}, running), "", 0, "x"), "x\n");
    assert.match(textOf(pod({}, ended)), /^simulated container app .*\nexit code 3\n$/);
    assert.match(textOf(pod({}, running, ended), "previous=true"), /exit code 3\n$/);
  });

  it("are limited by the options of the request", () => {
    const log = pod({ log: "a\nbö\nc", "log-every": "2s" }, running);
    assert.equal(textOf(log, "", 5), "a\nbö\nc\n");
    assert.equal(textOf(log, "tailLines=1", 7), "a\n");
    assert.equal(textOf(log, "sinceSeconds=3", 5), "bö\nc\n");
    assert.equal(textOf(log, "sinceTime=2030-01-01T00:00:04Z", 5), "c\n");
    assert.equal(textOf(log, "limitBytes=3", 5), "a\nb");
    assert.equal(textOf(log, "timestamps=true&tailLines=1", 3), "2030-01-01T00:00:02.000Z bö\n");
  });

  it("are streamed while followed, until the container terminates", () => {
    const annotations = { log: "a\nb\nc", "log-every": "2s" };
    const follow = (of: Pod, last: LogPart, seconds: number) =>
      newLines(of, "app", {
        last,
        request: { query: new URLSearchParams(), now: start + seconds * 1000 },
      });
    const first = part(pod(annotations, running), "", 1);
    const second = follow(pod(annotations, running), first, 5)!;
    assert.deepEqual([second.text.toString(), second.isRunning], ["b\nc\n", true]);
    const third = follow(pod(annotations, ended), second, 60)!;
    assert.deepEqual([third.text.toString(), third.isRunning], ["a\nb\n", false]);
    const restarted = { running: { startedAt: "2030-01-01T00:01:00Z" } };
    assert.equal(follow(pod(annotations, restarted), first, 61), undefined);
  });

  it("keep only the newest lines", () => {
    const text = textOf(pod({ log: "line", "log-every": "1ms" }, running), "", 3600);
    assert.equal(text.split("\n").length, 10_001);
  });
});
