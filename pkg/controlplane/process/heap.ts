import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/**
 * Limits how far V8 grows its heap before it collects garbage. By default the old generation may
 * double between collections, and the young generation takes 32 MiB in two halves, which V8 never
 * returns to the system.
 */
export function limitHeapGrowth(): void {
  // Old objects are looked through when they have grown by so much; requests leave little behind.
  setFlagsFromString("--heap-growing-percent=75");
  // Compiled code is written at the exit, and fits only processes with the same flags.
  process.prependOnceListener("exit", restoreDefaults);
  // The room for young objects stays as it is, a few mebibytes, while the program starts.
  growYoungBy(1);
}

function restoreDefaults(): void {
  setFlagsFromString("--heap-growing-percent=0");
  growYoungBy(2);
}

/** What young objects get when there is work, in both halves together. */
const youngBytes = 32 * 2 ** 20;
/** The room is doubled at most about once in half a second, also under full load. */
const lookMs = 100;
/** A look takes up to 0.3 ms. */
const fullLookMs = 2_000;

/**
 * To be called when the start is over: the room for young objects then grows with the work, and
 * again after an idle time, in which V8 reduces it to a mebibyte. With halves of 8 MiB instead of 16
 * the requests in flight are copied twice as often: 100,000 GETs took 9.1 instead of 7.2 s of CPU in
 * one run each on a shared machine.
 */
export function allowHeapGrowth(): void {
  // Writes fill the old generation fast, and marking it takes CPU of other threads as well.
  setFlagsFromString("--heap-growing-percent=150");
  growYoungBy(2);
  setTimeout(limitYoung, lookMs).unref();
}

function limitYoung(): void {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  const isFull = young !== undefined && young.space_size >= youngBytes;
  growYoungBy(isFull ? 1 : 2);
  setTimeout(limitYoung, isFull ? fullLookMs : lookMs).unref();
}

function growYoungBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}
