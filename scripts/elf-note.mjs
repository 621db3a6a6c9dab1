// Adds a note to an ELF executable, where Node looks for the program of a single executable.
import assert from "node:assert/strict";

const headerSize = 64;
const entrySize = 56;
const loadType = 1;
const noteType = 4;
const tableType = 6;
const readable = 4;
/** Largest page of Linux on x64 and arm64, in bytes. */
const page = 0x10000;

/**
 * The executable without symbols and debug information, and with a note `name` that holds `content`.
 * The note and a longer copy of the program headers follow the loaded parts, in a segment of their
 * own behind .bss. Its offset in memory from the image's base is that in the file, because kernels
 * before 5.18 compute the address of the program headers from their place in the file.
 */
export function withElfNote(executable, name, content) {
  assert.equal(executable.readUInt32BE(0), 0x7f454c46, "it is an ELF file");
  assert.deepEqual([executable[4], executable[5]], [2, 1], "it has 64 bits, little endian");
  const entries = programHeaders(executable);
  const loads = entries.filter(({ type }) => type === loadType);
  const base = loads[0].address - loads[0].offset;
  const end = Math.max(...loads.map(({ offset, fileSize }) => offset + fileSize));
  const memoryEnd = Math.max(...loads.map(({ address, memorySize }) => address + memorySize));
  const start = Math.ceil(Math.max(end, memoryEnd - base) / page) * page;
  const table = (entries.length + 2) * entrySize;
  const note = elfNote(name, content);
  const added = { flags: readable, address: base + start, offset: start };
  const segment = { ...added, type: loadType, alignment: page, ...sized(table + note.length) };
  const place = { ...added, address: base + start + table, offset: start + table };
  const noteEntry = { ...place, type: noteType, alignment: 4, ...sized(note.length) };
  const moved = entries.map((each) =>
    each.type === tableType ? { ...each, ...added, ...sized(table) } : each,
  );
  // Loaded segments must stay in the order of their addresses.
  const last = moved.findLastIndex(({ type }) => type === loadType);
  const all = [...moved.slice(0, last + 1), segment, ...moved.slice(last + 1), noteEntry];
  const file = Buffer.alloc(start + table + note.length);
  executable.copy(file, 0, 0, end);
  file.writeBigUInt64LE(BigInt(start), 32);
  file.writeUInt16LE(all.length, 56);
  // The section headers are gone with the symbols: offset, count and index of names.
  file.writeBigUInt64LE(0n, 40);
  file.writeUInt16LE(0, 60);
  file.writeUInt16LE(0, 62);
  for (const [index, entry] of all.entries()) {
    writeEntry(file.subarray(start + index * entrySize, start + (index + 1) * entrySize), entry);
  }
  note.copy(file, start + table);
  return file;
}

function sized(bytes) {
  return { fileSize: bytes, memorySize: bytes };
}

function programHeaders(executable) {
  const offset = Number(executable.readBigUInt64LE(32));
  assert.equal(executable.readUInt16LE(52), headerSize);
  assert.equal(executable.readUInt16LE(54), entrySize);
  const count = executable.readUInt16LE(56);
  return Array.from({ length: count }, (_, index) => {
    const at = offset + index * entrySize;
    const [file, address, , fileSize, memorySize, alignment] = [8, 16, 24, 32, 40, 48].map(
      (field) => Number(executable.readBigUInt64LE(at + field)),
    );
    const [type, flags] = [executable.readUInt32LE(at), executable.readUInt32LE(at + 4)];
    return { type, flags, offset: file, address, fileSize, memorySize, alignment };
  });
}

function writeEntry(target, entry) {
  const { type, flags, offset, address, fileSize, memorySize, alignment } = entry;
  target.writeUInt32LE(type, 0);
  target.writeUInt32LE(flags, 4);
  const words = [offset, address, address, fileSize, memorySize, alignment];
  for (const [index, word] of words.entries()) {
    target.writeBigUInt64LE(BigInt(word), 8 + index * 8);
  }
}

/** Sizes of name and content, a type, then both, each padded to four bytes. */
function elfNote(name, content) {
  const header = Buffer.alloc(12);
  const label = Buffer.from(`${name}\0`);
  header.writeUInt32LE(label.length, 0);
  header.writeUInt32LE(content.length, 4);
  const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
  return Buffer.concat([header, padded(label), padded(content)]);
}
