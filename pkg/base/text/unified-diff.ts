/** Lines of context around a change. */
const context = 3;

/** Comparisons of lines; changes that would need more are shown as one replacement. */
const maxComparisons = 500_000;

/** From this number of lines on, lines that occur often are no starting points of a match. */
const manyLines = 200;

/** Equal lines: `size` of them from `before` in the old text, and from `after` in the new one. */
interface Match {
  readonly before: number;
  readonly after: number;
  readonly size: number;
}

interface Range {
  readonly before: number;
  readonly beforeEnd: number;
  readonly after: number;
  readonly afterEnd: number;
}

/**
 * The unified diff of two texts without a file header, each line ended by a line feed; empty if the
 * texts are equal. Matches are chosen as Python's difflib does: the longest common run of lines, then the
 * same to both sides of it, and in long texts frequent lines only extend a match.
 */
export function unifiedDiff(before: readonly string[], after: readonly string[]): string {
  return hunksOf(changesOf(new LineMatcher(before, after).matches(), before, after))
    .map((hunk) => printHunk(hunk, before, after))
    .join("");
}

class LineMatcher {
  private readonly before: readonly string[];
  private readonly after: readonly string[];
  /** Where each line of the new text occurs, but for frequent lines. */
  private readonly places = new Map<string, number[]>();
  private left = maxComparisons;

  constructor(before: readonly string[], after: readonly string[]) {
    this.before = before;
    this.after = after;
    for (const [index, line] of after.entries()) {
      const places = this.places.get(line);
      if (places === undefined) this.places.set(line, [index]);
      else places.push(index);
    }
    if (after.length < manyLines) return;
    const most = Math.floor(after.length / 100) + 1;
    for (const [line, places] of this.places) {
      if (places.length > most) this.places.delete(line);
    }
  }

  /** All matches, in the order of the texts. */
  matches(): Match[] {
    const whole = {
      before: 0,
      beforeEnd: this.before.length,
      after: 0,
      afterEnd: this.after.length,
    };
    const found: Match[] = [];
    const open: Range[] = [whole];
    for (let range = open.pop(); range !== undefined; range = open.pop()) {
      const match = this.longest(range);
      if (match.size === 0) continue;
      found.push(match);
      open.push({ ...range, beforeEnd: match.before, afterEnd: match.after });
      open.push({
        ...range,
        before: match.before + match.size,
        after: match.after + match.size,
      });
    }
    return found.sort((first, second) => first.before - second.before);
  }

  /** The longest match in the range; of several, the first in the old and then in the new text. */
  private longest(range: Range): Match {
    let best: Match = { before: range.before, after: range.after, size: 0 };
    /** Size of the match that ends at the previous old line, by its last line in the new text. */
    let sizes = new Map<number, number>();
    for (let index = range.before; index < range.beforeEnd && this.left > 0; index++) {
      const next = new Map<number, number>();
      const places = this.places.get(this.before[index]!) ?? [];
      this.left -= 1 + places.length;
      for (const place of places) {
        if (place < range.after || place >= range.afterEnd) continue;
        const size = (sizes.get(place - 1) ?? 0) + 1;
        next.set(place, size);
        if (size > best.size) best = { before: index - size + 1, after: place - size + 1, size };
      }
      sizes = next;
    }
    return this.extended(best, range);
  }

  /** Adds equal lines to both ends: those that are too frequent to begin a match. */
  private extended(match: Match, range: Range): Match {
    let { before, after, size } = match;
    while (
      before > range.before &&
      after > range.after &&
      this.before[before - 1] === this.after[after - 1]
    ) {
      before--;
      after--;
      size++;
    }
    while (
      before + size < range.beforeEnd &&
      after + size < range.afterEnd &&
      this.before[before + size] === this.after[after + size]
    ) {
      size++;
    }
    return { before, after, size };
  }
}

/** The ranges that no match covers. */
function changesOf(
  matches: readonly Match[],
  before: readonly string[],
  after: readonly string[],
): Range[] {
  const end: Match = { before: before.length, after: after.length, size: 0 };
  const changes: Range[] = [];
  let [beforeAt, afterAt] = [0, 0];
  for (const match of [...matches, end]) {
    if (beforeAt < match.before || afterAt < match.after) {
      changes.push({
        before: beforeAt,
        beforeEnd: match.before,
        after: afterAt,
        afterEnd: match.after,
      });
    }
    beforeAt = match.before + match.size;
    afterAt = match.after + match.size;
  }
  return changes;
}

/** Changes whose contexts touch are one hunk. */
function hunksOf(changes: readonly Range[]): Range[][] {
  const hunks: Range[][] = [];
  for (const change of changes) {
    const last = hunks.at(-1)?.at(-1);
    if (last !== undefined && change.before - last.beforeEnd <= 2 * context) {
      hunks.at(-1)!.push(change);
    } else {
      hunks.push([change]);
    }
  }
  return hunks;
}

function printHunk(
  hunk: readonly Range[],
  before: readonly string[],
  after: readonly string[],
): string {
  const [first, last] = [hunk[0]!, hunk.at(-1)!];
  const lead = Math.min(context, first.before, first.after);
  const tail = Math.min(context, before.length - last.beforeEnd, after.length - last.afterEnd);
  const removed = rangeText(first.before - lead, last.beforeEnd + tail);
  const added = rangeText(first.after - lead, last.afterEnd + tail);
  let text = `@@ -${removed} +${added} @@\n`;
  const add = (mark: string, lines: readonly string[], start: number, end: number) => {
    for (let index = start; index < end; index++) text += `${mark}${lines[index]}\n`;
  };
  let at = first.before - lead;
  for (const change of hunk) {
    add(" ", before, at, change.before);
    add("-", before, change.before, change.beforeEnd);
    add("+", after, change.after, change.afterEnd);
    at = change.beforeEnd;
  }
  add(" ", before, at, at + tail);
  return text;
}

/** `start,length` of the lines, numbered from 1: the line before them if there are none. */
function rangeText(start: number, end: number): string {
  const length = end - start;
  if (length === 1) return `${start + 1}`;
  return `${length === 0 ? start : start + 1},${length}`;
}
