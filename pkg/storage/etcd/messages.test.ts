import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";
import protobuf from "protobufjs";
import { DecodeFault } from "#schema";
import {
  decodeRange,
  decodeTransaction,
  decodeWatch,
  encodeRange,
  encodeRevisionRequest,
  encodeTransaction,
  encodeWatch,
} from "./messages.ts";

/** etcd's own definitions, read by another implementation. */
const folder = path.join(
  path.dirname(createRequire(import.meta.url).resolve("etcd3/package.json")),
  "proto",
);
const root = new protobuf.Root();
root.resolvePath = (_from, to) => path.join(folder, path.basename(to));
root.loadSync("rpc.proto", { keepCase: true });

function seen(name: string, bytes: Uint8Array): unknown {
  const type = root.lookupType(`etcdserverpb.${name}`);
  return type.toObject(type.decode(bytes), { longs: String, enums: String, bytes: String });
}

function made(name: string, value: object): Buffer {
  const type = root.lookupType(`etcdserverpb.${name}`);
  return Buffer.from(type.encode(type.fromObject(value)).finish());
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const header = { cluster_id: "18446744073709551615", member_id: 7, revision: "4503599627370497" };
const kv = {
  key: base64("/schlüssel"),
  value: base64("v".repeat(300)),
  create_revision: 5,
  mod_revision: "4503599627370496",
  version: 3,
  lease: "7587862094606401234",
};
const entry = {
  key: "/schlüssel",
  value: Buffer.from("v".repeat(300)),
  createRevision: 5,
  modRevision: 4503599627370496,
};

describe("etcd messages", () => {
  it("are what another implementation reads", () => {
    assert.deepEqual(seen("RangeRequest", encodeRange({ from: "/a", to: "/b", limit: 500 })), {
      key: base64("/a"),
      range_end: base64("/b"),
      limit: "500",
    });
    const past = { from: "/ü", revision: 2 ** 50, keysOnly: true };
    assert.deepEqual(seen("RangeRequest", encodeRange(past)), {
      key: base64("/ü"),
      revision: String(2 ** 50),
      keys_only: true,
    });
    assert.deepEqual(seen("RangeRequest", encodeRevisionRequest()), {
      key: base64("\0"),
      count_only: true,
    });
    assert.deepEqual(seen("WatchRequest", encodeWatch(12)), {
      create_request: {
        key: base64("\0"),
        range_end: base64("\0"),
        start_revision: "12",
        progress_notify: true,
        prev_kv: true,
        fragment: true,
      },
    });
  });

  it("carry transactions", () => {
    const value = Buffer.alloc(5000, "x");
    const transaction = {
      compare: [
        { key: "/a", modRevision: 0 },
        { key: "/b", modRevision: 2 ** 40 },
      ],
      then: [{ put: "/a", value }, { delete: "/b" }, { put: "/c", value: new Uint8Array(0) }],
      otherwise: ["/a", "/b"],
    };
    const leases = [undefined, undefined, "7587862094606401234"];
    assert.deepEqual(seen("TxnRequest", encodeTransaction(transaction, leases)), {
      compare: [
        { target: "Mod", key: base64("/a"), mod_revision: "0" },
        { target: "Mod", key: base64("/b"), mod_revision: String(2 ** 40) },
      ],
      success: [
        { request_put: { key: base64("/a"), value: value.toString("base64") } },
        { request_delete_range: { key: base64("/b"), prev_kv: true } },
        { request_put: { key: base64("/c"), lease: "7587862094606401234" } },
      ],
      failure: [{ request_range: { key: base64("/a") } }, { request_range: { key: base64("/b") } }],
    });
  });

  it("are read as another implementation writes them", () => {
    const range = { header, kvs: [kv, { key: base64("/b") }], more: true, count: 12 };
    assert.deepEqual(decodeRange(made("RangeResponse", range)), {
      entries: [entry, { key: "/b", value: Buffer.alloc(0), createRevision: 0, modRevision: 0 }],
      count: 12,
      revision: 4503599627370497,
    });
    const responses = [
      { response_put: { header } },
      { response_delete_range: { header, deleted: 1, prev_kvs: [kv] } },
    ];
    const done = decodeTransaction(made("TxnResponse", { header, succeeded: true, responses }));
    assert.deepEqual(done, { succeeded: true, revision: 2 ** 52 + 1, read: [], deleted: [entry] });
    const reads = [{ response_range: { header, kvs: [kv] } }, { response_range: { header } }];
    assert.deepEqual(decodeTransaction(made("TxnResponse", { header, responses: reads })), {
      succeeded: false,
      revision: 2 ** 52 + 1,
      read: [entry, undefined],
    });
  });

  it("carry events", () => {
    const events = [
      { type: "Put", kv },
      { type: "Put", kv, prev_kv: { ...kv, mod_revision: 4 } },
      { type: "Delete", kv: { key: kv.key, mod_revision: 9 }, prev_kv: kv },
    ];
    const response = decodeWatch(made("WatchResponse", { header, fragment: true, events }));
    assert.equal(response.fragment, true);
    assert.deepEqual(response.events, [
      { type: "put", entry, previous: undefined },
      { type: "put", entry, previous: { ...entry, modRevision: 4 } },
      { type: "delete", key: "/schlüssel", revision: 9, previous: entry },
    ]);
    for (const event of response.events) {
      const { value } = event.type === "put" ? event.entry : event.previous!;
      assert.ok(value.buffer.byteLength < 400, "the history keeps values, not received messages");
    }
    const canceled = { header, canceled: true, compact_revision: 30, cancel_reason: "why" };
    const end = decodeWatch(made("WatchResponse", canceled));
    assert.deepEqual(
      [end.canceled, end.compactRevision, end.cancelReason, end.created],
      [true, 30, "why", false],
    );
    assert.equal(decodeWatch(made("WatchResponse", { header, created: true })).created, true);
  });

  it("are refused when they are none", () => {
    const whole = made("RangeResponse", { header, kvs: [kv], count: 1 });
    let faults = 0;
    for (let length = 1; length < whole.length; length++) {
      try {
        decodeRange(whole.subarray(0, length));
      } catch (error) {
        assert.ok(error instanceof DecodeFault, String(error));
        faults += 1;
      }
    }
    assert.ok(faults > whole.length - 10, "nearly every cut is noticed");
    assert.throws(() => decodeRange(Buffer.from([0x0b])), DecodeFault);
    assert.throws(() => decodeRange(Buffer.from([0x08, 1])), DecodeFault);
  });
});
