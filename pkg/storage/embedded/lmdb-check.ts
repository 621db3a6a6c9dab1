import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { assert } from "#base";
import { StoreFault } from "../backend.ts";

/**
 * Walks an LMDB file (data version 2, 64 bits, little endian) before LMDB maps it. LMDB trusts what
 * its pages say: a file that was cut short or changed would end the process with a bus error, or
 * overwrite live pages. Here every page that the newest root refers to must be inside the file, say
 * what it should, be referred to once, and not be on the list of free pages, which names a page once.
 *
 * A file is pages of one size. Pages 0 and 1 are roots; the one with the higher transaction number
 * counts. It refers to two B+trees: the free pages of each transaction, and the entries. A page:
 * number (8 bytes), transaction (8), unused (2), kind (2), end of the node offsets (2), start of
 * the nodes (2), node offsets (2 each, after the 24 bytes of this header, and counted from there),
 * free room, nodes. Data that are too long for a node have pages of their own, whose first has the
 * number of these pages in place of the two ends.
 */

const magicNumber = 0xbeefc0de;
const dataVersion = 2;
const pageHeaderBytes = 24;
const nodeHeaderBytes = 8;
const branchFlag = 0x01;
const leafFlag = 0x02;
const overflowFlag = 0x04;
const metaFlag = 0x08;
/** Node flag: the data is in overflow pages. */
const bigDataFlag = 0x01;
const overflowReferenceBytes = 24;
/** Tree flags that say how keys and data are laid out, and whether they are encrypted. */
const layout = 0x20ff;
/** The only one of them that is set: the keys of the free list are numbers. */
const integerKey = 0x08;
const noPage = 0xffff_ffff_ffff_ffffn;

interface Tree {
  readonly flags: number;
  readonly depth: number;
  readonly entries: number;
  readonly root: bigint;
}

interface Root {
  readonly transaction: bigint;
  readonly lastPage: number;
  readonly free: Tree;
  readonly main: Tree;
}

/** @throws StoreFault `corrupt` if the file is damaged; an empty file is valid */
export function checkFile(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    const { size } = fstatSync(descriptor);
    if (size > 0) new FileCheck(descriptor, size).run();
  } finally {
    closeSync(descriptor);
  }
}

class FileCheck {
  readonly #descriptor: number;
  readonly #size: number;
  #pageSize = 4096;
  #lastPage = 1;
  #transaction = 0n;
  /** Of the last entry of the free list. */
  #freed = 0n;
  readonly #live = new Set<number>([0, 1]);

  constructor(descriptor: number, size: number) {
    this.#descriptor = descriptor;
    this.#size = size;
  }

  run(): void {
    this.#pageSize = this.#readPageSize();
    const roots = [this.#readRoot(0), this.#readRoot(1)] as const;
    for (const root of roots) this.#checkRoot(root);
    // Of equal transaction numbers LMDB takes the first, too.
    const newest = roots[0].transaction >= roots[1].transaction ? roots[0] : roots[1];
    this.#lastPage = newest.lastPage;
    this.#transaction = newest.transaction;
    const free = new Set<number>();
    this.#walk(newest.free, (page, node) => {
      // LMDB keeps the pages of an entry that shrinks while its transaction is written.
      this.#checkData(page, node, (pages, least) => pages >= least);
      this.#checkFreeEntry(page, node, free);
    });
    this.#walk(newest.main, (page, node) => {
      this.#checkData(page, node, (pages, least) => pages === least);
    });
    for (const page of free) {
      if (this.#live.has(page)) throw damaged(`page ${page} is both in use and free`);
    }
    this.#checkEnd(free);
  }

  /** Pages at the end that were never written are missing in the file; they are free. */
  #checkEnd(free: ReadonlySet<number>): void {
    const pages = Math.floor(this.#size / this.#pageSize);
    if (this.#lastPage - pages >= free.size) throw damaged(`the last page is ${this.#lastPage}`);
    for (let page = pages; page <= this.#lastPage; page++) {
      if (!free.has(page)) throw damaged(`the file ends before page ${page}`);
    }
  }

  #readPageSize(): number {
    const start = this.#read(0, 64);
    const size = start.readUInt32LE(48);
    const isPower = size >= 512 && size <= 65_536 && (size & (size - 1)) === 0;
    if (start.readUInt32LE(24) !== magicNumber || !isPower) throw damaged("not an LMDB file");
    if (start.readUInt32LE(28) !== dataVersion) throw damaged("unsupported LMDB data version");
    return size;
  }

  #readRoot(page: number): Root {
    const bytes = this.#page(page);
    const isRoot = bytes.readUInt16LE(18) === metaFlag && Number(bytes.readBigUInt64LE(0)) === page;
    if (
      !isRoot ||
      bytes.readUInt32LE(24) !== magicNumber ||
      bytes.readUInt32LE(28) !== dataVersion
    ) {
      throw damaged(`page ${page} is not a meta page`);
    }
    if (bytes.readUInt32LE(48) !== this.#pageSize) throw damaged(`page size in meta page ${page}`);
    return {
      transaction: bytes.readBigUInt64LE(152),
      lastPage: Number(bytes.readBigUInt64LE(144)),
      free: readTree(bytes.subarray(48, 96)),
      main: readTree(bytes.subarray(96, 144)),
    };
  }

  /**
   * Checks the transaction number of a meta page: each transaction writes the root of a tree, and its
   * pages remain until two more transactions. A wrong number would select the wrong meta page.
   */
  #checkRoot({ transaction, free, main }: Root): void {
    const isPlain = (main.flags & layout) === 0;
    if ((free.flags & layout) !== integerKey || !isPlain)
      throw damaged("unexpected flags of a tree");
    const pages = [free.root, main.root].filter((root) => root !== noPage).map(Number);
    if (pages.length === 0) return;
    const written = pages.map((page) => this.#page(page).readBigUInt64LE(8));
    if (!written.includes(transaction) || written.some((number) => number > transaction)) {
      throw damaged(`transaction ${transaction} of a meta page`);
    }
  }

  /** Visits all entries of a tree and checks its pages. */
  #walk(tree: Tree, visit: (page: Buffer, node: number) => void): void {
    if (tree.root === noPage) {
      if (tree.entries !== 0) throw damaged("a tree without a root has entries");
      return;
    }
    let entries = 0;
    const descend = (page: number, level: number): void => {
      const kind = level === tree.depth ? leafFlag : branchFlag;
      const bytes = this.#treePage(page, kind);
      const nodes = this.#nodes(page, bytes, kind);
      for (const node of nodes) {
        if (kind === branchFlag) descend(childOf(bytes, node), level + 1);
        else {
          visit(bytes, node);
          entries += 1;
        }
      }
    };
    descend(Number(tree.root), 1);
    if (entries !== tree.entries) throw damaged(`${entries} entries, expected ${tree.entries}`);
  }

  #treePage(page: number, kind: number): Buffer {
    this.#claim(page, 1);
    const bytes = this.#page(page);
    this.#checkHeader(page, bytes, kind);
    return bytes;
  }

  #checkHeader(page: number, header: Buffer, kind: number): void {
    const isKind = header.readUInt16LE(18) === kind;
    const isCommitted = header.readBigUInt64LE(8) <= this.#transaction;
    if (!isKind || !isCommitted || Number(header.readBigUInt64LE(0)) !== page) {
      throw damaged(`page ${page} has an unexpected header`);
    }
  }

  /**
   * Offsets of the nodes of a page, sorted by key. Checks that they fill the page from `upper` to its end
   * and have even lengths.
   */
  #nodes(page: number, bytes: Buffer, kind: number): number[] {
    const lower = bytes.readUInt16LE(20);
    const upper = bytes.readUInt16LE(22);
    if (lower > upper || pageHeaderBytes + upper > this.#pageSize || lower % 2 !== 0) {
      throw damaged(`bounds of page ${page}`);
    }
    const nodes: number[] = [];
    const endOf = new Map<number, number>();
    let before: Buffer | undefined;
    for (let i = 0; i < lower / 2; i++) {
      const node = pageHeaderBytes + bytes.readUInt16LE(pageHeaderBytes + 2 * i);
      if (node < pageHeaderBytes + upper || node + nodeHeaderBytes > this.#pageSize) {
        throw damaged(`a node of page ${page} is out of bounds`);
      }
      const keyEnd = node + nodeHeaderBytes + bytes.readUInt16LE(node + 6);
      const dataEnd = keyEnd + (kind === leafFlag ? inlineLength(bytes, node) : 0);
      if (dataEnd > this.#pageSize) throw damaged(`a node of page ${page} is too long`);
      const key = bytes.subarray(node + nodeHeaderBytes, keyEnd);
      // Keys of the free list are integers in native byte order and are not compared, nor is the unused
      // first key of a branch page.
      const comparable = i > (kind === leafFlag ? 0 : 1) && key.length !== 8;
      if (comparable && Buffer.compare(before!, key) >= 0) {
        throw damaged(`keys of page ${page} are out of order`);
      }
      if (kind === leafFlag && (bytes.readUInt16LE(node + 4) & ~bigDataFlag) !== 0) {
        throw damaged(`a node of page ${page} has unknown flags`);
      }
      before = key;
      nodes.push(node);
      endOf.set(node, dataEnd + (dataEnd % 2));
    }
    let end: number | undefined = pageHeaderBytes + upper;
    for (let i = 0; i < nodes.length; i++) end = endOf.get(end ?? 0);
    if (end !== this.#pageSize) throw damaged(`nodes of page ${page} overlap`);
    return nodes;
  }

  #checkData(bytes: Buffer, node: number, isSize: (pages: number, least: number) => boolean): void {
    if ((bytes.readUInt16LE(node + 4) & bigDataFlag) === 0) return;
    const reference = node + nodeHeaderBytes + bytes.readUInt16LE(node + 6);
    const first = Number(bytes.readBigUInt64LE(reference));
    const pages = Number(bytes.readBigUInt64LE(reference + 16));
    const length = bytes.readUInt32LE(node);
    if (!isSize(pages, Math.ceil((pageHeaderBytes + length) / this.#pageSize))) {
      throw damaged(`length of the data in page ${first}`);
    }
    this.#claim(first, pages);
    const header = this.#read(first * this.#pageSize, pageHeaderBytes);
    this.#checkHeader(first, header, overflowFlag);
    if (header.readUInt32LE(20) !== pages)
      throw damaged(`number of pages that follow page ${first}`);
  }

  /**
   * An entry of the free list: its key is the number of the transaction that freed the pages (8 bytes),
   * its data are a count of words, then words: 0 is an empty place, a positive one a page, and -n says
   * that n pages begin with the page in the next word. LMDB reads that word even beyond the end, and
   * would hand out a page twice that is free twice.
   */
  #checkFreeEntry(bytes: Buffer, node: number, free: Set<number>): void {
    if (bytes.readUInt16LE(node + 6) !== 8) throw damaged("a key of the free list");
    const transaction = bytes.readBigUInt64LE(node + nodeHeaderBytes);
    if (transaction <= this.#freed || transaction > this.#transaction) {
      throw damaged(`transaction ${transaction} in the free list`);
    }
    this.#freed = transaction;
    const list = this.#freeList(bytes, node);
    const count = list.length < 8 ? 0 : Number(list.readBigUInt64LE(0));
    if (list.length < 8 || 8 * (count + 1) > list.length) {
      throw damaged("the list of free pages is too long");
    }
    let run = 0;
    for (let i = 1; i <= count; i++) {
      const word = Number(list.readBigInt64LE(8 * i));
      if (word > 0) {
        this.#addFree(free, word, run || 1);
        run = 0;
      } else if (run > 0) throw damaged("a run of free pages has no first page");
      else run = -word;
    }
    if (run > 0) throw damaged("a run of free pages has no first page");
  }

  #freeList(bytes: Buffer, node: number): Buffer {
    const start = node + nodeHeaderBytes + bytes.readUInt16LE(node + 6);
    const isBig = (bytes.readUInt16LE(node + 4) & bigDataFlag) !== 0;
    const length = bytes.readUInt32LE(node);
    return isBig
      ? this.#read(Number(bytes.readBigUInt64LE(start)) * this.#pageSize + pageHeaderBytes, length)
      : bytes.subarray(start, start + length);
  }

  #addFree(free: Set<number>, first: number, count: number): void {
    if (first + count - 1 > this.#lastPage) throw damaged(`free page ${first} is out of bounds`);
    for (let page = first; page < first + count; page++) {
      if (free.has(page)) throw damaged(`page ${page} is free twice`);
      free.add(page);
    }
  }

  #claim(first: number, count: number): void {
    if (!Number.isSafeInteger(first) || first < 2 || first + count - 1 > this.#lastPage) {
      throw damaged(`page ${first} is out of bounds`);
    }
    for (let page = first; page < first + count; page++) {
      if (this.#live.has(page)) throw damaged(`page ${page} is referenced twice`);
      this.#live.add(page);
    }
    if ((first + count) * this.#pageSize > this.#size) {
      throw damaged(`the file ends before page ${first + count - 1}`);
    }
  }

  #page(page: number): Buffer {
    return this.#read(page * this.#pageSize, this.#pageSize);
  }

  #read(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    const got = readSync(this.#descriptor, bytes, 0, length, offset);
    if (got !== length) throw damaged(`the file ends at ${offset + got}`);
    return bytes;
  }
}

function readTree(bytes: Buffer): Tree {
  assert(bytes.length === 48, "a tree has 48 bytes in a root page");
  return {
    flags: bytes.readUInt16LE(4),
    depth: bytes.readUInt16LE(6),
    entries: Number(bytes.readBigUInt64LE(32)),
    root: bytes.readBigUInt64LE(40),
  };
}

function childOf(bytes: Buffer, node: number): number {
  return bytes.readUInt32LE(node) + bytes.readUInt16LE(node + 4) * 2 ** 32;
}

/** Size in bytes of a leaf node's data in the page itself. */
function inlineLength(bytes: Buffer, node: number): number {
  const isBig = (bytes.readUInt16LE(node + 4) & bigDataFlag) !== 0;
  return isBig ? overflowReferenceBytes : bytes.readUInt32LE(node);
}

function damaged(message: string): StoreFault {
  return new StoreFault({ kind: "corrupt", message: `the data file is damaged: ${message}` });
}
