import assert from "node:assert/strict";
import { int32, list, map, pointer, value, string, structs } from "../struct/declare.ts";
import { dropGated } from "./gates.ts";

const v1 = structs("api/sample/v1");

const part = v1("Part", "", {
  name: value(1, string, ""),
  early: pointer(2, int32, "", { gate: "Early" }),
  both: value(3, string, "", { gate: "Early,Late" }),
});

const whole = v1("Whole", "", {
  parts: value(1, list(part), ""),
  byName: value(2, map(part), ""),
  extra: pointer(3, part, "", { gate: "Late" }),
});

const full = () => ({
  parts: [{ name: "a", early: 0, both: "x" }, { name: "b" }],
  byName: { k: { name: "c", early: 1 } },
  extra: { name: "d", both: "y" },
});

/** What is left of `full` with these gates on. */
function left(gates: readonly string[], old?: object): unknown {
  const object = full();
  dropGated(whole, object, { old: old as never, isOn: (gate) => gates.includes(gate) });
  return object;
}

describe("dropGated", () => {
  it("removes fields of disabled gates at any depth", () => {
    const parts = [{ name: "a" }, { name: "b" }];
    assert.deepEqual(left([]), { parts, byName: { k: { name: "c" } } });
  });

  it("keeps fields if all of their gates are enabled", () => {
    assert.deepEqual(left(["Early", "Late"]), full());
    assert.deepEqual(left(["Early"]), {
      parts: [{ name: "a", early: 0 }, { name: "b" }],
      byName: { k: { name: "c", early: 1 } },
    });
  });

  it("keeps fields that the old object uses anywhere", () => {
    assert.deepEqual(left([], { parts: [{ name: "z", early: 5 }] }), {
      parts: [{ name: "a", early: 0 }, { name: "b" }],
      byName: { k: { name: "c", early: 1 } },
    });
  });
});
