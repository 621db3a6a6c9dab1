import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { unifiedDiff } from "./unified-diff.ts";

const lines = (text: string) => [...text];

describe("unifiedDiff", () => {
  it("prints a change with three lines of context", () => {
    assert.equal(
      unifiedDiff(lines("abcdefgh"), lines("abXdefgh")),
      "@@ -1,6 +1,6 @@\n a\n b\n-c\n+X\n d\n e\n f\n",
    );
  });
  it("is empty for equal texts, and prints ranges of no or one line as diff does", () => {
    assert.equal(unifiedDiff(lines("abc"), lines("abc")), "");
    assert.equal(unifiedDiff([], ["a"]), "@@ -0,0 +1 @@\n+a\n");
    assert.equal(unifiedDiff(["a"], ["b"]), "@@ -1 +1 @@\n-a\n+b\n");
  });
  it("merges hunks unless more than six lines are between them", () => {
    assert.equal(
      unifiedDiff(lines("abcdefghijklmn"), lines("AbcdefghijklmN")),
      "@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n d\n@@ -11,4 +11,4 @@\n k\n l\n m\n-n\n+N\n",
    );
    const near = unifiedDiff(lines("abcdefgh"), lines("AbcdefgH"));
    assert.equal(near.match(/@@ -/g)?.length, 1);
  });

  /** Two texts of `w…` and `n…` lines from a fixed generator (Lehmer's, modulo 2^31 - 1). */
  function texts(seed: number, count: number, words: number) {
    let state = seed;
    const below = (bound: number) => {
      state = (state * 48271) % 2147483647;
      return state % bound;
    };
    const before = Array.from({ length: count }, () => `w${below(words)}`);
    const after = before.flatMap((line) => {
      const choice = below(10);
      if (choice === 0) return [];
      const added = choice === 1 ? [`w${below(words)}`] : [];
      return [...added, choice === 2 ? `n${below(5)}` : line];
    });
    return { before, after };
  }

  // SHA-256 of what difflib.unified_diff of Python 3 makes of these texts, without the file header.
  const rows = [
    [1, 30, 4, "7cdb64401e572d86"],
    [2, 150, 40, "20e8413d9dffa6e5"],
    [3, 400, 12, "d1819e4487d776ec"],
    [4, 900, 300, "65ca00a552ea1a0a"],
  ] as const;
  for (const [seed, count, words, digest] of rows) {
    it(`agrees with difflib on ${count} lines of ${words} words`, () => {
      const { before, after } = texts(seed, count, words);
      const hash = createHash("sha256").update(unifiedDiff(before, after));
      assert.equal(hash.digest("hex").slice(0, 16), digest);
    });
  }

  it("prints one large replacement if the comparison would take too long", () => {
    const before = Array.from({ length: 40_000 }, (_, index) => `${index % 200}`);
    const after = before.toReversed();
    const diff = unifiedDiff(before, after);
    const [removed, added] = [/^-/gm, /^\+/gm].map((mark) => diff.match(mark)?.length ?? 0);
    assert(removed! > 0);
    assert.equal(removed, added);
  });
});
