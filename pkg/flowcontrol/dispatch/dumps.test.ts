import assert from "node:assert/strict";
import { fair, TestDispatcher } from "../testing.ts";

const small = { ...fair, queuing: { queues: 2, handSize: 1, queueLengthLimit: 2 } };
const rejecting = { ...fair, name: "catch-all", queuing: undefined };

/** Cells of a table, without the padding. */
function cells(table: string): readonly (readonly string[])[] {
  const lines = table.trimEnd().split("\n");
  return lines.map((line) => line.split(/, */).map((cell) => cell.trim()));
}

/** Four seats, of which two requests of one flow take three; another one waits for two seats. */
async function busy(): Promise<TestDispatcher> {
  const on = new TestDispatcher([small, rejecting], 8);
  await on.clock.pass(1500);
  on.execute({ flow: "alice", seats: 2, finalSeats: 1, additionalLatency: 5 }, 1e6);
  on.execute({ flow: "alice", seats: 1 }, 1e6);
  await on.clock.pass(250);
  on.execute({ flow: "alice", seats: 2, maxWaitMs: 1e6 }, 1e6);
  on.execute({ level: "catch-all", flow: "a\nb" }, 1e6);
  return on;
}

describe("dumps", () => {
  it("list priority levels, columns aligned to their widest cell", async () => {
    const on = await busy();
    const client = new AbortController();
    void on.start({ flow: "alice", seats: 4, signal: client.signal });
    client.abort();
    void on.start({ flow: "alice", seats: 4, maxWaitMs: 10 });
    await on.clock.pass(20);
    assert.equal(
      on.dispatcher.dumpPriorityLevels(),
      [
        "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, " +
          "ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests",
        "catch-all,         0,            false,  false,       0,               " +
          "1,                 1,                  0,                0,                0",
        "fair,              1,            false,  false,       1,               " +
          "2,                 2,                  2,                0,                2",
        "",
      ].join("\n"),
    );
  });

  it("list used and unused queues", async () => {
    const on = await busy();
    const [header, ...rows] = cells(on.dispatcher.dumpQueues());
    assert.deepEqual(header, [
      "PriorityLevelName",
      "Index",
      "PendingRequests",
      "ExecutingRequests",
      "SeatsInUse",
      "NextDispatchR",
      "InitialSeatsSum",
      "MaxSeatsSum",
      "TotalWorkSum",
    ]);
    // The queue has been charged for 3 seats over almost half a second, as they still execute.
    const used = ["1", "2", "3", "1.49100000ss", "2", "2", "0.00600000ss"];
    const unused = ["0", "0", "0", "0.00000000ss", "0", "0", "0.00000000ss"];
    const shown = rows.map((row) => row.slice(2));
    assert.deepEqual(
      rows.map((row) => row.slice(0, 2)),
      [
        ["fair", "0"],
        ["fair", "1"],
      ],
    );
    assert.deepEqual(
      shown.toSorted((a, b) => Number(b[0]) - Number(a[0])),
      [used, unused],
    );
  });

  it("list waiting, executing and unqueued requests", async () => {
    const on = await busy();
    const [header, ...rows] = cells(on.dispatcher.dumpRequests(false));
    assert.equal(
      header?.join(" "),
      "PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime " +
        "InitialSeats FinalSeats AdditionalLatency StartTime",
    );
    const early = "2030-01-01T00:00:01.5Z";
    const late = "2030-01-01T00:00:01.75Z";
    const queue = rows[1]?.[2] ?? "";
    assert.deepEqual(rows, [
      ["catch-all", "all", "-1", "-1", "a\ufffdb", late, "1", "0", "0s", late],
      ["fair", "all", queue, "0", "alice", late, "2", "0", "0s", "0001-01-01T00:00:00Z"],
      ["fair", "all", queue, "-1", "alice", early, "2", "1", "5ms", early],
      ["fair", "all", queue, "-1", "alice", early, "1", "0", "0s", early],
    ]);
  });

  it("include the details of requests if requested", async () => {
    const on = await busy();
    const [header, first] = cells(on.dispatcher.dumpRequests(true));
    assert.equal(
      header?.slice(10).join(" "),
      "UserName Verb APIPath Namespace Name APIVersion Resource SubResource",
    );
    const path = "/api/v1/namespaces/shop/configmaps/colours";
    const details = ["a\ufffdb", "get", path, "shop", "colours", "v1", "configmaps", ""];
    assert.deepEqual(first?.slice(10), details);
  });
});
