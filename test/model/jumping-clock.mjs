/**
 * Preloaded into a process whose wall clock is set: a file says by how many milliseconds it
 * is wrong. `--import file:///.../jumping-clock.mjs?file=<path>`
 */
import { readFileSync } from "node:fs";

const file = new URL(import.meta.url).searchParams.get("file");
const right = Date.now;
const freshMs = 50;
let wrongBy = 0;
let readAt = -Infinity;

function wrong() {
  const now = performance.now();
  if (now - readAt > freshMs) {
    readAt = now;
    wrongBy = Number(readFileSync(file, "utf8"));
  }
  return right() + wrongBy;
}

globalThis.Date = class extends Date {
  constructor(...parts) {
    if (parts.length === 0) super(wrong());
    else super(...parts);
  }

  static now() {
    return wrong();
  }
};
