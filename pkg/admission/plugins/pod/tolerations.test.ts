import assert from "node:assert/strict";
import { deepEqual, seededRandom } from "#base";
import { mergeTolerations, type Toleration } from "./tolerations.ts";

/** The rule, for one pair. */
function covers(wide: Toleration, narrow: Toleration): boolean {
  if (deepEqual(wide, narrow)) return true;
  const everyKey = !wide.key && wide.operator === "Exists";
  if ((narrow.key ?? "") !== (wide.key ?? "") && !everyKey) return false;
  if (wide.effect && narrow.effect !== wide.effect) return false;
  if (wide.effect === "NoExecute" && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined) return false;
    if (narrow.tolerationSeconds > wide.tolerationSeconds) return false;
  }
  if (wide.operator === "Exists") return true;
  return narrow.operator === "Equal" && (narrow.value ?? "") === (wide.value ?? "");
}

function merged(all: readonly Toleration[]): readonly Toleration[] {
  const kept: Toleration[] = [];
  for (const [index, each] of all.entries()) {
    const later = all.slice(index + 1).filter((other) => !deepEqual(other, each));
    if (![...kept, ...later].some((other) => covers(other, each))) kept.push(each);
  }
  return kept;
}

describe("merged tolerations", () => {
  const random = seededRandom("tolerations");
  const some = (): Toleration => {
    const fields = {
      key: random.pick(["", "a", "b", undefined]),
      operator: random.pick(["Exists", "Equal", "", "Odd", undefined]),
      value: random.pick(["", "v", undefined]),
      effect: random.pick(["NoExecute", "NoExecute", "NoSchedule", "", undefined]),
      tolerationSeconds: random.pick([undefined, 1, 2, 2n ** 60n]),
    };
    const given = Object.entries(fields).filter(([, value]) => value !== undefined);
    return Object.fromEntries(given) as Toleration;
  };

  it("are those that no other covers", () => {
    for (let round = 0; round < 500; round++) {
      const all = Array.from({ length: 1 + random.below(7) }, some);
      const half = random.below(all.length);
      const found = mergeTolerations(all.slice(0, half), all.slice(half));
      assert.ok(deepEqual(found, merged(all)), `${round}`);
    }
  });

  it("are found at once among fifty thousand", () => {
    const all = Array.from({ length: 50_000 }, (_, n) => ({ key: `k${n}`, value: "v" }));
    assert.equal(mergeTolerations(all, all).length, all.length);
  });
});
