/** Completion scripts in bash, help topics and the man page, as the program prints them. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { root } from "../../test/tidy/source.ts";

function keelson(...words: readonly string[]) {
  const program = path.join(root, "dist", "keelson.js");
  return spawnSync(process.execPath, [program, ...words], { encoding: "utf8" });
}

const hasBash = spawnSync("bash", ["--version"]).error === undefined;

describe("keelson completion", () => {
  let script = "";
  before(function () {
    if (!hasBash) this.skip();
    script = keelson("completion", "bash").stdout;
  });

  /**
   * Returns the completions that bash offers after `words`, which are split as readline splits
   * them.
   */
  function offered(...words: readonly string[]): readonly string[] {
    const list = ["keelson", ...words];
    const quoted = list.map((word) => `'${word}'`).join(" ");
    const call = `COMP_WORDS=(${quoted}); COMP_CWORD=${list.length - 1}; _keelson`;
    const text = `${script}\n${call}; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync("bash", ["-c", text], { encoding: "utf8" });
    assert.equal(stderr, "");
    return stdout.split("\n").filter((line) => line !== "");
  }

  it("offers commands", () => {
    assert.deepEqual(offered("sche"), ["scheduler"]);
    assert.ok(
      ["start", "record", "completion", "help", "version"].every((name) =>
        offered("").includes(name),
      ),
    );
  });

  it("offers the flags of a command, and those of start without one", () => {
    assert.deepEqual(offered("record", "--ups"), ["--upstream"]);
    assert.ok(offered("apiserver", "--etcd").includes("--etcd-servers"));
    assert.ok(offered("--storage-").includes("--storage-backend"));
    assert.deepEqual(offered("record", "--etcd"), []);
  });

  it("offers the values of a flag, after a space and after an equals sign", () => {
    assert.deepEqual(offered("start", "--storage-backend", "m"), ["memory"]);
    assert.deepEqual(offered("start", "--storage-backend", "=", "m"), ["memory"]);
    assert.deepEqual(offered("start", "--storage-backend", "="), ["etcd3", "embedded", "memory"]);
    assert.deepEqual(offered("completion", "z"), ["zsh"]);
    assert.ok(offered("help", "").includes("storage"));
  });

  it("has scripts for zsh and fish, and rejects other shells", () => {
    assert.match(keelson("completion", "zsh").stdout, /^#compdef keelson\n/);
    assert.match(
      keelson("completion", "fish").stdout,
      /-n '__fish_seen_subcommand_from start' -l storage-backend -x -a 'etcd3 embedded memory'/,
    );
    const { status, stderr } = keelson("completion", "csh");
    assert.equal(status, 1);
    assert.equal(
      stderr,
      "keelson: keelson completion needs the name of a shell: bash, zsh, fish\n",
    );
  });

  it("comes with help topics and a man page of all flags", () => {
    assert.match(keelson("help", "storage").stdout, /--storage-backend=memory/);
    assert.match(keelson("help", "record").stdout, /--upstream string/);
    const page = keelson("help", "man").stdout;
    assert.match(page, /^\.TH KEELSON 1/);
    assert.match(page, /\n\.BI \\-\\-storage\\-backend= string\n/);
    assert.match(page, /\n\.SH ABOUT STORAGE\n/);
  });
});
