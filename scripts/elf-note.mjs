// Adds a note to an ELF executable; Node reads the blob of a single executable application from such a note.
import assert from "node:assert/strict";

/** Sizes in bytes of the ELF header and of a program header. */
const headerSize = 64;
const entrySize = 56;
/** Types of program headers: PT_LOAD, PT_NOTE, PT_PHDR. */
const loadType = 1;
const noteType = 4;
const tableType = 6;
/** The flag PF_R. */
const readable = 4;
/** Largest page size of Linux on x64 and arm64 in bytes. */
const pageSize = 0x10000;

/**
 * The executable without symbols and debug information, with a note `name` that contains `content`.
 * The extended program headers and the note are in a new segment after the loaded ones and .bss. Its
 * offset from the image's base in memory equals its offset in the file, because kernels before 5.18
 * compute the address of the program headers from their file offset.
 */
export function withElfNote(executable, name, content) {
  assert.equal(executable.readUInt32BE(0), 0x7f454c46, "it is an ELF file");
  assert.deepEqual([executable[4], executable[5]], [2, 1], "it has 64 bits, little endian");
  const entries = programHeaders(executable);
  const loads = entries.filter(({ type }) => type === loadType);
  const base = loads[0].address - loads[0].offset;
  const end = Math.max(...loads.map(({ offset, fileSize }) => offset + fileSize));
  const memoryEnd = Math.max(...loads.map(({ address, memorySize }) => address + memorySize));
  const start = Math.ceil(Math.max(end, memoryEnd - base) / pageSize) * pageSize;
  const table = (entries.length + 2) * entrySize;
  const note = elfNote(name, content);
  const added = { flags: readable, address: base + start, offset: start };
  const segment = {
    ...added,
    type: loadType,
    alignment: pageSize,
    ...withSize(table + note.length),
  };
  const noteEntry = {
    flags: readable,
    address: base + start + table,
    offset: start + table,
    type: noteType,
    alignment: 4,
    ...withSize(note.length),
  };
  const updated = entries.map((entry) =>
    entry.type === tableType ? { ...entry, ...added, ...withSize(table) } : entry,
  );
  // Loaded segments must be sorted by address.
  const last = updated.findLastIndex(({ type }) => type === loadType);
  const headers = [...updated.slice(0, last + 1), segment, ...updated.slice(last + 1), noteEntry];
  const file = Buffer.alloc(start + table + note.length);
  executable.copy(file, 0, 0, end);
  file.writeBigUInt64LE(BigInt(start), 32);
  file.writeUInt16LE(headers.length, 56);
  // No section headers, which were removed with the symbols: offset, count and index of names.
  file.writeBigUInt64LE(0n, 40);
  file.writeUInt16LE(0, 60);
  file.writeUInt16LE(0, 62);
  for (const [index, entry] of headers.entries()) {
    writeEntry(file.subarray(start + index * entrySize, start + (index + 1) * entrySize), entry);
  }
  note.copy(file, start + table);
  return file;
}

function withSize(bytes) {
  return { fileSize: bytes, memorySize: bytes };
}

function programHeaders(executable) {
  const offset = Number(executable.readBigUInt64LE(32));
  assert.equal(executable.readUInt16LE(52), headerSize);
  assert.equal(executable.readUInt16LE(54), entrySize);
  const count = executable.readUInt16LE(56);
  return Array.from({ length: count }, (_, index) => {
    const start = offset + index * entrySize;
    const [fileOffset, address, , fileSize, memorySize, alignment] = [8, 16, 24, 32, 40, 48].map(
      (field) => Number(executable.readBigUInt64LE(start + field)),
    );
    const [type, flags] = [executable.readUInt32LE(start), executable.readUInt32LE(start + 4)];
    return { type, flags, offset: fileOffset, address, fileSize, memorySize, alignment };
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

/** An ELF note: the sizes of name and content, a type (0), name and content, each padded to four bytes. */
function elfNote(name, content) {
  const header = Buffer.alloc(12);
  const label = Buffer.from(`${name}\0`);
  header.writeUInt32LE(label.length, 0);
  header.writeUInt32LE(content.length, 4);
  const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
  return Buffer.concat([header, padded(label), padded(content)]);
}
