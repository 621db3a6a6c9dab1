import assert from "node:assert/strict";
import { type CronSchedule, parseCronSchedule } from "#api";
import { seededRandom } from "#base";
import { lastTime, nextTime } from "./schedule-times.ts";

function parsed(schedule: string): CronSchedule {
  const found = parseCronSchedule(schedule);
  if (typeof found === "string") throw new Error(found);
  return found;
}

const iso = (ms: number | undefined) =>
  ms === undefined ? "never" : new Date(ms).toISOString().replace(".000Z", "Z");

/** The times after `from`, as many as `times`. */
function assertNext(schedule: string, from: string, ...times: readonly string[]): void {
  let at = Date.parse(from);
  for (const time of times) {
    const next = nextTime(parsed(schedule), at);
    assert.equal(iso(next), time === "never" ? time : iso(Date.parse(time)), schedule);
    at = next ?? at;
  }
}

describe("nextTime", () => {
  it("returns the times of simple schedules", () => {
    assertNext("TZ=UTC * * * * *", "2012-07-09T14:45:35.5Z", "2012-07-09T14:46:00Z");
    assertNext("TZ=UTC 0/15 * * * *", "2012-07-09T14:45:00Z", "2012-07-09T15:00:00Z");
    assertNext("TZ=UTC 20-35/15 * * * *", "2012-07-09T15:45:00Z", "2012-07-09T16:20:00Z");
    assertNext("TZ=UTC 30 08 15 Jul ?", "2012-07-15T08:30:00Z", "2013-07-15T08:30:00Z");
    assertNext("TZ=UTC @weekly", "2012-07-09T15:45:00Z", "2012-07-15T00:00:00Z");
    assertNext("TZ=UTC @yearly", "2012-07-09T15:45:00Z", "2013-01-01T00:00:00Z");
    assertNext("TZ=UTC 0 0 29 Feb ?", "2012-07-09T23:35:00Z", "2016-02-29T00:00:00Z");
    assertNext("TZ=UTC 59 23 31 12 *", "2012-12-31T23:59:00Z", "2013-12-31T23:59:00Z");
  });

  it("requires one of the two day fields to match, or both if one is a wildcard", () => {
    assertNext("TZ=UTC 0 0 1,15 * Sun", "2012-07-02T00:00:00Z", "2012-07-08T00:00:00Z");
    assertNext("TZ=UTC 0 0 1,15 * Sun", "2012-07-08T00:00:00Z", "2012-07-15T00:00:00Z");
    assertNext("TZ=UTC 0 0 * * Mon", "2012-07-15T00:00:00Z", "2012-07-16T00:00:00Z");
    assertNext("TZ=UTC 0 0 1 * ?", "2012-07-15T00:00:00Z", "2012-08-01T00:00:00Z");
    // A step above one is not a wildcard.
    assertNext("TZ=UTC 0 0 */31 * Tue", "2012-07-15T00:00:00Z", "2012-07-17T00:00:00Z");
  });

  it("returns undefined if nothing matches within five years", () => {
    assertNext("TZ=UTC 0 0 30 Feb ?", "2012-07-09T23:35:00Z", "never");
    assertNext("TZ=UTC 59 23 31 Apr ?", "2012-07-09T23:35:00Z", "never");
  });

  it("counts @every from the start, in full seconds", () => {
    assertNext("@every 1h30m", "2012-07-09T14:45:10.7Z", "2012-07-09T16:15:10Z");
    assertNext("@every 10ms", "2012-07-09T14:45:10Z", "2012-07-09T14:45:11Z");
    assertNext("@every 1500ms", "2012-07-09T14:45:10Z", "2012-07-09T14:45:11Z");
    assertNext("@every -5m", "2012-07-09T14:45:10Z", "2012-07-09T14:45:11Z");
  });
});

describe("nextTime with daylight saving time", () => {
  const newYork = (schedule: string) => `TZ=America/New_York ${schedule}`;

  it("skips times that do not exist", () => {
    assertNext(newYork("30 2 11 Mar ?"), "2012-03-11T00:00:00-05:00", "2013-03-11T02:30:00-04:00");
    assertNext(newYork("0 2 * * ?"), "2012-03-11T00:00:00-05:00", "2012-03-12T02:00:00-04:00");
    assertNext(
      newYork("0 * * * ?"),
      "2012-03-11T00:00:00-05:00",
      "2012-03-11T01:00:00-05:00",
      "2012-03-11T03:00:00-04:00",
      "2012-03-11T04:00:00-04:00",
    );
  });

  it("runs repeated times twice", () => {
    assertNext(newYork("30 2 04 Nov ?"), "2012-11-04T00:00:00-04:00", "2012-11-04T02:30:00-05:00");
    assertNext(newYork("30 1 04 Nov ?"), "2012-11-04T01:45:00-04:00", "2012-11-04T01:30:00-05:00");
    assertNext(
      newYork("0 1 * * ?"),
      "2012-11-04T00:00:00-04:00",
      "2012-11-04T01:00:00-04:00",
      "2012-11-04T01:00:00-05:00",
      "2012-11-05T01:00:00-05:00",
    );
    assertNext(
      newYork("0 * * * ?"),
      "2012-11-04T00:00:00-04:00",
      "2012-11-04T01:00:00-04:00",
      "2012-11-04T01:00:00-05:00",
      "2012-11-04T02:00:00-05:00",
    );
  });

  it("handles a midnight that does not exist", () => {
    assertNext(
      "TZ=America/Sao_Paulo 0 9 10 * ?",
      "2018-10-17T05:00:00-03:00",
      "2018-11-10T09:00:00-02:00",
      "2018-12-10T09:00:00-02:00",
    );
    assertNext(
      "TZ=America/Sao_Paulo 30 0 * * ?",
      "2018-11-03T12:00:00-03:00",
      "2018-11-05T00:30:00-02:00",
    );
  });
});

describe("lastTime", () => {
  it("equals the last of all next times", () => {
    const random = seededRandom("last times");
    const fields = ["*", "0", "*/7", "30 6-16/4 * * 1-5", "0 0 1 * 3", "15 3 29 2 *", "* * 1 1 *"];
    for (let round = 0; round < 200; round++) {
      const words = random.pick(fields).split(" ");
      const full = [...words, "*", "*", "*", "*"].slice(0, 5).join(" ");
      const zone = random.pick(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"]);
      const every = `@every ${random.below(5000) + 1}s`;
      const schedule = parsed(random.below(4) === 0 ? every : `TZ=${zone} ${full}`);
      const from = Date.UTC(2023, random.below(24), random.below(28), random.below(24));
      const now = from + random.below(3 * 86_400_000);
      let last: number | undefined;
      for (let next = nextTime(schedule, from); next !== undefined && next <= now;) {
        last = next;
        next = nextTime(schedule, next);
      }
      assert.equal(iso(lastTime(schedule, from, now)), iso(last));
    }
  });

  it("skips years of minutes quickly", () => {
    const now = Date.UTC(2030, 5, 1);
    const at = lastTime(parsed("TZ=UTC * * * 1-5 *"), Date.UTC(2000, 0, 1), now - 1);
    assert.equal(iso(at), "2030-05-31T23:59:00Z");
  });
});
